package grpc_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/spratdb/sprat"
	spratgrpc "github.com/spratdb/sprat/server/grpc"
	"github.com/spratdb/sprat/server/grpc/client"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
)

// door is a way to the same store: the library, or gRPC.
type door struct {
	createBucket func(name string) error
	createIndex  func(bucket, index string, cfg sprat.IndexConfig) error
	put          func(records []sprat.Record, strict bool) error
	get          func(keys []string) error
	list         func(o sprat.ListOptions) error
	remove       func(keys []string) error
	query        func(q []float32, k int, o sprat.QueryOptions) error
	tune         func(d sprat.Dials) error
	attributes   func(change map[string][]byte) error
}

func libraryDoor(ctx context.Context, store *sprat.Store, ix *sprat.Index) door {
	return door{
		createBucket: store.CreateBucket,
		createIndex: func(bucket, index string, cfg sprat.IndexConfig) error {
			_, err := store.CreateIndex(ctx, bucket, index, cfg)
			return err
		},
		put: func(records []sprat.Record, strict bool) error {
			return ix.PutWith(ctx, records, sprat.PutOptions{StrictMetadata: strict})
		},
		get:        func(keys []string) error { _, err := ix.Get(ctx, keys, sprat.Fields{}); return err },
		list:       func(o sprat.ListOptions) error { _, err := ix.List(ctx, o); return err },
		remove:     func(keys []string) error { _, err := ix.Delete(ctx, keys); return err },
		query:      func(q []float32, k int, o sprat.QueryOptions) error { _, err := ix.Query(ctx, q, k, o); return err },
		tune:       ix.SetDials,
		attributes: func(change map[string][]byte) error { return store.SetAttributes("b/i", change) },
	}
}

func grpcDoor(ctx context.Context, c *client.Client) door {
	return door{
		createBucket: func(name string) error { return c.CreateBucket(ctx, name, nil) },
		createIndex: func(bucket, index string, cfg sprat.IndexConfig) error {
			_, err := c.CreateIndex(ctx, bucket, index, cfg, client.CreateOptions{})
			return err
		},
		put: func(records []sprat.Record, strict bool) error {
			return c.Put(ctx, "b", "i", records, sprat.PutOptions{StrictMetadata: strict})
		},
		get:    func(keys []string) error { _, err := c.Get(ctx, "b", "i", keys, sprat.Fields{}); return err },
		list:   func(o sprat.ListOptions) error { _, err := c.List(ctx, "b", "i", o); return err },
		remove: func(keys []string) error { _, err := c.Delete(ctx, "b", "i", keys); return err },
		query: func(q []float32, k int, o sprat.QueryOptions) error {
			_, err := c.Query(ctx, "b", "i", q, k, o)
			return err
		},
		tune:       func(d sprat.Dials) error { return c.TuneIndex(ctx, "b", "i", d) },
		attributes: func(change map[string][]byte) error { return c.SetAttributes(ctx, "b", "i", change) },
	}
}

func one(key string, vector []float32, metadata string) []sprat.Record {
	r := sprat.Record{Key: key, Vector: vector}
	if metadata != "" {
		r.Metadata = []byte(metadata)
	}
	return []sprat.Record{{Key: "good", Vector: []float32{1, 2, 3}}, r}
}

