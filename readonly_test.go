package sprat

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadOnly: a store opened read-only answers and verifies, refuses every
// change, and no byte on the volume is another afterwards.
func TestReadOnly(t *testing.T) {
	d, dir := fewTexts(100), t.TempDir()
	s := openStore(t, dir, Options{CacheBytes: -1})
	ix := mustBuild(t, s, "i", fewConfig(d), d.rows)
	want, err := answersOf(ix, d, everything)
	mustDo(t, err)
	leftover := filepath.Join(dir, temporaryDir, "build-00000009")
	mustDo(t, os.MkdirAll(leftover, 0o755))
	mustClose(t, s)
	mustDo(t, os.Truncate(filepath.Join(ix.dir, centroidsFile), 100)) // to be rebuilt in memory

	before := snapshot(t, dir)
	s = openStore(t, dir, Options{ReadOnly: true})
	ix = mustIndex(t, s, "i")
	mustAnswer(t, "read-only", ix, d, want)
	if r, err := ix.Verify(context.Background(), nil); err != nil || r.Faults != 1 || !strings.Contains(r.Problems[0], ix.path(centroidsFile)) {
		t.Errorf("verify: %v %+v, want the centroids file as the only fault", err, r)
	}
	refused := map[string]error{
		"CreateBucket": s.CreateBucket("other"),
		"SetDials":     ix.SetDials(Dials{SearchProbe: 1}),
	}
	_, refused["CreateIndex"] = s.CreateIndex(context.Background(), "b", "j", fewConfig(d))
	for call, err := range refused {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s in a read-only store: %v, want %v", call, err, ErrInvalid)
		}
	}
	mustClose(t, s)
	checkUnchanged(t, "read-only", dir, before)
}

// TestReadOnlyWithoutPermission: reading needs no right to write.
func TestReadOnlyWithoutPermission(t *testing.T) {
	d, dir := fewTexts(100), t.TempDir()
	s := openStore(t, dir, Options{CacheBytes: -1})
	mustBuild(t, s, "i", fewConfig(d), d.rows)
	mustClose(t, s)
	for name := range snapshot(t, dir) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		mustDo(t, err)
		mustDo(t, os.Chmod(path, info.Mode()&^0o222))
		t.Cleanup(func() { _ = os.Chmod(path, info.Mode()) })
	}
	before := snapshot(t, dir)
	if os.Geteuid() == 0 { // permissions do not bind root
		mustDo(t, os.Chmod(filepath.Dir(dir), 0o755))
		if out, err := child(t, "unprivileged", dir); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	} else if err := readOnlyQuery(dir); err != nil {
		t.Error(err)
	}
	checkUnchanged(t, "without permission", dir, before)
}

// helperUnprivileged is readOnlyQuery as a user who may not write.
func helperUnprivileged(args []string) error {
	const nobody = 65534
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
		return err
	}
	return readOnlyQuery(args[0])
}

func readOnlyQuery(dir string) error {
	if s, err := Open(dir, Options{}); err == nil {
		return errors.Join(errors.New("opened for writing without permission"), s.Close())
	}
	s, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	ix, err := s.Index("b", "i")
	if err == nil {
		_, err = answersOf(ix, fewTexts(100), everything)
	}
	return errors.Join(err, s.Close())
}
