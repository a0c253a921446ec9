package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/internal/realdata"
)

const buildFields = `index vectors dimension metric seconds vectors_per_second postings replicas_mean disk_bytes
	disk_bytes_per_vector memory_peak_mib duplicates io_engine direct_io`

const queryFields = `vectors dimension metric queries k recall qps latency_ms.mean latency_ms.p50 latency_ms.p95
	latency_ms.p99 latency_ms.max reads_per_query posting_reads_per_query refine_reads_per_query
	record_reads_per_query kib_per_query waves_per_query probes_per_query codes_per_query cache_hit_ratio
	cpu_ms_per_query io_engine direct_io rss_mib memory.limit memory.centroids memory.directory memory.catalog
	memory.buffers memory.go_heap search_probe rescore_limit recall_target partial`

// From files to a verified index, as a user would.
func TestBuildQueryVerify(t *testing.T) {
	f := writeSet(t, realdata.Text(), 1000)
	dir := t.TempDir()
	store, ids, distances := filepath.Join(dir, "store"), filepath.Join(dir, "gt.ibin"), filepath.Join(dir, "gt.fbin")
	truth := mustJSON(t, "truth", "--input", f.base, "--queries", f.queries, "--metric", "cosine", "-k", "20",
		"--truth", ids, "--truth-dist", distances)
	mustHave(t, truth, "rows queries k metric seconds")
	if truth["rows"] != 1000.0 || truth["queries"] != float64(setQueries) {
		t.Errorf("truth: %v", truth)
	}

	built := mustJSON(t, "build", "--data", store, "--index", "b/text", "--input", f.base, "--keys", f.keys,
		"--metric", "cosine", "--memory-limit", "256MiB")
	mustHave(t, built, buildFields)
	if built["vectors"] != 1000.0 || built["dimension"] != 384.0 || built["duplicates"] != 0.0 {
		t.Errorf("build: %v", built)
	}
	for field, least := range map[string]float64{"seconds": 0, "vectors_per_second": 0, "postings": 1, "replicas_mean": 1,
		"disk_bytes": 1000 * 384 * 4, "disk_bytes_per_vector": 384 * 4, "memory_peak_mib": 1} {
		if v, _ := built[field].(float64); v <= least {
			t.Errorf("build: %s is %v, want above %v", field, built[field], least)
		}
	}

	ask := []string{"query", "--data", store, "--index", "b/text", "--queries", f.queries, "-k", "10"}
	for _, c := range []struct {
		how  []string
		by   string
		want float64
	}{
		{[]string{"--truth", ids, "--truth-dist", distances}, "distance", 0.95},
		{[]string{"--truth", ids, "--keys", f.keys}, "id", 0.94},
		{[]string{"--truth-dist", distances, "--adaptive", "off", "--search-probe", "1000", "--rescore-limit", "100"}, "distance", 0.99},
	} {
		got := mustJSON(t, append(ask, c.how...)...)
		mustHave(t, got, queryFields)
		if recall, _ := got["recall"].(float64); recall < c.want || recall > 1 || got["recall_by"] != c.by {
			t.Errorf("%q: recall %v by %v, want at least %v by %s", c.how, got["recall"], got["recall_by"], c.want, c.by)
		}
	}
	o := execute(append(ask, "--truth", ids)...)
	if o.code != exitUsage || !strings.Contains(o.stderr, "cannot be computed by id") || !strings.Contains(o.stderr, "--keys") {
		t.Errorf("recall by id of names: exit %d: %s", o.code, o.stderr)
	}

	mustHave(t, mustJSON(t, "verify", "--data", store), "ok indexes")
	if text := must(t, "verify", "--data", store, "--index", "b/text"); !strings.Contains(text, "b/text: sound") {
		t.Errorf("verify says\n%s", text)
	}
	checkTexts(t, store, f.queries)
}

