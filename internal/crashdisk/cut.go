package crashdisk

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// chances are the probabilities, one for each cut, that an unsynced sector is
// kept.
var chances = [...]float64{0, 0.1, 0.5, 0.9, 1}

// Cut lays out in directory into, which must be empty or missing, what a crash
// after the first n recorded changes may leave of the Recorder's directory. Each
// seed is another outcome; the same n and seed are the same outcome. n may be
// from 0 to Len. The error is ErrUnseen when the record is incomplete, or that
// of writing to into.
func (r *Recorder) Cut(n int, seed uint64, into string) error {
	ops := r.recorded()
	if n < 0 || n > len(ops) {
		return fmt.Errorf("crashdisk: cut after %d of %d changes", n, len(ops))
	}
	t, err := replay(r.base, ops[:n])
	if err != nil {
		return err
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		return fmt.Errorf("crashdisk: %w", err)
	}
	if list, err := os.ReadDir(into); err != nil || len(list) > 0 {
		return fmt.Errorf("crashdisk: %s is not empty, or cannot be read: %w", into, err)
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	keep := chances[rng.IntN(len(chances))]
	t.loseNames(rng)
	w := writer{keep: keep, rng: rng, at: make(map[*node]string)}
	return w.write(t.root.dir, into)
}

// loseNames draws for each directory how many of its pending changes survive,
// and makes those durable.
func (t *tree) loseNames(rng *rand.Rand) {
	kept := make(map[*dirPart]int)
	for _, d := range t.dirs {
		switch m := len(d.pending); rng.IntN(3) {
		case 0:
			kept[d] = m
		case 1:
			kept[d] = rng.IntN(m + 1)
		}
	}
	// A change in two directories is lost in both when one has lost it, and with
	// it all that come later in either.
	for again := true; again; {
		again = false
		for _, d := range t.dirs {
			for i, op := range d.pending[:kept[d]] {
				if !op.within(kept) {
					kept[d], again = i, true
					break
				}
			}
		}
	}
	for _, d := range t.dirs {
		for _, op := range d.pending[:kept[d]] {
			for _, e := range op.effects {
				if e.dir == d {
					e.apply()
				}
			}
		}
	}
}

// within tells whether a change is among the first ones kept of each directory.
func (op *nameOp) within(kept map[*dirPart]int) bool {
	return !slices.ContainsFunc(op.effects, func(e effect) bool {
		return slices.Index(e.dir.pending, op) >= kept[e.dir]
	})
}

// writer lays out what is durable, and of the content of files what survives.
type writer struct {
	keep float64
	rng  *rand.Rand
	at   map[*node]string // files laid out, by their first name
}

func (w *writer) write(dir *dirPart, path string) error {
	for _, name := range slices.Sorted(maps.Keys(dir.durable)) {
		child, at := dir.durable[name], filepath.Join(path, name)
		first, again := w.at[child]
		var err error
		switch {
		case child.dir != nil:
			if err = os.Mkdir(at, 0o755); err == nil {
				err = w.write(child.dir, at)
			}
		case again:
			err = os.Link(first, at)
		default:
			w.at[child] = at
			err = os.WriteFile(at, child.after(w.keep, w.rng), 0o644)
		}
		if err != nil {
			return fmt.Errorf("crashdisk: %w", err)
		}
	}
	return nil
}
