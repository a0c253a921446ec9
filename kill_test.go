package sprat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The child of TestKilled has killWriters writers, each with keys of its own. What
// a writer does in its n-th call follows from n, so the parent knows it from the
// number alone: killed in call n+1, the store must hold what n calls leave, or
// n+1, of each writer.
const (
	killWriters = 4
	killKeys    = 60
	killsEnv    = "SPRAT_KILLS" // how often TestKilled kills; default 12
)

// killCall is the n-th call of a writer, n >= 1: what it puts or deletes. There
// are times of growth and of decline, so that postings are cut and given up.
type killCall struct {
	del    bool
	settle bool // let maintenance finish afterwards, or for a while
	keys   []string
}

func killCallOf(writer, n int) killCall {
	rng := rand.New(rand.NewPCG(uint64(writer), uint64(n)))
	del := rng.IntN(8) == 0
	if n/60%2 == 1 {
		del = rng.IntN(3) > 0
	}
	c := killCall{del: del, settle: rng.IntN(24) == 0}
	for _, i := range rng.Perm(killKeys)[:1+rng.IntN(12)] {
		c.keys = append(c.keys, fmt.Sprintf("w%d-%d", writer, i))
	}
	return c
}

// killRecord is what call n of a writer puts for a key: metadata names the call,
// the vector follows from both. Every seventh key has long metadata, which lies
// in the catalog.
func killRecord(rows [][]float32, writer, n int, key string) Record {
	at := n*131 + writer*17
	for _, b := range []byte(key) {
		at = at*31 + int(b)
	}
	pad := ""
	if at%7 == 0 {
		pad = strings.Repeat("x", 3000)
	}
	return Record{Key: key, Vector: rows[(at%len(rows)+len(rows))%len(rows)], Metadata: fmt.Appendf(nil, `{"n":%d,"pad":%q}`, n, pad)}
}

// apply makes call n of a writer in a model, which holds the call that put each
// key.
func (c *killCall) apply(model map[string]int, n int) {
	for _, key := range c.keys {
		if c.del {
			delete(model, key)
		} else {
			model[key] = n
		}
	}
}

// killOptions keep caches and deltas small.
var killOptions = Options{MemoryLimit: 64 << 20, CacheBytes: 256 << 10}

// helperKilled opens the store args[0], says so, and has each writer make its
// calls from number args[1+writer] on, saying of each when it is acknowledged,
// until the process is killed.
func helperKilled(args []string) error {
	rows := distinctTexts()
	s, err := Open(args[0], killOptions)
	if err != nil {
		return err
	}
	ix, err := s.Index("b", "i")
	if errors.Is(err, ErrNotFound) {
		ix, err = s.CreateIndex(context.Background(), "b", "i", linearConfig(rows))
	}
	if err != nil {
		return err
	}
	fmt.Println("open")
	failed := make(chan error)
	for writer := range killWriters {
		first, err := strconv.Atoi(args[1+writer])
		if err != nil {
			return err
		}
		go func() { failed <- killWrite(ix, rows, writer, first) }()
	}
	return <-failed
}

// killWrite makes the calls of a writer without end.
func killWrite(ix *Index, rows [][]float32, writer, first int) error {
	for n := first; ; n++ {
		c := killCallOf(writer, n)
		var err error
		if c.del {
			_, err = ix.Delete(context.Background(), c.keys)
		} else {
			var records []Record
			for _, key := range c.keys {
				records = append(records, killRecord(rows, writer, n, key))
			}
			err = ix.Put(context.Background(), records)
		}
		if err != nil {
			return fmt.Errorf("writer %d, call %d: %w", writer, n, err)
		}
		fmt.Printf("done %d %d\n", writer, n)
		if c.settle {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			err := ix.Settle(ctx)
			cancel()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("settle: %w", err)
			}
		}
	}
}

