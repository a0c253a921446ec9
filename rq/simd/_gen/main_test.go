package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestUpToDate fails when the assembly in package simd is not what this module writes.
func TestUpToDate(t *testing.T) {
	dir := t.TempDir()
	names, err := generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	present, err := filepath.Glob(filepath.Join("..", "*.s"))
	if err != nil {
		t.Fatal(err)
	}
	if len(present) != len(names) {
		t.Errorf("package simd has %d assembly files, %d are written", len(present), len(names))
	}
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run go generate", name)
		}
	}
}
