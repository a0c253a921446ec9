package grpc_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spratdb/sprat"
	spratgrpc "github.com/spratdb/sprat/server/grpc"
)

// TestListFitsMessages: pages end before they are larger than a message may be, and
// all of them together are the whole.
func TestListFitsMessages(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{MaxMessageBytes: 64 << 10})
	ix := makeIndex(t, store, sprat.Dot)
	const n = 60
	document := append(append([]byte(`{"text":"`), bytes.Repeat([]byte{'x'}, 9<<10)...), `"}`...)
	var records []sprat.Record
	for i := range n {
		records = append(records, sprat.Record{Key: fmt.Sprint(i), Vector: []float32{1, 2, float32(i)}, Metadata: document})
	}
	must(t, ix.Put(t.Context(), records))
	all := sprat.Fields{Vectors: true, Metadata: true}
	seen, pages := map[string]bool{}, 0
	for o := (sprat.ListOptions{Fields: all}); ; pages++ {
		page, err := c.List(t.Context(), "b", "i", o)
		must(t, err)
		for _, r := range page.Records {
			if seen[r.Key] || len(r.Vector) != 3 || !bytes.Equal(r.Metadata, document) {
				t.Fatalf("record %s", r.Key)
			}
			seen[r.Key] = true
		}
		if o.Token = page.Next; o.Token == "" {
			break
		}
	}
	if len(seen) != n || pages < n/7 {
		t.Errorf("%d records in %d pages", len(seen), pages)
	}
	page, err := c.List(t.Context(), "b", "i", sprat.ListOptions{Limit: 3, Fields: all})
	if err != nil || len(page.Records) != 3 || page.Next == "" {
		t.Errorf("%d records of 3, next %q, %v", len(page.Records), page.Next, err)
	}
	if page, err = c.List(t.Context(), "b", "i", sprat.ListOptions{}); err != nil || len(page.Records) != n || page.Next != "" {
		t.Errorf("keys alone: %d records, next %q, %v", len(page.Records), page.Next, err)
	}
	for _, limit := range []int{-1, sprat.MaxListLimit + 1} {
		_, err := c.List(t.Context(), "b", "i", sprat.ListOptions{Limit: limit})
		_, want := ix.List(t.Context(), sprat.ListOptions{Limit: limit})
		if err == nil || !strings.Contains(err.Error(), want.Error()) {
			t.Errorf("limit %d: got %v, want %v", limit, err, want)
		}
	}
}

// TestResolveDials: a client learns the caps that the library would use.
func TestResolveDials(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{})
	ix := makeIndex(t, store, sprat.Dot)
	for _, o := range []sprat.QueryOptions{{}, {RecallTarget: 0.9}, {SearchProbe: 7}, {RescoreLimit: 1 << 15}} {
		got, err := c.DialsFor(t.Context(), "b", "i", 20, o)
		must(t, err)
		if want := ix.DialsFor(20, o); got != want {
			t.Errorf("%+v: got %+v, want %+v", o, got, want)
		}
	}
	_, err := c.DialsFor(t.Context(), "b", "none", 1, sprat.QueryOptions{})
	wantIs(t, err, sprat.ErrNotFound)
}
