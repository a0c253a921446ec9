package reload_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spratdb/sprat/server/grpc/reload"
)

var errBad = errors.New("cannot be parsed")

func TestValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
		write := func(path, text string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		loads := 0
		load := func() (string, error) {
			loads++
			a, err := os.ReadFile(one)
			if err != nil {
				return "", err
			}
			b, err := os.ReadFile(two)
			if err != nil {
				return "", err
			}
			if bytes.Contains(a, []byte("bad")) {
				return "", errBad
			}
			return string(a) + string(b), nil
		}
		var log bytes.Buffer
		if _, err := reload.New(nil, load, one, two); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("without files: %v", err)
		}
		write(one, "a")
		write(two, "b")
		v, err := reload.New(slog.New(slog.NewTextHandler(&log, nil)), load, one, two)
		if err != nil {
			t.Fatal(err)
		}
		want := func(text string) {
			t.Helper()
			if got := v.Get(); got != text {
				t.Errorf("got %q, want %q", got, text)
			}
		}
		later := func() { <-time.After(1100 * time.Millisecond) }
		want("ab")
		write(two, "cc")
		want("ab") // within a second it is not looked at
		later()
		want("acc")
		before := loads
		for range 10 {
			later()
			want("acc")
		}
		if loads != before {
			t.Errorf("%d loads of files that have not changed", loads-before)
		}
		write(one, "bad")
		for range 3 {
			later()
			want("acc")
		}
		if n := strings.Count(log.String(), errBad.Error()); n != 1 {
			t.Errorf("a fault is reported %d times", n)
		}
		write(one, "new")
		later()
		want("newcc")
		if err := os.Remove(two); err != nil {
			t.Fatal(err)
		}
		later()
		want("newcc")
		write(two, "d")
		later()
		want("newd")
	})
}