// badInput is what every door refuses, by name.
func badInput() map[string]func(d door) error {
	v, nan, inf := []float32{1, 2, 3}, float32(math.NaN()), float32(math.Inf(1))
	long, deep := strings.Repeat("x", 1025), strings.Repeat(`{"$and":[`, 200)+"1"
	put := func(key string, vector []float32, metadata string) func(d door) error {
		return func(d door) error { return d.put(one(key, vector, metadata), false) }
	}
	strict := func(metadata string) func(d door) error {
		return func(d door) error { return d.put(one("k", v, metadata), true) }
	}
	query := func(q []float32, k int, o sprat.QueryOptions) func(d door) error {
		return func(d door) error { return d.query(q, k, o) }
	}
	filter := func(text string, strict bool) func(d door) error {
		return query(v, 1, sprat.QueryOptions{Filter: []byte(text), StrictFilter: strict})
	}
	index := func(cfg sprat.IndexConfig) func(d door) error {
		return func(d door) error { return d.createIndex("b", "x", cfg) }
	}
	list := func(o sprat.ListOptions) func(d door) error { return func(d door) error { return d.list(o) } }
	return map[string]func(d door) error{
		"put: dimension": put("k", v[:2], ""), "put: none": put("k", nil, ""), "put: NaN": put("k", []float32{1, nan, 2}, ""),
		"put: infinity": put("k", []float32{1, 2, -inf}, ""), "put: zero": put("k", make([]float32, 3), ""),
		"put: empty key": put("", v, ""), "put: long key": put(long, v, ""), "put: key of a MiB": put(strings.Repeat("x", 1<<20), v, ""),
		"put: UTF-8": put("k\xff", v, ""), "put: twice": put("good", v, ""), "put: no JSON": put("k", v, "{"), "put: a list": put("k", v, "[]"),
		"put: metadata of 50 KiB": put("k", v, `{"a":"`+strings.Repeat("x", 50<<10)+`"}`),
		"strict: nested":          strict(`{"a":{}}`), "strict: null": strict(`{"a":null}`), "strict: 3 KiB": strict(`{"a":"` + strings.Repeat("x", 3<<10) + `"}`),
		"strict: UTF-8": strict("{\"a\":\"\xff\"}"),
		"get: long":     func(d door) error { return d.get([]string{"k", long}) }, "get: UTF-8": func(d door) error { return d.get([]string{"\xff"}) },
		"get: empty": func(d door) error { return d.get([]string{""}) }, "delete: empty": func(d door) error { return d.remove([]string{""}) },
		"delete: long": func(d door) error { return d.remove([]string{long}) },
		"list: limit":  list(sprat.ListOptions{Limit: 10_001}), "list: below 0": list(sprat.ListOptions{Limit: -1}), "list: token": list(sprat.ListOptions{Token: "x"}),
		"list: segment": list(sprat.ListOptions{Segment: 4, Segments: 4}), "list: segments": list(sprat.ListOptions{Segments: 17}),
		"list: huge":       list(sprat.ListOptions{Segment: -5, Segments: -1}),
		"query: dimension": query(v[:1], 1, sprat.QueryOptions{}), "query: NaN": query([]float32{nan, 1, 1}, 1, sprat.QueryOptions{}),
		"query: zero": query(make([]float32, 3), 1, sprat.QueryOptions{}), "query: k 0": query(v, 0, sprat.QueryOptions{}),
		"query: k 10,001": query(v, 10_001, sprat.QueryOptions{}), "query: k below 0": query(v, -1, sprat.QueryOptions{}),
		"query: probe": query(v, 1, sprat.QueryOptions{SearchProbe: -1}), "query: many probes": query(v, 1, sprat.QueryOptions{SearchProbe: 1<<20 + 1}),
		"query: rescore": query(v, 1, sprat.QueryOptions{RescoreLimit: -1}), "query: reads": query(v, 1, sprat.QueryOptions{MaxReads: -1}),
		"query: target 1": query(v, 1, sprat.QueryOptions{RecallTarget: 1}), "query: target NaN": query(v, 1, sprat.QueryOptions{RecallTarget: math.NaN()}),
		"filter: no JSON": filter("{", false), "filter: operator": filter(`{"a":{"$near":1}}`, false), "filter: type": filter(`{"a":{"$gt":"x"}}`, false),
		"filter: deep": filter(deep, false), "filter: non-filterable": filter(`{"text":"x"}`, false), "filter: strict": filter(`{"a":1,"b":2}`, true),
		"filter: UTF-8":    filter("{\"a\":\"\xff\"}", false),
		"index: dimension": index(sprat.IndexConfig{Metric: sprat.Dot}), "index: 4,097": index(sprat.IndexConfig{Dimension: 4097, Metric: sprat.Dot}),
		"index: metric": index(sprat.IndexConfig{Dimension: 3}), "index: bits": index(sprat.IndexConfig{Dimension: 3, Metric: sprat.Dot, Bits: 9}),
		"index: copies":         index(sprat.IndexConfig{Dimension: 3, Metric: sprat.Dot, Copies: -1}),
		"index: posting":        index(sprat.IndexConfig{Dimension: 3, Metric: sprat.Dot, PostingBytes: 1}),
		"index: non-filterable": index(sprat.IndexConfig{Dimension: 3, Metric: sprat.Dot, NonFilterable: make([]string, 65)}),
		"index: name": func(d door) error {
			return d.createIndex("b", "x/y", sprat.IndexConfig{Dimension: 3, Metric: sprat.Dot})
		},
		"bucket: empty": func(d door) error { return d.createBucket("") }, "bucket: slash": func(d door) error { return d.createBucket("a/b") },
		"bucket: long": func(d door) error { return d.createBucket(long) }, "bucket: UTF-8": func(d door) error { return d.createBucket("b\xff") },
		"tune: target": func(d door) error { return d.tune(sprat.Dials{RecallTarget: 2}) }, "tune: probe": func(d door) error { return d.tune(sprat.Dials{SearchProbe: -3}) },
		"attributes: name":  func(d door) error { return d.attributes(map[string][]byte{"": {1}}) },
		"attributes: large": func(d door) error { return d.attributes(map[string][]byte{"a": make([]byte, 65<<10)}) },
	}
}

