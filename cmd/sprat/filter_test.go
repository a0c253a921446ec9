package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilterFlag: query and trace search what matches --filter.
func TestFilterFlag(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	var vectors [][]float32
	var docs strings.Builder
	for i := range 300 {
		vectors = append(vectors, []float32{float32(i), 1})
		fmt.Fprintf(&docs, "{\"odd\":%t,\"n\":%d}\n", i%2 == 1, i)
	}
	rows, queries := put(t, "rows.fbin", fbin(vectors...)), put(t, "queries.fbin", fbin([]float32{100, 1}))
	must(t, "build", "--data", store, "--index", "b/i", "--input", rows, "--metadata", put(t, "meta.jsonl", []byte(docs.String())), "--metric", "euclidean")
	on := []string{"--data", store, "--index", "b/i", "--queries", queries, "-k", "3"}
	made := mustJSON(t, append([]string{"trace", "--json", "--filter", `{"odd":true,"n":{"$lt":100}}`}, on...)...)
	if got := fmt.Sprint(made["matches"]); !strings.Contains(got, "key:99") || !strings.Contains(got, "key:97") || !strings.Contains(got, "key:95") {
		t.Errorf("trace: %v", made)
	}
	if o := must(t, append([]string{"trace", "--filter", `{"n":-1}`}, on...)...); !strings.Contains(o, "none of 300 vectors matches") {
		t.Errorf("trace: %s", o)
	}
	mustHave(t, mustJSON(t, append([]string{"query", "--json", "--filter", `{"n":{"$in":[1,2]}}`}, on...)...), "qps reads_per_query")
	if o := execute(append([]string{"query", "--filter", `{"n":{"$near":1}}`}, on...)...); o.code == exitDone || !strings.Contains(o.stderr, "Invalid filter") {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
}
