package fio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spratdb/sprat"
)

// shortTiming measures next to nothing, but all of it.
var shortTiming = timing{
	whole: 10 * time.Second, write: 5 * time.Second, ramp: 10 * time.Millisecond, window: 20 * time.Millisecond,
	depths: []int{1, 8}, rounds: 2, extraRounds: 1,
	sizes: []int{4 << 10, 256 << 10}, sizeWindow: 20 * time.Millisecond, sizeRounds: 1, large: 20 * time.Millisecond,
	otherDepths: []int{1, 8}, otherRounds: 1,
	program: []int{1}, programTime: 20 * time.Millisecond,
	mixed: 30 * time.Millisecond, sustained: 120 * time.Millisecond,
	warm: 20 * time.Millisecond, queries: 50 * time.Millisecond,
}

// small is a configuration of a test.
func small(dir string) Config {
	return Config{Dir: dir, FileBytes: 4 << 20, Program: ProgramOff}.withDefaults()
}

// files lists what is in a directory.
func files(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range list {
		out = append(out, f.Name())
	}
	return out
}

// TestVolumeAlone calibrates a directory without a store.
func TestVolumeAlone(t *testing.T) {
	dir := t.TempDir()
	cfg := small(dir)
	cfg.ExpectIOPS, cfg.ExpectMiBps = 1e9, 1
	var steps []Progress
	cfg.Progress = func(p Progress) { steps = append(steps, p) }
	r, err := calibrate(t.Context(), cfg, shortTiming)
	if err != nil {
		t.Fatal(err)
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	d := r.Derived
	if d.IOPS <= 0 || d.MiBps <= 0 || d.Knee < 1 || d.BalancedBytes <= 0 || d.BaseLatency <= 0 || d.Engine != r.Environment.Engine {
		t.Errorf("derived %+v", d)
	}
	if len(r.Engines) != 2 || len(r.Engines[0].Depths) != 2 || len(r.Sizes) < 2 || r.Mixed == nil || r.Mixed.WriteIOPS <= 0 ||
		len(r.Sustained.IOPS) != 12 || r.Large == nil || !r.File.Written || r.File.Bytes != 4<<20 {
		t.Errorf("report %+v", r)
	}
	if r.Stored || !strings.Contains(strings.Join(r.Notes, " "), "holds no store") {
		t.Errorf("stored %v, notes %q", r.Stored, r.Notes)
	}
	if e := r.Expectation; e == nil || len(e.Below) != 1 || !strings.Contains(e.Below[0], "IOPS") {
		t.Errorf("expectation %+v", e)
	}
	if r.ProgramHint != "" || r.Program != nil {
		t.Errorf("fio was off: %+v", r.Program)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "recommended") {
		t.Errorf("text %s, %v", text.String(), err)
	}
}

// TestExistingFile reads a file that must stay as it is.
func TestExistingFile(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	path := filepath.Join(other, "data")
	content := make([]byte, 2<<20)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	if err := os.WriteFile(path, content, 0o400); err != nil {
		t.Fatal(err)
	}
	cfg := small(dir)
	cfg.File, cfg.FileBytes = path, 0
	r, err := calibrate(t.Context(), cfg, shortTiming)
	if err != nil {
		t.Fatal(err)
	}
	if r.Mixed != nil || r.File.Written || r.File.Path != path || r.Derived.IOPS <= 0 {
		t.Errorf("report %+v", r)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the file was changed, %v", err)
	}
	if left := append(files(t, dir), files(t, other)...); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// rows are random vectors.
func rows(n, dim int) iter.Seq2[sprat.Record, error] {
	return func(yield func(sprat.Record, error) bool) {
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range n {
			v := make([]float32, dim)
			for j := range v {
				v[j] = float32(rng.NormFloat64())
			}
			if !yield(sprat.Record{Key: fmt.Sprint(i), Vector: v}, nil) {
				return
			}
		}
	}
}

func buildStore(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, err := sprat.Open(dir, sprat.Options{MemoryLimit: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Build(t.Context(), "b", "i", sprat.IndexConfig{Dimension: 16, Metric: sprat.Euclidean}, rows(2000, 16), sprat.BuildOptions{})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestIndex measures queries, predicts, and leaves the profile with the store.
func TestIndex(t *testing.T) {
	dir := buildStore(t)
	before := files(t, dir)
	cfg := small(dir)
	cfg.Store.MemoryLimit = 256 << 20
	cfg.ExpectIOPS = 100
	cfg.Index = &IndexConfig{Bucket: "b", Name: "i", K: 5, Clients: 32, Probes: []int{2, 4}, Rescores: []int{20}, QPS: 10}
	r, err := calibrate(t.Context(), cfg, shortTiming)
	if err != nil {
		t.Fatal(err)
	}
	ix := r.Index
	if ix == nil || ix.Name != "b/i" || ix.Vectors != 2000 || !ix.OwnVectors || len(ix.Grid) != 3 || !ix.Grid[0].Own {
		t.Fatalf("index %+v", ix)
	}
	for _, c := range ix.Grid {
		if c.Cold == nil || c.Cached == nil {
			t.Fatalf("cell %+v", c)
		}
		if s := c.Cold; s.Queries < leastQueries || s.Reads <= 0 || s.CPUTime <= 0 || s.HitRatio != 0 ||
			s.Prediction.QPS <= 0 || s.Needs == nil || s.Needs.IOPS <= 0 {
			t.Errorf("cold %+v", s)
		}
		if c.Cached.Reads >= c.Cold.Reads {
			t.Errorf("%d: %g reads with a cache, %g without", c.SearchProbe, c.Cached.Reads, c.Cold.Reads)
		}
	}
	if low, high := ix.Grid[1].Cold, ix.Grid[2].Cold; low.Reads > high.Reads {
		t.Errorf("probe 2 costs %g reads, 4 costs %g", low.Reads, high.Reads)
	}
	if !r.Stored || len(files(t, dir)) != len(before)+1 {
		t.Errorf("stored %v, files %v before and %v after", r.Stored, before, files(t, dir))
	}
	s, err := sprat.Open(dir, sprat.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, ok := s.Volume()
	if !ok || p.IOPS != r.Derived.IOPS || p.Depth != r.Derived.Depth || p.ExpectIOPS != 100 || !p.MeasuredAt.Equal(r.MeasuredAt) {
		t.Errorf("profile %+v, %v", p, ok)
	}
}

// TestRefusals: what cannot be done is said before anything is measured.
func TestRefusals(t *testing.T) {
	dir, store := t.TempDir(), buildStore(t)
	index := func(ix IndexConfig) Config {
		ix.Bucket, ix.Name = "b", "i"
		return Config{Dir: store, Index: &ix, Program: ProgramOff}
	}
	for _, c := range []struct {
		name string
		cfg  Config
		want error
	}{
		{"no directory", Config{}, ErrConfig},
		{"a missing directory", Config{Dir: filepath.Join(dir, "missing")}, os.ErrNotExist},
		{"a tiny file", Config{Dir: dir, FileBytes: 5}, ErrConfig},
		{"a file that is too large", Config{Dir: dir, FileBytes: 1 << 60, Program: ProgramOff}, ErrNoSpace},
		{"negative expectation", Config{Dir: dir, ExpectIOPS: -1}, ErrConfig},
		{"an index without a store", Config{Dir: dir, Index: &IndexConfig{Bucket: "b", Name: "i"}, Program: ProgramOff}, ErrConfig},
		{"a missing index", Config{Dir: store, Index: &IndexConfig{Bucket: "b", Name: "x"}, Program: ProgramOff}, sprat.ErrNotFound},
		{"a cap of 0", index(IndexConfig{Probes: []int{0}}), ErrConfig},
		{"queries of another dimension", index(IndexConfig{Queries: [][]float32{{1, 2}}}), ErrConfig},
		{"a missing file", Config{Dir: dir, File: filepath.Join(dir, "x"), Program: ProgramOff}, os.ErrNotExist},
		{"a folder as file", Config{Dir: dir, File: dir, Program: ProgramOff}, ErrConfig},
		{"a program that is missing", Config{Dir: dir, Program: "/nowhere/fio"}, ErrProgram},
	} {
		if _, err := Run(t.Context(), c.cfg); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestBusy: one calibration at a time; what a killed one has left is no
// obstacle.
func TestBusy(t *testing.T) {
	dir := t.TempDir()
	path, remove, err := lockFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := calibrate(t.Context(), small(dir), shortTiming); !errors.Is(err, ErrBusy) {
		t.Errorf("two at a time: %v", err)
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("left by a killed one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := calibrate(t.Context(), small(dir), shortTiming); err != nil {
		t.Error(err)
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestCancelled ends in each phase, and leaves nothing behind.
func TestCancelled(t *testing.T) {
	dir := buildStore(t)
	before := files(t, dir)
	long := shortTiming
	long.write, long.window, long.sizeWindow, long.large = time.Hour, time.Hour, time.Hour, time.Hour
	long.mixed, long.sustained = time.Hour, time.Hour
	for _, c := range []struct {
		name  string
		until func(*timing) // makes what comes before the phase short
	}{
		{phaseDepths, func(*timing) {}},
		{phaseSizes, func(t *timing) { t.window = shortTiming.window }},
		{phaseMixed, func(t *timing) {
			t.window, t.sizeWindow, t.large = shortTiming.window, shortTiming.sizeWindow, shortTiming.large
		}},
		{phaseSustained, func(t *timing) { *t = shortTiming; t.sustained = time.Hour }},
	} {
		timing := long
		c.until(&timing)
		ctx, cancel := context.WithCancel(t.Context())
		cfg := small(dir)
		cfg.Progress = func(p Progress) {
			if p.Phase == c.name {
				cancel()
			}
		}
		_, err := calibrate(ctx, cfg, timing)
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", c.name, err)
		}
		if after := files(t, dir); len(after) != len(before) {
			t.Errorf("%s: files %v, before %v", c.name, after, before)
		}
	}
}