// TestKilled: a process that changes an index from several goroutines, with
// maintenance behind them, is killed again and again. Each time the store opens,
// every invariant holds, each acknowledged call is there whole and in order, and of
// the calls in flight each whole or not at all. Sometimes the next process goes on
// without anybody having looked.
func TestKilled(t *testing.T) {
	t.Parallel()
	kills := 12
	if text := os.Getenv(killsEnv); text != "" {
		n, err := strconv.Atoi(text)
		mustDo(t, err)
		kills = n
	}
	k := &killer{t: t, dir: t.TempDir(), rows: distinctTexts(), rng: rand.New(rand.NewPCG(rand.Uint64(), 1))}
	for i := range k.acked {
		k.models[i] = map[string]int{}
	}
	for i := range kills {
		k.kill()
		if t.Failed() {
			t.Fatalf("at kill %d", i+1)
		}
		if k.rng.IntN(4) > 0 || i == kills-1 {
			k.look()
		}
	}
	t.Logf("%d kills, calls acknowledged %v, in flight and made %d of %d", kills, k.acked, k.made, k.flying)
}

type killer struct {
	t    *testing.T
	dir  string
	rows [][]float32
	rng  *rand.Rand

	acked  [killWriters]int            // calls acknowledged
	models [killWriters]map[string]int // what they leave
	flying int                         // calls in flight when it was looked
	made   int                         // that had been made
}

// kill runs a child and kills it: while it starts and opens the store, when it
// has, or after a random number of acknowledged calls.
func (k *killer) kill() {
	args := []string{k.dir}
	for _, n := range k.acked {
		args = append(args, strconv.Itoa(n+1))
	}
	c := startChild(k.t, "killed", args...)
	want := -1 // lines to read before the kill
	if k.rng.IntN(8) > 0 {
		want = k.rng.IntN(200)
	}
	for range want + 1 {
		if !c.lines.Scan() {
			k.t.Errorf("the child ended by itself: %v\n%s", c.lines.Err(), c.stderr.String())
			break
		}
		k.heard(c.lines.Text())
	}
	if want < 0 {
		<-time.After(time.Duration(k.rng.IntN(300)) * time.Millisecond)
	}
	c.kill()
	for c.lines.Scan() { // what it had said before it died
		k.heard(c.lines.Text())
	}
	c.wait()
}

// heard takes in a line of the child.
func (k *killer) heard(line string) {
	var writer, n int
	if line == "open" {
		return
	}
	if _, err := fmt.Sscanf(line, "done %d %d", &writer, &n); err != nil || n != k.acked[writer]+1 {
		k.t.Errorf("the child says %q, acknowledged are %v", line, k.acked)
		return
	}
	k.acked[writer] = n
	c := killCallOf(writer, n)
	c.apply(k.models[writer], n)
}

// look opens the store and compares it with the models.
func (k *killer) look() {
	s, err := Open(k.dir, killOptions)
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { mustClose(k.t, s) }()
	ix, err := s.Index("b", "i")
	if errors.Is(err, ErrNotFound) && k.acked == [killWriters]int{} {
		return // killed before it was created
	}
	mustDo(k.t, err)
	if r, err := ix.Verify(context.Background(), nil); err != nil || !r.OK() {
		k.t.Errorf("verify: %v, %+v", err, r)
	}
	page, err := ix.List(context.Background(), ListOptions{Limit: MaxListLimit, Fields: Fields{Vectors: true, Metadata: true}})
	mustDo(k.t, err)
	var found [killWriters]map[string]int
	for i := range found {
		found[i] = map[string]int{}
	}
	for _, r := range page.Records {
		var writer, n int
		_, err := fmt.Sscanf(r.Key, "w%d-", &writer)
		if err == nil {
			_, err = fmt.Sscanf(string(r.Metadata), `{"n":%d,`, &n)
		}
		mustDo(k.t, err)
		found[writer][r.Key] = n
		want := killRecord(k.rows, writer, n, r.Key)
		if !slices.Equal(r.Vector, want.Vector) || string(r.Metadata) != string(want.Metadata) {
			k.t.Errorf("key %s of call %d: vector right: %v, metadata %.50s", r.Key, n, slices.Equal(r.Vector, want.Vector), r.Metadata)
		}
	}
	for writer, model := range k.models {
		k.compare(writer, model, found[writer])
	}
	k.search(ix, page.Records)
}