// checkTexts looks at what is printed without --json.
func checkTexts(t *testing.T, store, queries string) {
	t.Helper()
	for line, wants := range map[string][]string{
		"stats": {"index b/text: 1,000 vectors of dimension 384, cosine", "postings", "recall target 0.95"},
		"query --index b/text -k 3 --clients 2 --passes 2 --warmup 1 --queries " + queries: {
			"80 queries, 3 nearest each, 2 at a time", "reads/query", "waves/query", "3,000 IOPS"},
		"query --index b/text --duration 10ms --deadline 1s --max-reads 100 --queries " + queries: {"queries, 10 nearest each"},
		"trace --index b/text -k 3 --row 7 --queries " + queries:                                  {"dials: search probe", "answer:", "\n  3  "},
	} {
		args := words(line)
		text := must(t, append(args, "--data", store)...)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", args[0], want, text)
			}
		}
	}
	mustHave(t, mustJSON(t, "stats", "--data", store, "--index", "b/text"), "directory memory_limit memory io volume indexes")
	mustHave(t, mustJSON(t, "trace", "--data", store, "--index", "b/text", "--queries", queries, "--row", "39"), "trace work matches")
	o := execute("trace", "--data", store, "--index", "b/text", "--queries", queries, "--row", "40")
	if o.code != exitUsage || !strings.Contains(o.stderr, "rows 0 to 39") {
		t.Errorf("a row too many: exit %d: %s", o.code, o.stderr)
	}
}

// What the store or the files do not allow: exit 1, one line that says what and
// where, and the store is as before.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "store")
	rows := put(t, "rows.fbin", fbin([]float32{1, 2}, []float32{3, 4}, []float32{5, 7}))
	must(t, "build", "--data", store, "--index", "b/i", "--input", rows, "--metric", "cosine")
	before := describe(t, store)

	file := func(name string, content []byte) string { return put(t, name, content) }
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	build := func(input, extra string) string {
		return "build --data " + store + " --index b/new --metric cosine --input " + input + " " + extra
	}
	query := func(queries, extra string) string {
		return "query --data " + store + " --index b/i --queries " + queries + " " + extra
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "somebody's"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, line, want string }{
		{"empty file", build(file("empty.fbin", nil), ""), "empty.fbin: offset 0"},
		{"truncated header", build(file("short.fbin", le(uint32(3))), ""), "short.fbin: offset 0"},
		{"truncated rows", build(file("cut.fbin", fbin([]float32{1, 2})[:13]), ""), "cut.fbin"},
		{"more rows than bytes", build(file("claims.fbin", le(uint32(1e9), uint32(2), float32(1), float32(2))), ""), "1000000000 rows"},
		{"NaN", build(file("nan.fbin", fbin([]float32{1, 2}, []float32{1, nan})), ""), "nan.fbin: offset 20"},
		{"infinity", build(file("inf.fbin", fbin([]float32{-inf, 2})), ""), "inf.fbin: offset 8"},
		{"zero vector", build(file("zero.fbin", fbin([]float32{1, 2}, []float32{0, 0})), ""), "zero.fbin: row 1 (key \"1\")"},
		{"float64 overflow", build(file("big.jsonl", []byte("[1, 1e300]\n")), ""), "big.jsonl:1"},
		{"ragged rows", build(file("ragged.jsonl", []byte("[1, 2]\n[1]\n")), ""), "ragged.jsonl:2"},
		{"too many dimensions", build(file("wide.fbin", le(uint32(0), uint32(5000))), ""), "wide.fbin: offset 4"},
		{"unknown format", build(file("rows.doc", []byte("\x00\x01")), ""), "rows.doc"},
		{"no such file", build(filepath.Join(dir, "none.fbin"), ""), "none.fbin: no such file"},
		{"few keys", build(rows, "--keys "+file("keys.txt", []byte("a\nb\n"))), "keys.txt: want 3 keys"},
		{"empty key", build(rows, "--keys "+file("keys.txt", []byte("a\n\nc\n"))), "row 1: invalid input: key"},
		{"long key", build(rows, "--keys "+file("keys.txt", []byte("a\n"+strings.Repeat("k", 1025)+"\nc\n"))), "1,024 bytes"},
		{"bad metadata", build(rows, "--metadata "+file("meta.jsonl", []byte("{}\n{\n{}\n"))), "meta.jsonl:2"},
		{"exists", "build --data " + store + " --index b/i --metric cosine --input " + rows, `index "b/i": exists already`},
		{"no room", build(rows, "--memory-limit 32MiB"), "needs 64 MiB, the limit is 32 MiB"},
		{"foreign folder", "build --data " + foreign + " --index b/i --metric cosine --input " + rows, "not a sprat store"},
		{"no store", "stats --data " + filepath.Join(dir, "none"), "not a sprat store"},
		{"no index to query", "query --data " + store + " --index b/none --queries " + rows, `index "b/none": not found`},
		{"no index to describe", "stats --data " + store + " --index b/none", `index "b/none": not found`},
		{"no index to verify", "verify --data " + store + " --index b/none", `index "b/none": not found`},
		{"wrong dimension", query(file("q3.fbin", fbin([]float32{1, 2, 3})), ""), "q3.fbin: dimension 3, the index b/i has 2"},
		{"no queries", query(file("q0.fbin", le(uint32(0), uint32(2))), ""), "q0.fbin"},
		{"truth of other queries", query(rows, "--truth-dist "+file("gt.fbin", fbin([]float32{1, 1}))), "gt.fbin"},
		{"truth of too few", query(rows, "-k 2 --truth-dist "+file("gt.fbin", fbin([]float32{1}, []float32{1}, []float32{1}))), "gt.fbin"},
		{"truth's base", "truth --metric dot --input " + file("cut.fbin", fbin([]float32{1, 2})[:13]) + " --queries " + rows + " --truth x.ibin", "cut.fbin"},
		{"no sets", "bench ann --out " + dir + " --sets " + filepath.Join(dir, "none"), "info.json"},
	} {
		o := execute(words(c.line)...)
		if o.code != exitFailed || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: exit %d, want 1 with %q\n%s", c.name, o.code, c.want, o.stderr)
		}
		oneErrorLine(t, c.name, o)
	}
	if after := describe(t, store); after != before {
		t.Errorf("the store was\n%s\nand is\n%s", before, after)
	}
	// A zero query has no cosine either; the command line is at fault where the
	// store says that the input is.
	if o := execute(words(query(file("q.fbin", fbin([]float32{0, 0})), ""))...); o.code == exitDone || !strings.Contains(o.stderr, "q.fbin: query in row 0") {
		t.Errorf("zero query: exit %d: %s", o.code, o.stderr)
	}
}

