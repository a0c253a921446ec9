package grpc_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/spratdb/sprat"
	spratgrpc "github.com/spratdb/sprat/server/grpc"
	"github.com/spratdb/sprat/server/grpc/client"
)

func TestHealth(t *testing.T) {
	store := newStore(t)
	server := start(t, store, spratgrpc.Options{})
	health := grpc_health_v1.NewHealthClient(server.dial(t, client.Options{}).Conn())
	for _, name := range []string{"", "sprat.v1.Catalog", "sprat.v1.Vectors", "sprat.v1.Operations"} {
		answer, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: name})
		if err != nil || answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", name, answer, err)
		}
	}
	_, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "none"})
	wantCode(t, err, codes.NotFound)
}

// TestDrain: calls in progress finish, streams that only watch do not hold the server
// up, and health tells.
func TestDrain(t *testing.T) {
	g := newGate()
	store := newStore(t)
	server := start(t, store, spratgrpc.Options{Snapshots: g})
	c := server.dial(t, client.Options{})
	watch, err := grpc_health_v1.NewHealthClient(c.Conn()).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	must(t, err)
	first, err := watch.Recv()
	if err != nil || first.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Fatalf("%v, %v", first, err)
	}
	reflect, err := grpc_reflection_v1.NewServerReflectionClient(c.Conn()).ServerReflectionInfo(t.Context())
	must(t, err)
	must(t, reflect.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}))
	_, err = reflect.Recv()
	must(t, err)

	called, drained := make(chan error, 1), make(chan error, 1)
	go func() { _, _, err := c.Snapshots(t.Context()); called <- err }()
	<-g.waiting
	go func() { drained <- server.Drain(t.Context()) }()
	for { // the watch ends, perhaps with a last word
		last, err := watch.Recv()
		if err != nil {
			break
		}
		if last.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
			t.Errorf("health is %v", last)
		}
	}
	select {
	case err := <-drained:
		t.Fatalf("drained with a call in progress: %v", err)
	case err := <-called:
		t.Fatalf("the call ended: %v", err)
	default:
	}
	g.release()
	must(t, <-called)
	must(t, <-drained)
	must(t, server.Drain(t.Context())) // once more is no harm
}

// TestDrainLate: calls that do not finish in time are cancelled, and gone afterwards.
func TestDrainLate(t *testing.T) {
	g := newGate()
	defer g.release()
	server := start(t, newStore(t), spratgrpc.Options{Snapshots: g})
	c := server.dial(t, client.Options{})
	called := make(chan error, 1)
	go func() { _, _, err := c.Snapshots(t.Context()); called <- err }()
	<-g.waiting
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantIs(t, server.Drain(ctx), context.Canceled)
	if err := <-called; err == nil {
		t.Error("the call succeeded")
	}
	_, err := c.Stats(t.Context())
	wantCode(t, err, codes.Unavailable)
}

// TestLoopback: over a real network, two listeners at once.
func TestLoopback(t *testing.T) {
	store := newStore(t)
	makeIndex(t, store, sprat.Cosine)
	server, err := spratgrpc.New(store, spratgrpc.Options{})
	must(t, err)
	served := make(chan error, 2)
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		go func() { served <- server.Serve(listener) }()
		c, err := client.New(listener.Addr().String(), client.Options{})
		must(t, err)
		must(t, c.Put(t.Context(), "b", "i", records(100), sprat.PutOptions{}))
		result, err := c.Query(t.Context(), "b", "i", []float32{50, 1, 1}, 5, sprat.QueryOptions{})
		if err != nil || len(result.Matches) != 5 || result.Matches[0].Key != "k50" {
			t.Errorf("%+v, %v", result, err)
		}
		must(t, c.Close())
	}
	must(t, server.Drain(t.Context()))
	must(t, errors.Join(<-served, <-served))
}
