package sprat

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spratdb/sprat/internal/crashdisk"
	"github.com/spratdb/sprat/posting/lire"
)

var updateOrder = flag.Bool("update-order", false, "write testdata/order.golden anew")

// TestOrderOfFileOperations: what each kind of change does to the file system, in
// its order. A sync that is lost, or a batch that commits before what it names is
// synced, is a difference to the golden file.
func TestOrderOfFileOperations(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	opts := Options{MemoryLimit: 64 << 20, CacheBytes: -1, Direct: "off"}
	s, err := openWith(dir, opts, hooks{manual: true})
	mustDo(t, err)
	_, err = s.CreateIndex(t.Context(), "b", "i", IndexConfig{Dimension: 2, Metric: Euclidean, PostingBytes: 4 << 10})
	mustDo(t, err)
	mustClose(t, s)
	disk, err := crashdisk.NewRecorder(dir)
	mustDo(t, err)
	disk.Mark("open")
	s, err = openWith(dir, opts, hooks{manual: true, ops: disk.Ops})
	mustDo(t, err)
	ix := mustIndex(t, s, "i")
	ix.limits = lire.Limits{Target: 6, Split: 8, Merge: 2, Fold: 3}
	row := func(i int) Record {
		return Record{Key: fmt.Sprint(i), Vector: []float32{float32(i % 4), float32(i / 4)}}
	}
	put := func(what string, from, to int) {
		t.Helper()
		disk.Mark(what)
		var recs []Record
		for i := from; i < to; i++ {
			recs = append(recs, row(i))
		}
		mustDo(t, ix.Put(t.Context(), recs))
	}
	step := func(want string) {
		t.Helper()
		disk.Mark(want)
		did, err := ix.writer.upkeep.step(t.Context())
		if err != nil || did != want {
			t.Fatalf("a step did %q (%v), want %q", did, err, want)
		}
	}
	put("the first put", 0, 2)
	put("a put", 2, 4)
	put("a replacement", 1, 2)
	step("fold")
	put("a put of many", 4, 12)
	step("split")
	disk.Mark("a deletion")
	_, err = ix.Delete(t.Context(), []string{"3", "4"})
	mustDo(t, err)
	disk.Mark("close")
	mustClose(t, s)
	script := disk.Script(true)
	// What Pebble does with its tables and directories, and when it removes old
	// logs, is its own affair.
	script = regexp.MustCompile(`(?m)^(create|remove|rename|link|truncate|syncdir) catalog.*\n|^\w+ catalog/[^*].*\n|^\w+ catalog/\*\.sst.*\n`).ReplaceAllString(script, "")
	script = script[strings.Index(script, "-- the first put"):]
	golden := filepath.Join("testdata", "order.golden")
	if *updateOrder {
		mustDo(t, os.MkdirAll("testdata", 0o755))
		mustDo(t, os.WriteFile(golden, []byte(script), 0o644))
	}
	want, err := os.ReadFile(golden)
	mustDo(t, err)
	if script != string(want) {
		t.Errorf("the order of file operations has changed (go test -run %s -update-order writes it anew):\n%s", t.Name(), differences(string(want), script))
	}
}

// differences are the lines that only one of two texts has, in order.
func differences(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out strings.Builder
	for i := range max(len(w), len(g)) {
		a, b := "", ""
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			fmt.Fprintf(&out, "line %d\n  - %s\n  + %s\n", i+1, a, b)
		}
	}
	return out.String()
}