// describe is what of a store a failed command must not change: its indexes,
// that they are sound, and the files of them.
func describe(t *testing.T, store string) string {
	t.Helper()
	var b strings.Builder
	for _, index := range mustJSON(t, "stats", "--data", store)["indexes"].([]any) {
		index := index.(map[string]any)
		delete(index, "disk") // the catalog's part counts what its next compaction drops
		fmt.Fprintln(&b, index)
	}
	fmt.Fprintln(&b, mustJSON(t, "verify", "--data", store)["ok"])
	for _, part := range []string{"indexes", "tmp"} {
		err := filepath.WalkDir(filepath.Join(store, part), func(path string, _ os.DirEntry, err error) error {
			fmt.Fprintln(&b, path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestStoreInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := sprat.Open(dir, sprat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range words("stats verify") {
		o := execute(command, "--data", dir)
		if o.code != exitFailed || !strings.Contains(o.stderr, "store is in use") {
			t.Errorf("%s: exit %d: %s", command, o.code, o.stderr)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if text := must(t, "verify", "--data", dir); !strings.Contains(text, "no indexes") {
		t.Errorf("verify of an empty store says\n%s", text)
	}
}

// Of rows with equal keys the last wins and the others are counted.
func TestDuplicates(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	rows := put(t, "rows.jsonl", []byte(`{"key":"a","vector":[1,0]}
{"key":"b","vector":[0,1]}
{"key":"a","vector":[3,4],"metadata":{"last":true}}
`))
	built := mustJSON(t, "build", "--data", store, "--index", "b/i", "--metric", "euclidean", "--input", rows)
	if built["vectors"] != 2.0 || built["duplicates"] != 1.0 {
		t.Errorf("build: %v", built)
	}
	query := put(t, "q.jsonl", []byte("[3, 3]\n"))
	text := must(t, "trace", "--data", store, "--index", "b/i", "--queries", query, "-k", "5")
	if !strings.Contains(text, `  1  a  1   {"last":true}`) || !strings.Contains(text, "  2  b  13") || strings.Contains(text, "\n  3 ") {
		t.Errorf("trace says\n%s", text)
	}
}

// Damage is found by verify (exit 3) and named with its place.
func TestVerifyFindsDamage(t *testing.T) {
	f := writeSet(t, realdata.Fashion(), 300)
	store := filepath.Join(t.TempDir(), "store")
	must(t, "build", "--data", store, "--index", "b/i", "--metric", "euclidean", "--input", f.base)
	must(t, "build", "--data", store, "--index", "b/j", "--metric", "euclidean", "--input", f.base)
	records, err := filepath.Glob(filepath.Join(store, "indexes", "*", "records"))
	if err != nil || len(records) != 2 {
		t.Fatalf("records files %q (%v)", records, err)
	}
	damage(t, records[0], func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	o := execute("verify", "--data", store)
	if o.code != exitBelow || !strings.Contains(o.stdout, "b/i: 1 faults") || !strings.Contains(o.stdout, records[0]) ||
		!strings.Contains(o.stdout, "offset") || !strings.Contains(o.stdout, "b/j: sound") || !strings.HasPrefix(o.stderr, "sprat: verify: 1 faults") {
		t.Errorf("a flipped bit: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}

	damage(t, records[0], func(b []byte) []byte { return b[:100] })
	o = execute("verify", "--data", store, "--json", "--log-level", "error")
	var r verifyResult
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil || o.code != exitBelow || r.OK || r.Broken["b/i"] == "" ||
		len(r.Indexes) != 1 || !r.Indexes[0].OK() {
		t.Errorf("a cut file: exit %d (%v)\n%s%s", o.code, err, o.stdout, o.stderr)
	}
	query := []string{"query", "--data", store, "--queries", f.queries, "--log-level", "error", "--index"}
	if o := execute(append(query, "b/i")...); o.code != exitFailed || !strings.Contains(o.stderr, records[0]) {
		t.Errorf("query of a broken index: exit %d: %s", o.code, o.stderr)
	}
	must(t, append(query, "b/j")...)
}

func damage(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, f(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// An ann-benchmarks file is base, queries and truth in one.
func TestANNBenchmarksFile(t *testing.T) {
	hdf5 := filepath.Join("..", "..", "bench", "hdf5", "testdata", "plain.hdf5")
	store := filepath.Join(t.TempDir(), "store")
	must(t, "build", "--data", store, "--index", "b/i", "--metric", "euclidean", "--input", hdf5)
	got := mustJSON(t, "query", "--data", store, "--index", "b/i", "--queries", hdf5, "--truth", hdf5, "-k", "1")
	if got["recall_by"] != "distance" {
		t.Errorf("query: %v", got)
	}
}

// The experiment on a set small enough for a test, once within its budget and once
// with a truth that nothing reaches.
func TestBenchANN(t *testing.T) {
	f := writeSet(t, realdata.Fashion(), 300)
	dir, out := filepath.Dir(f.base), filepath.Join(t.TempDir(), "results")
	must(t, "truth", "--input", f.base, "--queries", f.queries, "--metric", "euclidean", "-k", "10",
		"--truth-dist", filepath.Join(dir, "gtdist.fbin"))
	if err := os.WriteFile(filepath.Join(dir, "info.json"), []byte(`{"name":"fashion784","metric":"l2"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	line := []string{"bench", "ann", "--sets", dir, "--out", out, "--work", t.TempDir(), "--recalls", "0.95", "--repeats", "1", "--expect"}
	mustHave(t, mustJSON(t, line...), "machine k recalls sets")
	for _, name := range words("ann.json ann.md ann.svg ann.png") {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	damage(t, filepath.Join(dir, "gtdist.fbin"), func(b []byte) []byte { clear(b[8:]); return b })
	o := execute(line...)
	if o.code != exitBelow || !strings.Contains(o.stdout, "not reached") || !strings.Contains(o.stderr, "fashion784: recall 0.95 was not reached") {
		t.Errorf("a recall out of reach: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

func TestDemo(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	text := must(t, "demo", "--words", "1500")
	for _, want := range []string{"1,500 English words", "strawberries", "recall@10", "QPS", "reads/query", "KiB/query",
		"Memory", "I/O engine", "3,000 IOPS", "80,000 IOPS", "One query in words", "probe wave"} {
		if !strings.Contains(text, want) {
			t.Errorf("the demonstration does not speak of %q:\n%s", want, text)
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
		t.Errorf("%v is left behind (%v)", left, err)
	}
}
