package crashdisk

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spratdb/sprat/iopath"
)

// Recorder keeps every change below a directory, in order. It is safe for
// concurrent use.
type Recorder struct {
	dir  string // absolute
	base []file // what was there at the beginning, a directory before its content

	mu struct {
		sync.Mutex
		ops   []iopath.Op // paths relative to dir
		marks []Mark
	}
}

// file is a file or directory of the beginning.
type file struct {
	path string // relative to the Recorder's directory
	dir  bool
	data []byte
}

// Mark is a place in the record.
type Mark struct {
	Pos   int // number of changes recorded before: what it tells of is in each Cut from Pos on
	Label string
}

// NewRecorder makes a recorder of a directory, which need not exist. What is in
// it counts as durable.
func NewRecorder(dir string) (*Recorder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("crashdisk: %w", err)
	}
	r := &Recorder{dir: abs}
	err = filepath.WalkDir(abs, func(path string, d fs.DirEntry, err error) error {
		if path == abs {
			if os.IsNotExist(err) {
				return nil
			}
			return err
		}
		if err != nil {
			return err
		}
		f := file{path: path[len(abs)+1:], dir: d.IsDir()}
		if !f.dir {
			f.data, err = os.ReadFile(path)
		}
		r.base = append(r.base, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("crashdisk: snapshot: %w", err)
	}
	return r, nil
}

// Ops is the iopath.Ops to hand to what is tested, after one that refuses, if
// any. It refuses only a rename or link into the directory or out of it. Not
// recorded are changes outside, and those of names that are about to fail.
func (r *Recorder) Ops(op iopath.Op) error {
	path, inside := r.relative(op.Path)
	to, toInside := path, inside
	if op.To != "" {
		to, toInside = r.relative(op.To)
	}
	if inside != toInside {
		return fmt.Errorf("crashdisk: %v from %s to %s crosses the edge of what is recorded", op.Kind, op.Path, op.To)
	}
	if !inside || !happens(op) {
		return nil
	}
	op.Path = path
	if op.To != "" {
		op.To = to
	}
	op.Data = slices.Clone(op.Data)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.ops = append(r.mu.ops, op)
	return nil
}

// relative is a path seen from the Recorder's directory; false when it is not
// below it.
func (r *Recorder) relative(path string) (string, bool) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(r.dir, abs)
	return rel, err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// happens tells a change of names that is about to take place from one that is
// about to fail.
func happens(op iopath.Op) bool {
	exists := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	switch op.Kind {
	case iopath.OpRename, iopath.OpLink, iopath.OpRemove, iopath.OpSyncDir:
		return exists(op.Path)
	case iopath.OpMkdir:
		return !exists(op.Path) && exists(filepath.Dir(op.Path))
	case iopath.OpCreate:
		return exists(filepath.Dir(op.Path))
	}
	return true
}

// Len is the number of changes recorded.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.ops)
}

// Mark inserts a marker, such as "acknowledged put 17", at the present place.
func (r *Recorder) Mark(label string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.marks = append(r.mu.marks, Mark{Pos: len(r.mu.ops), Label: label})
}

// Marks returns the markers in order.
func (r *Recorder) Marks() []Mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.mu.marks)
}

// recorded returns the changes so far. The slice must not be changed.
func (r *Recorder) recorded() []iopath.Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clip(r.mu.ops)
}
