package iopath

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// rung is one mode of the ladder.
type rung struct {
	engine string
	direct bool
}

// rungs lists the modes that cfg allows, best first.
func rungs(cfg Config) []rung {
	engines := []string{cfg.Engine}
	if cfg.Engine == Auto {
		engines = []string{IOUring, Pread}
		if cfg.Model != nil {
			engines = engines[1:]
		}
	}
	var out []rung
	for _, e := range engines {
		if cfg.Direct != DirectOff && (e != Mmap || cfg.Direct == DirectOn) {
			out = append(out, rung{e, true})
		}
		if cfg.Direct != DirectOn {
			out = append(out, rung{e, false})
		}
	}
	return out
}

// climb tries the rungs in order and returns the engine of the first that
// reads the probe file correctly, with the steps that failed before it.
func climb(dir string, cfg Config) (*Engine, []Step, error) {
	p, err := newProbe(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("iopath: probe %s: %w", dir, err)
	}
	defer p.remove()
	var steps []Step
	for _, r := range rungs(cfg) {
		e, err := try(p, cfg, r)
		if err == nil {
			return e, steps, nil
		}
		steps = append(steps, Step{r.engine, r.direct, err, hint(err, r, dir)})
	}
	return nil, nil, &ModeError{Engine: cfg.Engine, Direct: cfg.Direct, Steps: steps}
}

// errMmapDirect is why one rung can never work.
var errMmapDirect = errors.New("mmap reads through the page cache")

// try builds the engine of a rung and has it read the probe file. The faults and
// the model of tests are not for the probe, and what fails here is not for the log:
// the caller has it in the steps.
func try(p *probe, cfg Config, r rung) (*Engine, error) {
	if r.engine == Mmap && r.direct {
		return nil, errMmapDirect
	}
	asked := cfg
	cfg.Faults, cfg.Model = nil, nil
	cfg.Logger = slog.New(slog.DiscardHandler)
	e := newEngine(cfg, r)
	var err error
	if r.engine == IOUring {
		e.back, err = newUring(e)
	} else {
		e.back = newWorkers(e, e.info.Depth)
	}
	if err != nil {
		return nil, err
	}
	if err := e.readProbe(p); err != nil {
		_ = e.Close() // nothing is in flight, and the first error is the one to tell
		var re *ReadError
		if errors.As(err, &re) {
			err = fmt.Errorf("read of a probe file: %w", re.Err)
		}
		return nil, err
	}
	e.cfg = asked
	e.counters.reset()
	e.gate.most.Store(0)
	e.pool.resetMax()
	return e, nil
}

// probe is a file with known content.
type probe struct {
	path    string
	want    []byte // the first bytes of the file
	whole   bool   // want is all of it
	created bool
}

// probeBytes is no multiple of any alignment, so that the probe also shows that
// the tail of a file can be read.
const probeBytes = 2*pageBytes + 100

// newProbe writes a probe file in dir or, where that cannot be done because dir
// is read-only or full, settles for a file that is there.
func newProbe(dir string) (*probe, error) {
	p, err := writeProbe(dir)
	if err == nil {
		return p, nil
	}
	if found, ferr := findProbe(dir); ferr == nil {
		return found, nil
	}
	return nil, err
}

// writeProbe creates a file of random bytes.
func writeProbe(dir string) (*probe, error) {
	f, err := os.CreateTemp(dir, ".iopath-probe-*")
	if err != nil {
		return nil, err
	}
	p := &probe{path: f.Name(), want: make([]byte, probeBytes), whole: true, created: true}
	_, _ = rand.Read(p.want) // never fails
	_, err = f.Write(p.want)
	if err = errors.Join(err, f.Close()); err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

// findProbeMax bounds the search for a file to read in a directory that cannot
// be written.
const findProbeMax = 1000

// findProbe looks below dir for a file with content that can be read.
func findProbe(dir string) (*probe, error) {
	var found *probe
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > findProbeMax {
			return fs.SkipAll
		}
		if err != nil || !d.Type().IsRegular() {
			return nil // what cannot be looked at is no candidate
		}
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		head := make([]byte, pageBytes)
		n, err := io.ReadFull(f, head)
		if n == 0 || err != nil && err != io.ErrUnexpectedEOF {
			return nil
		}
		found = &probe{path: path, want: head[:n]}
		return fs.SkipAll
	})
	if found == nil {
		return nil, errors.Join(fs.ErrNotExist, err)
	}
	return found, nil
}

// remove deletes the file if newProbe made it. What cannot be deleted is a few
// kilobytes under a name that says what it was.
func (p *probe) remove() {
	if p.created {
		_ = os.Remove(p.path)
	}
}

// readProbe reads the probe file, whole and its last byte alone, and compares.
func (e *Engine) readProbe(p *probe) error {
	f, err := e.OpenFile(p.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if e.info.Direct {
		e.info.MemAlign, e.info.OffsetAlign = f.memAlign, f.align
	}
	b := e.NewBatch()
	defer b.Release()
	n := len(p.want)
	b.Read(f, 0, n, 0)
	if p.whole {
		b.Read(f, int64(n-1), 1, uint64(n-1))
	}
	ctx := context.Background()
	if err := b.Submit(ctx); err != nil {
		return err
	}
	for b.Pending() > 0 {
		c, err := b.Next(ctx)
		if err = errors.Join(err, c.Err); err != nil {
			return err
		}
		if !bytes.Equal(c.Data, p.want[c.Tag:][:len(c.Data)]) {
			return errWrongBytes
		}
	}
	return nil
}

// errWrongBytes is a probe read that succeeded and lied.
var errWrongBytes = errors.New("probe file read back with other bytes")
