package grpc_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/spratdb/sprat"
	spratgrpc "github.com/spratdb/sprat/server/grpc"
	"github.com/spratdb/sprat/server/grpc/client"
)

func TestCatalog(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{})
	ctx := t.Context()
	must(t, c.CreateBucket(ctx, "b", map[string][]byte{"tag": []byte("x"), "empty": {}}))
	wantIs(t, c.CreateBucket(ctx, "b", nil), sprat.ErrExists)
	if err := c.CreateBucket(ctx, "c", map[string][]byte{"": nil}); err == nil {
		t.Fatal("a bad attribute is taken")
	}
	if _, err := store.Bucket("c"); err == nil {
		t.Error("the bucket of a failed creation is there")
	}
	info, err := c.Bucket(ctx, "b")
	must(t, err)
	if want, _ := store.Bucket("b"); info.Name != "b" || !info.Created.Equal(want.Created) {
		t.Errorf("got %v, want %v", info, want)
	}
	_, err = c.CreateIndex(ctx, "none", "i", sprat.IndexConfig{Dimension: 3, Metric: sprat.Dot}, client.CreateOptions{BucketMustExist: true})
	wantIs(t, err, sprat.ErrNotFound)
	cfg := sprat.IndexConfig{Dimension: 3, Metric: sprat.Dot, Copies: 2, NonFilterable: []string{"text"}}
	made, err := c.CreateIndex(ctx, "b", "i", cfg, client.CreateOptions{Attributes: map[string][]byte{"kms": []byte("k")}})
	must(t, err)
	ix, err := store.Index("b", "i")
	must(t, err)
	if !reflect.DeepEqual(made.Config, ix.Config()) || !made.Created.Equal(ix.Created()) || made.Dials != ix.Dials() {
		t.Errorf("got %+v", made)
	}
	attributes, err := c.Attributes(ctx, "b", "i")
	must(t, err)
	if string(attributes["kms"]) != "k" {
		t.Errorf("attributes of the index: %v", attributes)
	}
	must(t, c.SetAttributes(ctx, "b", "", map[string][]byte{"tag": nil, "more": []byte("y")}))
	if attributes, err = c.Attributes(ctx, "b", ""); err != nil || len(attributes) != 2 || string(attributes["more"]) != "y" || attributes["empty"] == nil && len(attributes["empty"]) != 0 {
		t.Errorf("attributes of the bucket: %v, %v", attributes, err)
	}
	must(t, c.TuneIndex(ctx, "b", "i", sprat.Dials{RecallTarget: 0.9}))
	if got, err := c.Index(ctx, "b", "i"); err != nil || got.Dials.RecallTarget != 0.9 || ix.Dials().RecallTarget != 0.9 {
		t.Errorf("dials %+v, %v", got.Dials, err)
	}
	wantIs(t, c.DeleteBucket(ctx, "b"), sprat.ErrNotEmpty)
	must(t, c.DeleteIndex(ctx, "b", "i"))
	wantIs(t, c.DeleteIndex(ctx, "b", "i"), sprat.ErrNotFound)
	must(t, c.DeleteBucket(ctx, "b"))
	_, err = c.Bucket(ctx, "b")
	wantIs(t, err, sprat.ErrNotFound)
}

func TestPages(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{})
	ctx := t.Context()
	for i := range 7 {
		must(t, store.CreateBucket(fmt.Sprintf("p%d", i)))
	}
	must(t, store.CreateBucket("q"))
	makeIndex(t, store, sprat.Dot)
	for _, name := range []string{"a", "ab", "abc"} {
		_, err := store.CreateIndex(ctx, "b", name, sprat.IndexConfig{Dimension: 3, Metric: sprat.Dot})
		must(t, err)
	}
	var got []string
	for p := (client.Page{Prefix: "p", Limit: 3}); ; {
		list, next, err := c.Buckets(ctx, p)
		must(t, err)
		for _, b := range list {
			got = append(got, b.Name)
		}
		if p.After = next; next == "" {
			break
		}
	}
	if want := "[p0 p1 p2 p3 p4 p5 p6]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	list, next, err := c.Indexes(ctx, "b", client.Page{Prefix: "ab", Limit: 1})
	must(t, err)
	if len(list) != 1 || list[0].Name != "ab" || list[0].Bucket != "b" || next != "ab" {
		t.Errorf("got %+v, next %q", list, next)
	}
	if list, next, err = c.Indexes(ctx, "b", client.Page{After: next}); err != nil || len(list) != 2 || list[0].Name != "abc" || list[1].Name != "i" || next != "" {
		t.Errorf("got %+v, next %q, %v", list, next, err)
	}
	_, _, err = c.Indexes(ctx, "none", client.Page{})
	wantIs(t, err, sprat.ErrNotFound)
}

