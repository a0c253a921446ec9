package fio

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spratdb/sprat/iopath"
)

// testName is the file that is read. It has one name, so that what a killed
// calibration has left is found by the next.
const testName = ".sprat-calibrate"

// TestFile is what was read.
type TestFile struct {
	Path       string  `json:"path"`
	Bytes      int64   `json:"bytes"`
	Written    bool    `json:"written"`                        // for this calibration, and removed; else it was there
	WriteMiBps float64 `json:"write_mib_per_second,omitempty"` // sequential, in pieces of 1 MiB
}

// lockFile keeps other calibrations out of a directory: the lock goes with the
// process, the file with the function returned.
func lockFile(dir string) (path string, remove func() error, err error) {
	path = filepath.Join(dir, testName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, fmt.Errorf("create the test file: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrBusy
		}
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	return path, func() error { return errors.Join(os.Remove(path), f.Close()) }, nil
}

// roomFor decides on the size of the test file: what was asked for must fit, and
// the default is at most a quarter of the free space.
func roomFor(cfg Config) (int64, error) {
	free, err := freeBytes(cfg.Dir)
	if err != nil {
		return 0, err
	}
	n := cfg.FileBytes
	if n == 0 {
		n = min(choose[int64](cfg.Quick, quickFile, defaultFile), free/4)
	}
	n -= n % leastFile
	if n < leastFile || n > free {
		return 0, fmt.Errorf("%s: %w of %d bytes: %d are free", cfg.Dir, ErrNoSpace, max(n, leastFile), free)
	}
	return n, nil
}

// freeBytes is what the process may still write to the volume of a directory.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// writeTestFile writes random bytes, which no volume can compress or leave
// unwritten, for as long as limit allows.
func writeTestFile(ctx context.Context, e *iopath.Engine, path string, n int64, limit time.Duration) (TestFile, error) {
	file := TestFile{Path: path, Written: true}
	w, err := e.Create(path)
	if err != nil {
		return file, fmt.Errorf("write the test file: %w", err)
	}
	began := time.Now()
	err = fill(ctx, w, n, began.Add(limit))
	if err == nil {
		err = w.Sync()
	}
	file.Bytes = w.Size()
	if err = errors.Join(err, w.Close()); err != nil {
		return file, fmt.Errorf("write the test file: %w", err)
	}
	file.WriteMiBps = round(float64(file.Bytes)/mib/time.Since(began).Seconds(), 1)
	return file, nil
}

// fill writes n random bytes, fewer when time is up, but never fewer than
// leastFile.
func fill(ctx context.Context, w *iopath.Writer, n int64, until time.Time) error {
	var seed [32]byte
	copy(seed[:], time.Now().String())
	rng := rand.NewChaCha8(seed)
	p := make([]byte, leastFile)
	for done := int64(0); done < n; done += int64(len(p)) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if done > 0 && time.Now().After(until) {
			return nil
		}
		_, _ = rng.Read(p) // never fails
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// existing describes a file that the user has named.
func existing(path string) (TestFile, error) {
	st, err := os.Stat(path)
	if err != nil {
		return TestFile{}, fmt.Errorf("file to read: %w", err)
	}
	if !st.Mode().IsRegular() || st.Size() < leastFile {
		return TestFile{}, badConfig("%s is no regular file of at least 1 MiB", path)
	}
	return TestFile{Path: path, Bytes: st.Size()}, nil
}
