package crashdisk

import (
	"math/rand/v2"

	"github.com/spratdb/sprat/iopath"
)

// sectorBytes is what a device writes in whole or not at all.
const sectorBytes = 512

// content is what a file holds: bytes that are durable and changes that are not.
type content struct {
	durable []byte
	shared  bool        // durable belongs to the Recorder and must not be changed
	pending []iopath.Op // OpWrite, OpTruncate and OpPunch, in order
}

// sync makes every pending change durable.
func (c *content) sync() {
	if len(c.pending) > 0 {
		c.durable, c.shared = c.after(1, nil), false
		c.pending = nil
	}
}

// after returns the bytes with each pending sector kept by the chance keep. At
// chance 1 it takes durable over, unless that is shared.
func (c *content) after(keep float64, rng *rand.Rand) []byte {
	v := volatile{data: c.durable, size: int64(len(c.durable)), keep: keep, rng: rng}
	if c.shared || keep < 1 {
		v.data = append([]byte(nil), c.durable...)
	}
	for _, op := range c.pending {
		switch op.Kind {
		case iopath.OpTruncate:
			if v.resizes() {
				v.resize(op.N)
			}
		case iopath.OpWrite:
			if end := op.Off + op.N; op.N > 0 && end > v.size && v.resizes() {
				v.resize(end)
			}
			v.put(op.Off, op.N, op.Data)
		case iopath.OpPunch:
			v.put(op.Off, op.N, nil)
		}
	}
	return v.data[:v.size]
}

// volatile is a file on which changes take place in part.
type volatile struct {
	data   []byte
	size   int64
	keep   float64
	rng    *rand.Rand // not used at chance 1
	frozen bool       // a change of the size was lost, and so are all after it
}

// survives draws whether a sector or a change of the size is kept.
func (v *volatile) survives() bool { return v.keep == 1 || v.rng.Float64() < v.keep }

// resizes draws whether a change of the size is kept.
func (v *volatile) resizes() bool {
	v.frozen = v.frozen || !v.survives()
	return !v.frozen
}

// resize sets the size. New room is zeros.
func (v *volatile) resize(n int64) {
	if n > int64(len(v.data)) {
		v.data = append(v.data, make([]byte, n-int64(len(v.data)))...)
	}
	if n < v.size {
		clear(v.data[n:v.size])
	}
	v.size = n
}

// put writes the sectors of a range that survive, as far as the file reaches.
// data nil stands for zeros.
func (v *volatile) put(off, n int64, data []byte) {
	end := min(off+n, v.size)
	for at := off; at < end; {
		next := min((at/sectorBytes+1)*sectorBytes, end)
		switch {
		case !v.survives():
		case data == nil:
			clear(v.data[at:next])
		default:
			copy(v.data[at:next], data[at-off:])
		}
		at = next
	}
}