// TestBadInput: both doors refuse the same, for the same reason, and nothing changes.
func TestBadInput(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{})
	ix := makeIndex(t, store, sprat.Cosine)
	library, remote := libraryDoor(t.Context(), store, ix), grpcDoor(t.Context(), c)
	for name, bad := range badInput() {
		t.Run(name, func(t *testing.T) {
			want, got := bad(library), bad(remote)
			wantIs(t, want, sprat.ErrInvalid)
			wantIs(t, got, sprat.ErrInvalid)
			var here, there *sprat.InputError
			if !errors.As(want, &here) {
				return // a bare ErrInvalid tells nothing more
			}
			if !errors.As(got, &there) {
				t.Fatalf("the library: %v, gRPC: %v", want, got)
			}
			if here.Field != there.Field || here.Want != there.Want || len(here.Got) <= 512 && strings.ToValidUTF8(here.Got, "\uFFFD") != there.Got {
				t.Errorf("the library: %v, gRPC: %v", here, there)
			}
			var row, rowThere *sprat.RowError
			if errors.As(want, &row) != errors.As(got, &rowThere) || row != nil && row.Row != rowThere.Row {
				t.Errorf("the library: %v, gRPC: %v", want, got)
			}
		})
	}
	if n := ix.Len(); n != 0 {
		t.Errorf("%d vectors were put", n)
	}
}

// TestDetails: the field is named as a path in the request, also in a batch.
func TestDetails(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{})
	makeIndex(t, store, sprat.Dot)
	ctx := t.Context()
	_, batch := c.QueryBatch(ctx, "b", "i", [][]float32{{1, 2, 3}, {1, 2}}, 1, sprat.QueryOptions{})
	_, many := c.QueryBatch(ctx, "b", "i", make([][]float32, 1001), 1, sprat.QueryOptions{})
	_, _, page := c.Buckets(ctx, client.Page{Limit: 1001})
	for want, err := range map[string]error{
		"vectors[1].vector": c.Put(ctx, "b", "i", one("k", nil, ""), sprat.PutOptions{}),
		"queries[1].vector": batch,
		"queries":           many,
		"limit":             page,
	} {
		wantCode(t, err, codes.InvalidArgument)
		var field, reason string
		for _, d := range status.Convert(err).Details() {
			switch d := d.(type) {
			case *errdetails.BadRequest:
				field = d.GetFieldViolations()[0].GetField()
			case *errdetails.ErrorInfo:
				reason = d.GetReason()
			}
		}
		if field != want || reason != "INVALID" {
			t.Errorf("%v: field %q, reason %q; want %q", err, field, reason, want)
		}
	}
}

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// TestMalformed: a message that is none is the client's fault, by call and by stream.
func TestMalformed(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{})
	makeIndex(t, store, sprat.Dot)
	for name, text := range map[string][]byte{"UTF-8": {0x0a, 2, 'b', 0xff}, "cut short": {0x0a, 200}, "garbage": {0xff, 0xff, 0xff}} {
		var answer []byte
		err := c.Conn().Invoke(t.Context(), spratv1.Vectors_Query_FullMethodName, &text, &answer, grpc.ForceCodecV2(rawCodec{}))
		wantCode(t, err, codes.InvalidArgument)
		if !strings.Contains(err.Error(), "request: want a message") {
			t.Errorf("%s: %v", name, err)
		}
		stream, err := c.Conn().NewStream(t.Context(), &spratv1.Vectors_ServiceDesc.Streams[0], spratv1.Vectors_PutStream_FullMethodName, grpc.ForceCodecV2(rawCodec{}))
		must(t, err)
		must(t, stream.SendMsg(&text))
		wantCode(t, stream.RecvMsg(&answer), codes.InvalidArgument)
	}
	err := c.Conn().Invoke(t.Context(), "/sprat.v1.Vectors/Nothing", &[]byte{}, &[]byte{}, grpc.ForceCodecV2(rawCodec{}))
	wantCode(t, err, codes.Unimplemented)
}

func TestOversized(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{MaxMessageBytes: 64 << 10})
	ix := makeIndex(t, store, sprat.Dot)
	big := []byte(`{"a":"` + strings.Repeat("x", 30<<10) + `"}`)
	var all []sprat.Record
	for _, key := range []string{"a", "b", "c"} {
		all = append(all, sprat.Record{Key: key, Vector: []float32{1, 2, 3}, Metadata: big})
	}
	wantCode(t, c.Put(t.Context(), "b", "i", all, sprat.PutOptions{}), codes.ResourceExhausted)
	if ix.Len() != 0 {
		t.Error("it was put")
	}
	must(t, ix.Put(t.Context(), all))
	_, err := c.Get(t.Context(), "b", "i", []string{"a", "b", "c"}, sprat.Fields{Metadata: true})
	wantCode(t, err, codes.ResourceExhausted)
	if got, err := c.Get(t.Context(), "b", "i", []string{"a"}, sprat.Fields{Metadata: true}); err != nil || !reflect.DeepEqual(got[0].Metadata, big) {
		t.Errorf("one of them: %v", err)
	}
}
