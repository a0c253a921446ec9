package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spratdb/sprat"
	sprpc "github.com/spratdb/sprat/server/grpc"
	"github.com/spratdb/sprat/server/grpc/client"
	"github.com/spratdb/sprat/server/s3vectors"
)

// both returns an engine in this process and one over gRPC, of stores of their own.
func both(t *testing.T) map[string]s3vectors.Engine {
	t.Helper()
	open := func() *sprat.Store {
		store, err := sprat.Open(t.TempDir(), sprat.Options{MemoryLimit: 256 << 20, IOEngine: "pread"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return store
	}
	server, err := sprpc.New(open(), sprpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Drain(context.Background()) })
	c, err := client.New(listener.Addr().String(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return map[string]s3vectors.Engine{"local": s3vectors.Local(open()), "remote": New(c)}
}

// step is a call and what it makes of the engine, as text.
type step struct {
	name string
	run  func(ctx context.Context, e s3vectors.Engine) (any, error)
}

// steps leave no part of an engine out, errors included.
func steps() []step {
	none := func(err error) (any, error) { return nil, err }
	cfg := sprat.IndexConfig{Dimension: 3, Metric: sprat.Cosine, NonFilterable: []string{"text"}}
	attributes := map[string][]byte{"a": []byte("1"), "b": {0, 255}}
	put := func(records ...sprat.Record) func(context.Context, s3vectors.Engine) (any, error) {
		return func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return none(e.Put(ctx, "bucket", "index", records))
		}
	}
	query := func(k int, o sprat.QueryOptions) func(context.Context, s3vectors.Engine) (any, error) {
		return func(ctx context.Context, e s3vectors.Engine) (any, error) {
			res, err := e.Query(ctx, "bucket", "index", []float32{1, 0, 0}, k, o)
			if err != nil {
				return nil, err
			}
			return res.Matches, nil
		}
	}
	list := func(o sprat.ListOptions) func(context.Context, s3vectors.Engine) (any, error) {
		return func(ctx context.Context, e s3vectors.Engine) (any, error) {
			page, err := e.List(ctx, "bucket", "index", o)
			return []any{page.Records, page.Next != ""}, err
		}
	}
	return []step{
		{"create bucket", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return none(e.CreateBucket(ctx, "bucket", attributes))
		}},
		{"again", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return none(e.CreateBucket(ctx, "bucket", nil))
		}},
		{"another", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return none(e.CreateBucket(ctx, "other", nil))
		}},
		{"bucket", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			info, err := e.Bucket(ctx, "bucket")
			return []any{info.Name, info.Created.IsZero()}, err
		}},
		{"no bucket", func(ctx context.Context, e s3vectors.Engine) (any, error) { return e.Bucket(ctx, "none") }},
		{"buckets", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			list, more, err := e.Buckets(ctx, s3vectors.Page{Limit: 1})
			return []any{len(list), list[0].Name, more}, err
		}},
		{"more buckets", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			list, more, err := e.Buckets(ctx, s3vectors.Page{After: "bucket", Prefix: "o", Limit: 500})
			return []any{len(list), list[0].Name, more}, err
		}},
		{"index without bucket", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return none(e.CreateIndex(ctx, "none", "index", cfg, nil))
		}},
		{"bad index", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return none(e.CreateIndex(ctx, "bucket", "bad", sprat.IndexConfig{Metric: sprat.Cosine, Dimension: 5000}, nil))
		}},
		{"create index", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return none(e.CreateIndex(ctx, "bucket", "index", cfg, attributes))
		}},
		{"index again", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return none(e.CreateIndex(ctx, "bucket", "index", cfg, nil))
		}},
		{"index", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			info, err := e.Index(ctx, "bucket", "index")
			return []any{info.Bucket, info.Name, info.Dimension, info.Metric, info.NonFilterable, info.Created.IsZero()}, err
		}},
		{"no index", func(ctx context.Context, e s3vectors.Engine) (any, error) { return e.Index(ctx, "bucket", "none") }},
		{"indexes", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			list, more, err := e.Indexes(ctx, "bucket", s3vectors.Page{Limit: 5})
			return []any{len(list), list[0].Name, list[0].Dimension, more}, err
		}},
		{"indexes of none", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			_, _, err := e.Indexes(ctx, "none", s3vectors.Page{Limit: 5})
			return none(err)
		}},
		{"attributes", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return e.Attributes(ctx, "bucket", "index")
		}},
		{"set attributes", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return none(e.SetAttributes(ctx, "bucket", "", map[string][]byte{"a": nil, "b": []byte("2"), "c": []byte("é")}))
		}},
		{"attributes of the bucket", func(ctx context.Context, e s3vectors.Engine) (any, error) { return e.Attributes(ctx, "bucket", "") }},
		{"attributes of none", func(ctx context.Context, e s3vectors.Engine) (any, error) { return e.Attributes(ctx, "bucket", "none") }},
		{"put", put(sprat.Record{Key: "a", Vector: []float32{1, 0, 0}, Metadata: []byte(`{"n":1,"text":"x"}`)}, sprat.Record{Key: "é", Vector: []float32{0, 1, 0}})},
		{"put of another dimension", put(sprat.Record{Key: "a", Vector: []float32{1}})},
		{"put without key", put(sprat.Record{Key: "b", Vector: []float32{1, 1, 1}}, sprat.Record{Vector: []float32{1, 1, 1}})},
		{"put of bad metadata", put(sprat.Record{Key: "b", Vector: []float32{1, 1, 1}}, sprat.Record{Key: "c\"", Vector: []float32{1, 1, 1}, Metadata: []byte(`{"a":[]}`)})},
		{"put of zero", put(sprat.Record{Key: "b", Vector: []float32{0, 0, 0}})},
		{"get", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return e.Get(ctx, "bucket", "index", []string{"é", "none", "a"}, sprat.Fields{Vectors: true, Metadata: true})
		}},
		{"get keys", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return e.Get(ctx, "bucket", "index", []string{"a"}, sprat.Fields{})
		}},
		{"get of none", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return e.Get(ctx, "bucket", "none", []string{"a"}, sprat.Fields{})
		}},
		{"list", list(sprat.ListOptions{Limit: 10, Fields: sprat.Fields{Vectors: true, Metadata: true}})},
		{"list a page", list(sprat.ListOptions{Limit: 1})},
		{"list a segment", list(sprat.ListOptions{Limit: 10, Segment: 1, Segments: 2})},
		{"list garbage", list(sprat.ListOptions{Limit: 1, Token: "x"})},
		{"query", query(5, sprat.QueryOptions{Metadata: true})},
		{"query by filter", query(5, sprat.QueryOptions{Filter: []byte(`{"n":{"$exists":false}}`)})},
		{"query by bad filter", query(5, sprat.QueryOptions{Filter: []byte(`{"n":1,"m":2}`), StrictFilter: true})},
		{"query by text", query(5, sprat.QueryOptions{Filter: []byte(`{"text":"x"}`)})},
		{"query for none", query(0, sprat.QueryOptions{})},
		{"bucket in use", func(ctx context.Context, e s3vectors.Engine) (any, error) { return none(e.DeleteBucket(ctx, "bucket")) }},
		{"delete", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return none(e.Delete(ctx, "bucket", "index", []string{"a", "none"}))
		}},
		{"list again", list(sprat.ListOptions{Limit: 10})},
		{"delete index", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return none(e.DeleteIndex(ctx, "bucket", "index"))
		}},
		{"index is gone", func(ctx context.Context, e s3vectors.Engine) (any, error) { return e.Index(ctx, "bucket", "index") }},
		{"delete index again", func(ctx context.Context, e s3vectors.Engine) (any, error) {
			return none(e.DeleteIndex(ctx, "bucket", "index"))
		}},
		{"delete bucket", func(ctx context.Context, e s3vectors.Engine) (any, error) { return none(e.DeleteBucket(ctx, "bucket")) }},
		{"delete bucket again", func(ctx context.Context, e s3vectors.Engine) (any, error) { return none(e.DeleteBucket(ctx, "bucket")) }},
	}
}

