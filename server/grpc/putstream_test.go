package grpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/spratdb/sprat"
	spratgrpc "github.com/spratdb/sprat/server/grpc"
	"github.com/spratdb/sprat/server/grpc/client"
)

func TestPutStream(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{})
	ix := makeIndex(t, store, sprat.Dot)
	stream, err := c.PutStream(t.Context(), "b", "i", sprat.PutOptions{StrictMetadata: true})
	must(t, err)
	defer stream.Close()
	sent := make(chan error, 1)
	go func() {
		for n := range 30 {
			batch := []sprat.Record{{Key: fmt.Sprint(n), Vector: []float32{1, 2, 3}}}
			switch n % 10 {
			case 4:
				batch[0].Vector = nil
			case 7:
				batch[0].Metadata = []byte(`{"a":{}}`) // the options hold for all requests
			}
			if err := stream.Send(batch); err != nil {
				sent <- err
				return
			}
		}
		sent <- stream.Done()
	}()
	for n := range uint64(30) {
		request, refused, err := stream.Ack()
		must(t, err)
		bad := n%10 == 4 || n%10 == 7
		if request != n || bad != errors.Is(refused, sprat.ErrInvalid) || !bad && refused != nil {
			t.Errorf("request %d acknowledged as %d with %v", n, request, refused)
		}
		if got, _ := ix.Get(t.Context(), []string{fmt.Sprint(n)}, sprat.Fields{}); (len(got) == 1) == bad {
			t.Errorf("request %d: %d records", n, len(got))
		}
	}
	if _, _, err := stream.Ack(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last: %v", err)
	}
	must(t, <-sent)
}

func TestPutStreamElsewhere(t *testing.T) {
	store, c := serve(t, spratgrpc.Options{})
	makeIndex(t, store, sprat.Dot)
	stream, err := c.PutStream(t.Context(), "b", "none", sprat.PutOptions{})
	must(t, err)
	defer stream.Close()
	must(t, stream.Send(records(1)))
	_, refused, err := stream.Ack()
	must(t, err)
	wantIs(t, refused, sprat.ErrNotFound)
}

// TestPutStreamGone: a client that goes away in the middle leaves what it got
// acknowledged, and nothing running.
func TestPutStreamGone(t *testing.T) {
	store := newStore(t)
	ix := makeIndex(t, store, sprat.Dot)
	server := start(t, store, spratgrpc.Options{})
	for round := range 5 {
		c := server.dial(t, client.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := c.PutStream(ctx, "b", "i", sprat.PutOptions{})
		must(t, err)
		acked := 0
		for n := range 20 {
			must(t, stream.Send([]sprat.Record{{Key: fmt.Sprint(round, n), Vector: []float32{1, 2, 3}}}))
			if n < 5 {
				_, refused, err := stream.Ack()
				must(t, errors.Join(refused, err))
				acked++
			}
		}
		if round%2 == 0 {
			cancel()
		} else {
			must(t, c.Close())
		}
		if n := int(ix.Len()); n < acked {
			t.Errorf("round %d: %d vectors", round, n)
		}
		cancel()
	}
	must(t, server.Drain(t.Context())) // would wait for a handler that is left
}

// TestPutStreamDrain: a stream that only waits does not hold the server up.
func TestPutStreamDrain(t *testing.T) {
	store := newStore(t)
	makeIndex(t, store, sprat.Dot)
	server := start(t, store, spratgrpc.Options{})
	stream, err := server.dial(t, client.Options{}).PutStream(t.Context(), "b", "i", sprat.PutOptions{})
	must(t, err)
	defer stream.Close()
	must(t, stream.Send(records(3)))
	_, refused, err := stream.Ack()
	must(t, errors.Join(refused, err))
	must(t, server.Drain(t.Context()))
	_, _, err = stream.Ack()
	wantCode(t, err, codes.Unavailable)
}