func records(n int) []sprat.Record {
	out := make([]sprat.Record, n)
	for i := range out {
		out[i] = sprat.Record{Key: fmt.Sprintf("k%d", i), Vector: []float32{float32(i), 1, float32(i % 7)}, Metadata: fmt.Appendf(nil, `{"n":%d}`, i)}
	}
	return out
}

func TestVectors(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{})
	ctx := t.Context()
	ix := makeIndex(t, store, sprat.Euclidean)
	must(t, c.Put(ctx, "b", "i", records(50), sprat.PutOptions{}))
	if err := c.Put(ctx, "b", "i", []sprat.Record{{Key: "x", Vector: []float32{1, 2, 3}, Metadata: []byte(`{"a":{}}`)}}, sprat.PutOptions{StrictMetadata: true}); err == nil {
		t.Error("strict metadata is not passed on")
	}
	keys := []string{"k3", "none", "k1"}
	for _, want := range []sprat.Fields{{}, {Vectors: true}, {Vectors: true, Metadata: true}} {
		got, err := c.Get(ctx, "b", "i", keys, want)
		must(t, err)
		if there, _ := ix.Get(ctx, keys, want); !reflect.DeepEqual(got, there) {
			t.Errorf("got %v, want %v", got, there)
		}
	}
	seen := map[string]bool{}
	for segment := range 4 {
		for token := ""; ; {
			page, err := c.List(ctx, "b", "i", sprat.ListOptions{Limit: 7, Token: token, Segment: segment, Segments: 4, Fields: sprat.Fields{Metadata: true}})
			must(t, err)
			for _, r := range page.Records {
				if seen[r.Key] || r.Metadata == nil || r.Vector != nil {
					t.Errorf("record %+v", r)
				}
				seen[r.Key] = true
			}
			if token = page.Next; token == "" {
				break
			}
		}
	}
	if len(seen) != 50 {
		t.Errorf("%d of 50 listed", len(seen))
	}
	if n, err := c.Delete(ctx, "b", "i", []string{"k0", "k1", "none"}); err != nil || n != 2 || ix.Len() != 48 {
		t.Errorf("deleted %d, %v; %d left", n, err, ix.Len())
	}
}

// TestQuery: every option arrives, and the whole answer comes back.
func TestQuery(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{})
	ctx := t.Context()
	ix := makeIndex(t, store, sprat.Euclidean)
	must(t, ix.Put(ctx, records(300)))
	q := []float32{100.2, 1, 3}
	for name, o := range map[string]sprat.QueryOptions{
		"defaults":   {},
		"caps":       {SearchProbe: 3, RescoreLimit: 20},
		"target":     {RecallTarget: 0.99},
		"fixed":      {SearchProbe: 2, RescoreLimit: 30, FixedWork: true},
		"parts":      {Vectors: true, Metadata: true},
		"budget":     {Deadline: time.Now().Add(time.Hour)},
		"past":       {Deadline: time.Now().Add(-time.Hour)},
		"reads":      {MaxReads: 1},
		"filter":     {Filter: []byte(`{"n": {"$lt": 50}}`), Metadata: true},
		"no match":   {Filter: []byte(`{"n": -1}`)},
		"and filter": {Filter: []byte(`{"$and": [{"n": {"$gte": 10}}, {"n": {"$lt": 13}}]}`), StrictFilter: true},
	} {
		want, err := ix.Query(ctx, q, 10, o)
		must(t, err)
		got, err := c.Query(ctx, "b", "i", q, 10, o)
		must(t, err)
		same(t, name, got, want)
		batch, err := c.QueryBatch(ctx, "b", "i", [][]float32{q, {0, 0, 0}, q}, 10, o)
		must(t, err)
		if len(batch) != 3 {
			t.Fatalf("%d answers", len(batch))
		}
		same(t, name+", batch", batch[0], want)
		same(t, name+", batch", batch[2], want)
	}
	got, err := c.Query(ctx, "b", "i", q, 3, sprat.QueryOptions{Trace: true})
	if err != nil || got.Trace == "" || got.Work.Elapsed == 0 {
		t.Errorf("trace %q, %v", got.Trace, err)
	}
	if _, err := c.Query(ctx, "b", "i", q, 3, sprat.QueryOptions{Filter: []byte(`{"n":1,"text":2}`), StrictFilter: true}); err == nil {
		t.Error("the strict switch is not passed on")
	}
}

// same compares results, but for what differs from time to time.
func same(t *testing.T, name string, got, want *sprat.Result) {
	t.Helper()
	a, b := *got, *want
	for _, r := range []*sprat.Result{&a, &b} {
		r.Work.Elapsed, r.Work.Busy, r.Work.CacheHits, r.Work.FilterRows = 0, 0, 0, 0
		r.Work.Reads, r.Work.Bytes, r.Work.Waves, r.Work.PostingReads, r.Work.RecordReads, r.Work.RefineReads = 0, 0, 0, 0, 0, 0
		if len(r.Matches) == 0 {
			r.Matches = nil
		}
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s: got\n%+v, want\n%+v", name, a, b)
	}
}