// kind tells errors apart as callers do.
func kind(err error) string {
	if err == nil {
		return "none"
	}
	var parts []string
	for name, sentinel := range map[string]error{"invalid": sprat.ErrInvalid, "not found": sprat.ErrNotFound, "exists": sprat.ErrExists, "not empty": sprat.ErrNotEmpty} {
		if errors.Is(err, sentinel) {
			parts = append(parts, name)
		}
	}
	slices.Sort(parts)
	var row *sprat.RowError
	if errors.As(err, &row) {
		parts = append(parts, fmt.Sprintf("row %d %q", row.Row, row.Key))
	}
	var input *sprat.InputError
	if errors.As(err, &input) {
		parts = append(parts, fmt.Sprintf("%+v", *input))
	}
	if parts == nil {
		return err.Error()
	}
	return strings.Join(parts, ", ")
}

// TestSameAsLocal: whether the engine is in this process or behind gRPC makes no
// difference.
func TestSameAsLocal(t *testing.T) {
	engines := both(t)
	for _, s := range steps() {
		want, wantErr := s.run(t.Context(), engines["local"])
		got, gotErr := s.run(t.Context(), engines["remote"])
		if kind(gotErr) != kind(wantErr) {
			t.Errorf("%s: error %q (%v), want %q (%v)", s.name, kind(gotErr), gotErr, kind(wantErr), wantErr)
		}
		if wantErr == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", s.name, got, want)
		}
	}
}

// TestUnreachable: an engine that is not there is unavailable, for the moment.
func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	c, err := client.New(listener.Addr().String(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := New(c).Index(t.Context(), "bucket", "index"); !errors.Is(err, s3vectors.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