// compare checks that a writer's keys are as its acknowledged calls leave them,
// or those and the next one.
func (k *killer) compare(writer int, model, found map[string]int) {
	next := maps.Clone(model)
	c := killCallOf(writer, k.acked[writer]+1)
	c.apply(next, k.acked[writer]+1)
	if !maps.Equal(model, next) {
		k.flying++
	}
	switch {
	case maps.Equal(found, model):
		return
	case maps.Equal(found, next):
		k.made++
		return
	}
	for i := range killKeys {
		key := fmt.Sprintf("w%d-%d", writer, i)
		a, inModel := model[key]
		b, inNext := next[key]
		if f, there := found[key]; (f != a || there != inModel) && (f != b || there != inNext) {
			k.t.Errorf("key %s is of call %d (there: %v), want call %d (%v); acknowledged are %d", key, f, there, a, inModel, k.acked[writer])
		}
	}
	k.t.Errorf("writer %d: %d keys are neither as its %d acknowledged calls leave them (%d) nor as the next does (%d)",
		writer, len(found), k.acked[writer], len(model), len(next))
}

// search checks that vectors are found by queries.
func (k *killer) search(ix *Index, records []Record) {
	for range min(5, len(records)) {
		r := records[k.rng.IntN(len(records))]
		res, err := ix.Query(context.Background(), r.Vector, len(records), everything)
		mustDo(k.t, err)
		i := slices.IndexFunc(res.Matches, func(m Match) bool { return m.Key == r.Key })
		if len(res.Matches) != len(records) || i < 0 || !slices.Equal(res.Matches[i].Vector, r.Vector) {
			k.t.Errorf("a query for the vector of key %s found %d of %d, the key itself at %d", r.Key, len(res.Matches), len(records), i)
		}
	}
}

// childProcess is a helper that runs until it is killed.
type childProcess struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  *bufio.Scanner // of its standard output
	stderr strings.Builder
}

// startChild starts a helper in a process of its own.
func startChild(t *testing.T, helper string, args ...string) *childProcess {
	t.Helper()
	binary, err := os.Executable()
	mustDo(t, err)
	c := &childProcess{t: t, cmd: exec.Command(binary, args...)}
	c.cmd.Env = append(os.Environ(), helperEnv+"="+helper)
	c.cmd.Stderr = &c.stderr
	var out io.Reader
	out, err = c.cmd.StdoutPipe()
	mustDo(t, err)
	mustDo(t, c.cmd.Start())
	c.lines = bufio.NewScanner(out)
	return c
}

// kill sends SIGKILL.
func (c *childProcess) kill() {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Error(err)
	}
}

// wait waits for the end of a child that was killed and read to the end.
func (c *childProcess) wait() {
	var exit *exec.ExitError
	if err := c.cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
		c.t.Errorf("the child was not killed: %v\n%s", err, c.stderr.String())
	}
}

// helperCreating creates indexes i0, i1, ... in the store args[0] without end,
// says so of each, puts a vector into every other one, and says so, too.
func helperCreating(args []string) error {
	rows := distinctTexts()
	s, err := Open(args[0], killOptions)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		ix, err := s.CreateIndex(context.Background(), "b", fmt.Sprint("i", i), linearConfig(rows))
		if err != nil {
			return err
		}
		fmt.Println("created", i)
		if i%2 == 1 {
			continue
		}
		if err := ix.Put(context.Background(), []Record{{Key: "first", Vector: rows[i]}}); err != nil {
			return err
		}
		fmt.Println("put", i)
	}
}

