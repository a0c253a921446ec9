package sprat

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// ahead is how much of a file is asked of the volume at one time. The kernel cuts
// it into the largest operations that the volume takes.
const ahead = 4 << 20

// backupReader reads a file through the page cache in large reads, however small
// the ranges are, and where the store bypasses the page cache it leaves nothing
// there. It is safe for concurrent use.
type backupReader struct {
	f    *os.File
	drop bool
	keep int64 // parts that stay in the page cache behind the furthest

	mu    sync.Mutex
	asked map[int64]bool // by off / ahead
}

func (m *moment) reader(f *os.File) *backupReader {
	return &backupReader{f: f, drop: m.store.engine.Info().Direct, keep: 2 * int64(m.workers), asked: map[int64]bool{}}
}

// ReadAt reads at an offset.
func (r *backupReader) ReadAt(p []byte, off int64) (int, error) {
	for n := off / ahead; n*ahead < off+int64(len(p)); n++ {
		r.ask(n)
	}
	return r.f.ReadAt(p, off)
}

// ask begins to read a part of the file, the first time. That the kernel may take
// no advice changes nothing but the speed.
func (r *backupReader) ask(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked[n] {
		return
	}
	r.asked[n] = true
	_ = unix.Fadvise(int(r.f.Fd()), n*ahead, ahead, unix.FADV_WILLNEED)
	if old := n - r.keep; old >= 0 {
		r.forget(old*ahead, ahead)
	}
}

func (r *backupReader) forget(off, n int64) {
	if r.drop {
		_ = unix.Fadvise(int(r.f.Fd()), off, n, unix.FADV_DONTNEED)
	}
}

// Close leaves the file open: the moment closes it.
func (r *backupReader) Close() error {
	r.forget(0, 0)
	return nil
}
