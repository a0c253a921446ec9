package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestLiveCommands: an index that put makes is searched, thinned out, repaired,
// compacted and sound at each step.
func TestLiveCommands(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	var vectors [][]float32
	var odd []string
	for i := range 400 {
		vectors = append(vectors, []float32{float32(i % 20), float32(i / 20), 1})
	}
	input := put(t, "rows.fbin", fbin(vectors...))
	if o := execute("put", "--data", store, "--index", "b/i", "--input", input); o.code != exitFailed || !strings.Contains(o.stderr, "not found") {
		t.Fatalf("put without an index: exit %d: %s", o.code, o.stderr)
	}
	made := mustJSON(t, "put", "--data", store, "--index", "b/i", "--input", input, "--metric", "euclidean", "--batch", "7", "--callers", "3")
	mustHave(t, made, "index vectors total dimension calls seconds vectors_per_second settle_seconds postings memory_peak_mib")
	if made["total"] != 400.0 || made["created"] != true {
		t.Fatalf("put: %v", made)
	}
	if o := execute("put", "--data", store, "--index", "b/i", "--input", input, "--metric", "cosine"); o.code != exitUsage {
		t.Errorf("put by another metric: exit %d: %s", o.code, o.stderr)
	}
	again := mustJSON(t, "put", "--data", store, "--index", "b/i", "--input", input)
	if again["total"] != 400.0 || again["created"] != false {
		t.Fatalf("put again: %v", again)
	}
	for i := 1; i < 400; i += 2 {
		odd = append(odd, strconv.Itoa(i))
	}
	keys := put(t, "odd.txt", []byte(strings.Join(append(odd, "not there"), "\n")+"\n"))
	gone := mustJSON(t, "delete", "--data", store, "--index", "b/i", "--keys", keys)
	if gone["deleted"] != 200.0 || gone["keys"] != 201.0 || gone["total"] != 200.0 {
		t.Fatalf("delete: %v", gone)
	}
	if text := must(t, "repair", "--data", store, "--index", "b/i"); !strings.Contains(text, "sound") {
		t.Errorf("repair of what is sound says\n%s", text)
	}
	mustHave(t, mustJSON(t, "compact", "--data", store, "--index", "b/i"), "index vectors seconds disk_bytes_before disk_bytes_after")
	mustHave(t, mustJSON(t, "verify", "--data", store), "ok indexes")
	queries := put(t, "queries.fbin", fbin([]float32{3, 0, 1})) // key 3 is gone
	got := must(t, "trace", "--data", store, "--index", "b/i", "--queries", queries, "--row", "0", "-k", "2")
	if !strings.Contains(got, "  2  ") && !strings.Contains(got, "  4  ") {
		t.Errorf("the neighbours of a deleted vector:\n%s", got)
	}
}

// TestRepairCommand: exit code 3 and the keys say what was lost.
func TestRepairCommand(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	input := put(t, "rows.fbin", fbin([]float32{1, 2}, []float32{3, 4}, []float32{5, 7}))
	must(t, "build", "--data", store, "--index", "b/i", "--input", input, "--metric", "euclidean")
	path := filepath.Join(store, "indexes", "00000001", "records")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[4096+12] ^= 1 // in the record of slot 0
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := execute("verify", "--data", store); o.code != exitBelow {
		t.Errorf("verify of damage: exit %d: %s", o.code, o.stderr)
	}
	o := execute("repair", "--data", store, "--index", "b/i")
	if o.code != exitBelow || !strings.Contains(o.stderr, "1 vectors are lost") || !strings.Contains(o.stdout, "lost: ") {
		t.Errorf("repair: exit %d: %s%s", o.code, o.stdout, o.stderr)
	}
	mustHave(t, mustJSON(t, "verify", "--data", store), "ok indexes")
}
