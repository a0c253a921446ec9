package iopath

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// TestWriteMany: many patches leave what one WriteAt after the other would.
func TestWriteMany(t *testing.T) {
	for _, direct := range []string{DirectOff, Auto} {
		t.Run(direct, func(t *testing.T) {
			e, err := Open(t.TempDir(), Config{Engine: Pread, Direct: direct})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}()
			dir := t.TempDir()
			rapid.Check(t, func(rt *rapid.T) {
				path := filepath.Join(dir, "f")
				u, err := e.OpenUpdate(path)
				if err != nil {
					rt.Fatal(err)
				}
				if err := u.Truncate(0); err != nil {
					rt.Fatal(err)
				}
				var want []byte
				for range rapid.IntRange(1, 4).Draw(rt, "calls") {
					var patches []Patch
					off := int64(rapid.IntRange(0, 3000).Draw(rt, "first"))
					for range rapid.IntRange(0, 12).Draw(rt, "patches") {
						data := bytes.Repeat([]byte{byte(rapid.IntRange(1, 255).Draw(rt, "byte"))}, rapid.IntRange(1, 9000).Draw(rt, "len"))
						patches = append(patches, Patch{off, data})
						if need := int(off) + len(data) - len(want); need > 0 {
							want = append(want, make([]byte, need)...)
						}
						copy(want[off:], data)
						off += int64(len(data) + rapid.IntRange(0, 5000).Draw(rt, "gap"))
					}
					if err := u.WriteMany(patches, rapid.IntRange(0, 4).Draw(rt, "writers")); err != nil {
						rt.Fatal(err)
					}
				}
				if err := u.Close(); err != nil {
					rt.Fatal(err)
				}
				got, err := os.ReadFile(path)
				if err != nil || !bytes.Equal(got, want) {
					rt.Fatalf("%d bytes differ from %d (%v)", len(got), len(want), err)
				}
			})
		})
	}
}