// TestKilledAfterCreate: an index whose creation, or whose first put, was the last
// thing that a process did before it was killed is whole, takes puts and is
// searched; an index that was not acknowledged is whole or not there.
func TestKilledAfterCreate(t *testing.T) {
	t.Parallel()
	rows := distinctTexts()
	for after := range 5 { // created 0, put 0, created 1, created 2, put 2
		dir := t.TempDir()
		c := startChild(t, "creating", dir)
		var created, put []int
		hear := func() {
			what, number, _ := strings.Cut(c.lines.Text(), " ")
			i, err := strconv.Atoi(number)
			if created = append(created, i); what == "put" {
				created, put = created[:len(created)-1], append(put, i)
			}
			mustDo(t, err)
		}
		for range after + 1 {
			if !c.lines.Scan() {
				t.Fatalf("the child ended by itself: %s", c.stderr.String())
			}
			hear()
		}
		c.kill()
		for c.lines.Scan() {
			hear()
		}
		c.wait()
		s := openStore(t, dir, killOptions)
		names, err := s.Indexes()
		mustDo(t, err)
		if len(names) < len(created) || len(names) > len(created)+1 {
			t.Errorf("indexes %v, created were %v", names, created)
		}
		for i := range names {
			name := fmt.Sprint("i", i)
			ix := mustIndex(t, s, name)
			if slices.Contains(put, i) {
				mustFind(t, ix, rows[i], "first")
			}
			mustDo(t, ix.Put(t.Context(), []Record{{Key: "later", Vector: rows[100+i]}}))
			mustFind(t, ix, rows[100+i], "later")
			mustBeWhole(t, ix, name)
		}
		mustClose(t, s)
		checkOnlyIndexes(t, dir, len(names))
	}
}

// mustFind fails unless a query of exactly this vector finds the key, and Get does.
func mustFind(t *testing.T, ix *Index, v []float32, key string) {
	t.Helper()
	res, err := ix.Query(context.Background(), v, 1, QueryOptions{Vectors: true})
	if err != nil || len(res.Matches) != 1 || res.Matches[0].Key != key || !slices.Equal(res.Matches[0].Vector, v) {
		t.Errorf("%s: a query for key %s: %v, %+v", ix.Name(), key, err, res)
	}
	got, err := ix.Get(context.Background(), []string{key}, Fields{Vectors: true})
	if err != nil || len(got) != 1 || !slices.Equal(got[0].Vector, v) {
		t.Errorf("%s: key %s: %v, %d found", ix.Name(), key, err, len(got))
	}
}

// checkOnlyIndexes fails when a store that was opened since holds the files of
// other than n indexes.
func checkOnlyIndexes(t *testing.T, dir string, n int) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, indexesDir))
	if err != nil || len(entries) != n {
		t.Errorf("%d folders of indexes, want %d (%v)", len(entries), n, err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, temporaryDir)); err != nil || len(left) > 0 {
		t.Errorf("%v left behind (%v)", left, err)
	}
}

// TestPutsWhileCreated: puts into an index from the first moment at which it can
// be had by name, while its creation goes on, are there afterwards and after a
// restart.
func TestPutsWhileCreated(t *testing.T) {
	t.Parallel()
	rows, dir := distinctTexts(), t.TempDir()
	s := openStore(t, dir, Options{})
	const indexes, callers = 6, 4
	for i := range indexes {
		var wg sync.WaitGroup
		name := fmt.Sprint("i", i)
		for c := range callers {
			wg.Go(func() {
				ix, err := s.Index("b", name)
				for errors.Is(err, ErrNotFound) {
					ix, err = s.Index("b", name)
				}
				if err == nil {
					err = ix.Put(context.Background(), []Record{{Key: fmt.Sprint(c), Vector: rows[c]}})
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		ix, err := s.CreateIndex(t.Context(), "b", name, linearConfig(rows))
		mustDo(t, err)
		mustDo(t, ix.Put(t.Context(), []Record{{Key: "creator", Vector: rows[callers]}}))
		wg.Wait()
	}
	for _, when := range []string{"at once", "after a restart"} {
		for i := range indexes {
			ix := mustIndex(t, s, fmt.Sprint("i", i))
			for c := range callers {
				mustFind(t, ix, rows[c], fmt.Sprint(c))
			}
			mustFind(t, ix, rows[callers], "creator")
			mustBeWhole(t, ix, when)
		}
		mustClose(t, s)
		s = openStore(t, dir, Options{})
	}
}
