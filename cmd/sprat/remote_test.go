package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestRemoteCommands: put, delete, query, trace and stats do through a server what they
// do in a folder.
func TestRemoteCommands(t *testing.T) {
	dir := t.TempDir()
	data, tokens := filepath.Join(dir, "data"), put(t, "tokens", []byte("write load 0123456789abcdef\nadmin me fedcba9876543210\nread app 0123456789abcdeF\n"))
	writer, admin := put(t, "writer", []byte("0123456789abcdef\n")), put(t, "admin", []byte("fedcba9876543210"))
	var vectors [][]float32
	var odd []string
	for i := range 400 {
		vectors = append(vectors, []float32{float32(i % 20), float32(i / 20), 1})
		if i%2 == 1 {
			odd = append(odd, strconv.Itoa(i))
		}
	}
	input, queries := put(t, "rows.fbin", fbin(vectors...)), put(t, "queries.fbin", fbin([]float32{3, 0, 1}, []float32{8, 9, 1}))
	keys := put(t, "odd.txt", []byte(strings.Join(append(odd, "not there"), "\n")+"\n"))

	s := startServe(t, data, "--tokens", tokens, "--s3vectors-addr", "", "--ops-addr", "")
	remote := func(token, command string, args ...string) []string {
		return append([]string{command, "--addr", s.GRPC, "--server-token", token}, args...)
	}
	o := execute(remote(writer, "put", "--index", "b/i", "--input", input)...)
	if o.code != exitFailed || !strings.Contains(o.stderr, "not found") {
		t.Fatalf("put without an index: exit %d: %s", o.code, o.stderr)
	}
	made := mustJSON(t, remote(admin, "put", "--index", "b/i", "--input", input, "--metric", "euclidean", "--batch", "50")...)
	if made["total"] != 400.0 || made["created"] != true || made["postings"] == 0.0 {
		t.Fatalf("put: %v", made)
	}
	if again := mustJSON(t, remote(writer, "put", "--index", "b/i", "--input", input)...); again["total"] != 400.0 || again["created"] != false {
		t.Fatalf("put again: %v", again)
	}
	if gone := mustJSON(t, remote(writer, "delete", "--index", "b/i", "--keys", keys)...); gone["deleted"] != 200.0 || gone["total"] != 200.0 {
		t.Fatalf("delete: %v", gone)
	}
	t.Setenv("SPRAT_TOKEN", "0123456789abcdeF")
	query := []string{"--index", "b/i", "--queries", queries, "-k", "5", "--recall-target", "0.9"}
	asked := mustJSON(t, append([]string{"query", "--addr", s.GRPC}, query...)...)
	mustHave(t, asked, "recall_target search_probe rescore_limit memory.limit io_engine qps latency_ms.p50 reads_per_query")
	if asked["server"] != s.GRPC || asked["vectors"] != 200.0 {
		t.Errorf("query: %v", asked)
	}
	must(t, append([]string{"query", "--addr", s.GRPC}, query...)...)
	trace := []string{"--index", "b/i", "--queries", queries, "--row", "1", "-k", "4"}
	told := mustJSON(t, append([]string{"trace", "--addr", s.GRPC}, trace...)...)
	stats := mustJSON(t, "stats", "--addr", s.GRPC, "--index", "b/i")
	for line, want := range map[string]string{
		"stats --index b/none":                                "not found",
		"query --index b/none --queries " + queries:           "not found",
		"query --index b/i --queries " + keys:                 "odd.txt",
		"put --index b/i --input " + input:                    "needs the role write",
		"delete --index b/i --server-token /none --keys none": "none",
	} {
		if o := execute(append(words(line), "--addr", s.GRPC)...); o.code != exitFailed || !strings.Contains(o.stderr, want) {
			t.Errorf("%s: exit %d: %s", line, o.code, o.stderr)
		}
	}
	s.stop()
	if o := <-s.ended; o.code != exitDone {
		t.Fatalf("serve: exit %d: %s", o.code, o.stderr)
	}
	if o := execute("stats", "--addr", s.GRPC); o.code != exitFailed {
		t.Errorf("a server that is gone: exit %d: %s", o.code, o.stderr)
	}

	here := mustJSON(t, append([]string{"trace", "--data", data}, trace...)...)
	if got, want := told["matches"].([]any), here["matches"].([]any); len(got) != 4 || len(want) != 4 || got[0].(map[string]any)["distance"] != want[0].(map[string]any)["distance"] {
		t.Errorf("matches %v through the server, %v in the folder", got, want)
	}
	local := mustJSON(t, append([]string{"query", "--data", data}, query...)...)
	for _, field := range words("vectors dimension metric recall_target search_probe rescore_limit") {
		if local[field] != asked[field] {
			t.Errorf("%s: %v through the server, %v in the folder", field, asked[field], local[field])
		}
	}
	of := func(stats map[string]any) any { return stats["indexes"].([]any)[0].(map[string]any)["vectors"] }
	if folder := mustJSON(t, "stats", "--data", data, "--index", "b/i"); of(folder) != of(stats) {
		t.Errorf("stats: %v through the server, %v in the folder", of(stats), of(folder))
	}
	if _, err := os.Stat(filepath.Join(data, "s3vectors-credentials")); err == nil {
		t.Error("an access key was made though S3 Vectors is off")
	}
}