func TestOperations(t *testing.T) {
	target, err := sprat.SnapshotDir(filepath.Join(t.TempDir(), "snapshots"))
	must(t, err)
	store, c := serve(t, spratgrpc.Options{Snapshots: target})
	ctx := t.Context()
	ix := makeIndex(t, store, sprat.Cosine)
	must(t, ix.Put(ctx, records(40)))
	must(t, c.Settle(ctx, "b", "i"))
	st, err := c.Stats(ctx)
	must(t, err)
	if len(st.Indexes) != 1 || st.Indexes[0].Vectors != 40 || st.IO.Engine != "pread" || st.MemoryLimit != 256<<20 {
		t.Errorf("stats %+v", st)
	}
	steps := map[string]bool{}
	report, err := c.Verify(ctx, "b", "i", func(step string, _, _ int64) { steps[step] = true })
	must(t, err)
	if !report.OK() || report.Keys != 40 || report.Index != "b/i" || len(steps) == 0 {
		t.Errorf("report %+v, steps %v", report, steps)
	}
	repair, err := c.Repair(ctx, "b", "i")
	if err != nil || repair.Changed() {
		t.Errorf("repair %+v, %v", repair, err)
	}
	must(t, c.Compact(ctx, "b", "i", nil))
	snapshot, err := c.Snapshot(ctx, sprat.SnapshotOptions{Label: "first"})
	must(t, err)
	if snapshot.ID == "" || snapshot.Vectors != 40 {
		t.Errorf("snapshot %+v", snapshot)
	}
	_, err = c.Snapshot(ctx, sprat.SnapshotOptions{Label: "second", Workers: 2})
	must(t, err)
	name, list, err := c.Snapshots(ctx)
	if err != nil || name != target.String() || len(list) != 2 || list[0].ID != snapshot.ID || list[0].Label != "first" || list[1].Err != nil {
		t.Errorf("snapshots in %s: %+v, %v", name, list, err)
	}
	checked, err := c.VerifySnapshot(ctx, snapshot.ID, sprat.SnapshotOptions{})
	if err != nil || checked.ChunksRead == 0 {
		t.Errorf("verified %+v, %v", checked, err)
	}
	pruned, err := c.PruneSnapshots(ctx, 1, sprat.SnapshotOptions{})
	if err != nil || pruned.SnapshotsRemoved != 1 {
		t.Errorf("pruned %+v, %v", pruned, err)
	}
	_, err = c.VerifySnapshot(ctx, snapshot.ID, sprat.SnapshotOptions{})
	wantIs(t, err, sprat.ErrNotFound)
	_, err = c.PruneSnapshots(ctx, 0, sprat.SnapshotOptions{})
	wantIs(t, err, sprat.ErrInvalid)
}

func TestNoSnapshots(t *testing.T) {
	_, c := serve(t, spratgrpc.Options{})
	_, err := c.Snapshot(t.Context(), sprat.SnapshotOptions{})
	wantIs(t, err, client.ErrNoSnapshots)
}

func TestClosedStore(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{})
	makeIndex(t, store, sprat.Dot)
	must(t, store.Close())
	_, err := c.Query(t.Context(), "b", "i", []float32{1, 2, 3}, 1, sprat.QueryOptions{})
	wantIs(t, err, sprat.ErrClosed)
	_, err = c.Stats(t.Context())
	wantIs(t, err, sprat.ErrClosed)
	stream, err := c.PutStream(t.Context(), "b", "i", sprat.PutOptions{})
	must(t, err)
	defer stream.Close()
	must(t, stream.Send(records(1)))
	_, _, err = stream.Ack()
	wantIs(t, err, sprat.ErrClosed)
}

func TestBytesOfMetadata(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{})
	makeIndex(t, store, sprat.Dot)
	text := []byte(`{"é": "\u0000\ud83d\ude00", "list": [1, 2.50]}`)
	must(t, c.Put(t.Context(), "b", "i", []sprat.Record{{Key: "é\x01", Vector: []float32{0, 1e-45, 1e15}, Metadata: text}}, sprat.PutOptions{}))
	got, err := c.Get(t.Context(), "b", "i", []string{"é\x01"}, sprat.Fields{Vectors: true, Metadata: true})
	if err != nil || len(got) != 1 || !bytes.Equal(got[0].Metadata, text) || !reflect.DeepEqual(got[0].Vector, []float32{0, 1e-45, 1e15}) {
		t.Errorf("got %+v, %v", got, err)
	}
}
