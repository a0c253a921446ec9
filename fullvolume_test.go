package sprat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullVolume: on a volume that fills up during puts, writes fail with an error
// that names it, reads go on, nothing acknowledged is lost, and writes go on by
// themselves when there is room again.
func TestFullVolume(t *testing.T) {
	mount := t.TempDir()
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("a small volume cannot be mounted: %v", err)
	}
	defer func() { mustDo(t, unix.Unmount(mount, unix.MNT_DETACH)) }()
	d := fewTexts(200)
	s := openStore(t, filepath.Join(mount, "store"), Options{MemoryLimit: 128 << 20, CacheBytes: -1})
	ix, err := s.CreateIndex(t.Context(), "b", "i", fewConfig(d))
	mustDo(t, err)
	there, n := map[string]int{}, 0
	put := func() error {
		var recs []Record
		for range 100 {
			recs = append(recs, Record{Key: fmt.Sprint(n), Vector: d.rows[n%len(d.rows)]})
			n++
		}
		err := ix.Put(t.Context(), recs)
		if err == nil {
			for _, r := range recs {
				there[r.Key] = n
			}
		}
		return err
	}
	mustDo(t, put())
	ballastOf := filepath.Join(mount, "foreign") // what fills the volume
	f, err := os.Create(ballastOf)
	mustDo(t, err)
	var st unix.Statfs_t
	mustDo(t, unix.Statfs(mount, &st))
	mustDo(t, unix.Fallocate(int(f.Fd()), 0, 0, int64(st.Bavail)*int64(st.Bsize)-(10<<20)))
	mustDo(t, f.Close())
	for range 300 {
		if err = put(); err != nil {
			break
		}
	}
	var full *VolumeFullError
	if !errors.Is(err, ErrVolumeFull) || !errors.As(err, &full) || full.Path == "" {
		t.Fatalf("a full volume: %v", err)
	}
	check := func(when string) {
		t.Helper()
		if int(ix.Len()) != len(there) {
			t.Fatalf("%s: %d vectors, %d were acknowledged", when, ix.Len(), len(there))
		}
		if _, err := ix.Query(t.Context(), d.rows[0], 10, QueryOptions{}); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		mustBeWhole(t, ix, when)
	}
	check("full")
	mustDo(t, os.Remove(ballastOf))
	mustDo(t, put())
	mustDo(t, ix.Settle(t.Context()))
	check("room again")
	dir := s.dir
	mustClose(t, s)
	s = openStore(t, dir, Options{MemoryLimit: 128 << 20, CacheBytes: -1})
	ix = mustIndex(t, s, "i")
	check("opened again")
	mustClose(t, s)
}
