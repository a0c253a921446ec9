package sprat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// The catalog's log must never meet a full volume: what Pebble cannot write there
// it cannot take back. So a commit asks for room beforehand, and beyond that the
// store keeps a file of ballast, which is let go when the volume is full after all
// and made again before anything else is written.
const (
	ballastFile  = "ballast"
	ballastBytes = 4 << 20
	// catalogReserve is the free space that a commit of the catalog asks for beyond
	// its own size: log, table and a compaction of small levels.
	catalogReserve = 8 << 20
)

// ballast guards the ballast file.
type ballast struct {
	sync.Mutex
	there bool
}

func (s *Store) ballastPath() string { return filepath.Join(s.dir, ballastFile) }

// dropBallast gives the ballast's space to the catalog. Pebble calls it when a
// write finds the volume full, and tries that write again.
func (s *Store) dropBallast() {
	s.ballast.Lock()
	defer s.ballast.Unlock()
	s.ballast.there = false
	if err := os.Remove(s.ballastPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.Error("the volume is full, and the ballast cannot be dropped", "err", err)
		return
	}
	s.log.Error("the volume is full: writes are refused until there is room", "volume", s.dir)
}

// room fails with a *VolumeFullError when the store's volume has less than the
// given bytes free, and makes the ballast when there is none.
func (s *Store) room(need int64) error {
	s.ballast.Lock()
	defer s.ballast.Unlock()
	var st unix.Statfs_t
	if err := unix.Statfs(s.dir, &st); err != nil {
		return fmt.Errorf("%s: %w", s.dir, err)
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	if !s.ballast.there {
		need += ballastBytes
	}
	if free < need {
		return &VolumeFullError{Path: s.dir, Free: free, Needed: need, Err: unix.ENOSPC}
	}
	if s.ballast.there {
		return nil
	}
	if err := makeBallast(s.ballastPath()); err != nil {
		return fmt.Errorf("ballast: %w", err)
	}
	s.ballast.there = true
	return nil
}

// makeBallast allocates the ballast file, which may be there already.
func makeBallast(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	err = unix.Fallocate(int(f.Fd()), 0, 0, ballastBytes)
	if errors.Is(err, unix.EOPNOTSUPP) {
		err = nil // a file system without allocation: the check beforehand has to do
	}
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
