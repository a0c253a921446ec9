package reload

import (
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// checkEvery is how long a change may go unnoticed.
const checkEvery = time.Second

// Value is a T from files.
type Value[T any] struct {
	paths []string
	load  func() (T, error)
	log   *slog.Logger
	start time.Time

	now  atomic.Pointer[T]
	next atomic.Int64 // when to look again, in nanoseconds since start

	mu   sync.Mutex    // held while the files are looked at
	seen []os.FileInfo // of the files as they were loaded last
	told string        // what was reported last
}

// New loads a value from files. Errors: those of load. Neither they nor the value may
// show up in a log with what is secret in the files. log may be nil.
func New[T any](log *slog.Logger, load func() (T, error), paths ...string) (*Value[T], error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	v := &Value[T]{paths: paths, load: load, log: log, start: time.Now()}
	v.seen = v.stat() // before reading: a change meanwhile is seen later
	first, err := load()
	if err != nil {
		return nil, err
	}
	v.now.Store(&first)
	v.next.Store(int64(checkEvery))
	return v, nil
}

// Get is the value as the files had it within the last second.
func (v *Value[T]) Get() T {
	if at := v.next.Load(); int64(time.Since(v.start)) >= at {
		v.refresh()
	}
	return *v.now.Load()
}

// refresh looks whether the files have changed. Who comes while another does so goes
// on with what is known.
func (v *Value[T]) refresh() {
	if !v.mu.TryLock() {
		return
	}
	defer v.mu.Unlock()
	defer func() { v.next.Store(int64(time.Since(v.start) + checkEvery)) }()
	found := v.stat()
	if same(found, v.seen) {
		return
	}
	value, err := v.load()
	if err != nil {
		if text := err.Error(); text != v.told {
			v.told = text
			v.log.Error("a file cannot be loaded; what it held before stays in force", "err", err)
		}
		return // v.seen stays: a file that is being written is tried again
	}
	v.seen, v.told = found, ""
	v.now.Store(&value)
	v.log.Info("reloaded", "files", v.paths)
}

// stat describes the files; nil stands for one that is not there.
func (v *Value[T]) stat() []os.FileInfo {
	infos := make([]os.FileInfo, len(v.paths))
	for i, path := range v.paths {
		if info, err := os.Stat(path); err == nil {
			infos[i] = info
		}
	}
	return infos
}

func same(a, b []os.FileInfo) bool {
	for i := range a {
		switch x, y := a[i], b[i]; {
		case x == nil || y == nil:
			if x != y {
				return false
			}
		case !os.SameFile(x, y) || !x.ModTime().Equal(y.ModTime()) || x.Size() != y.Size():
			return false
		}
	}
	return true
}
