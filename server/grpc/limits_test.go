package grpc_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/spratdb/sprat"
	spratgrpc "github.com/spratdb/sprat/server/grpc"
	"github.com/spratdb/sprat/server/grpc/client"
)

func TestRate(t *testing.T) {
	store := newStore(t)
	makeIndex(t, store, sprat.Dot)
	server := start(t, store, spratgrpc.Options{Tokens: tokenList(t), Rate: 0.001, Burst: 2})
	c, other := server.dial(t, client.Options{Token: writeToken}), server.dial(t, client.Options{Token: adminToken})
	for range 2 {
		_, err := c.Index(t.Context(), "b", "i")
		must(t, err)
	}
	_, err := c.Index(t.Context(), "b", "i")
	wantIs(t, err, client.ErrBusy)
	wantCode(t, err, codes.ResourceExhausted)
	var wait time.Duration
	for _, d := range status.Convert(err).Details() {
		if retry, ok := d.(*errdetails.RetryInfo); ok {
			wait = retry.GetRetryDelay().AsDuration()
		}
	}
	if wait < time.Minute || wait > 17*time.Minute {
		t.Errorf("retry after %v", wait)
	}
	stream, err := c.PutStream(t.Context(), "b", "i", sprat.PutOptions{})
	must(t, err)
	defer stream.Close()
	must(t, stream.Send(records(1)))
	_, refused, err := stream.Ack()
	must(t, err)
	wantIs(t, refused, client.ErrBusy)
	_, err = other.Index(t.Context(), "b", "i") // has a rate of its own
	must(t, err)
}

// TestCalls: a call above the number is refused, and takes no place.
func TestCalls(t *testing.T) {
	g := newGate()
	store := newStore(t)
	server := start(t, store, spratgrpc.Options{MaxCalls: 2, Snapshots: g})
	c := server.dial(t, client.Options{})
	done := make(chan error, 2)
	for range 2 {
		go func() { _, _, err := c.Snapshots(t.Context()); done <- err }()
		<-g.waiting
	}
	for range 5 {
		_, err := c.Stats(t.Context())
		wantIs(t, err, client.ErrBusy)
	}
	_, err := grpc_health_v1.NewHealthClient(c.Conn()).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	must(t, err)
	g.release()
	must(t, errors.Join(<-done, <-done))
	must(t, eventually(t, func() error { _, err := c.Stats(t.Context()); return err }))
}

// eventually tries again while the server is busy: the end of a call is noticed after
// its answer.
func eventually(t *testing.T, f func() error) error {
	for {
		err := f()
		if !errors.Is(err, client.ErrBusy) || t.Context().Err() != nil {
			return err
		}
	}
}

func TestDeadlines(t *testing.T) {
	g := newGate()
	defer g.release()
	store := newStore(t)
	ix := makeIndex(t, store, sprat.Dot)
	must(t, ix.Put(t.Context(), records(3)))
	server := start(t, store, spratgrpc.Options{MaxTime: 1, Snapshots: g})
	c := server.dial(t, client.Options{})
	_, err := c.Query(t.Context(), "b", "i", []float32{1, 2, 3}, 1, sprat.QueryOptions{})
	wantIs(t, err, context.DeadlineExceeded) // the server's
	wantCode(t, err, codes.DeadlineExceeded)
	_, err = c.Stats(t.Context()) // may take longer
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, err = c.Snapshots(ctx)
	wantIs(t, err, context.DeadlineExceeded) // the client's
	ctx, cancel = context.WithCancel(t.Context())
	go func() { <-g.waiting; <-g.waiting; cancel() }()
	_, _, err = c.Snapshots(ctx)
	wantIs(t, err, context.Canceled)
}

// TestPanic: one call fails, without a word of why, and the server goes on.
func TestPanic(t *testing.T) {
	var text lockedBuffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	_, c := serve(t, spratgrpc.Options{Snapshots: &gate{panics: true}, Logger: log})
	_, _, err := c.Snapshots(t.Context())
	wantCode(t, err, codes.Internal)
	if err.Error() != "internal error" {
		t.Errorf("the client is told %q", err)
	}
	_, err = c.VerifySnapshot(t.Context(), "", sprat.SnapshotOptions{}) // a stream
	wantCode(t, err, codes.Internal)
	_, err = c.Stats(t.Context())
	must(t, err)
	if got := text.String(); !strings.Contains(got, "the target is broken") || !strings.Contains(got, "harness_test.go") {
		t.Errorf("logged: %s", got)
	}
}

// TestLog: what was called by whom is logged, and nothing of what it was about.
func TestLog(t *testing.T) {
	var text lockedBuffer
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	store := newStore(t)
	makeIndex(t, store, sprat.Dot)
	server := start(t, store, spratgrpc.Options{Tokens: tokenList(t), Logger: log})
	c, stranger := server.dial(t, client.Options{Token: writeToken}), server.dial(t, client.Options{Token: "some-other-token-987654"})
	secret := []sprat.Record{{Key: "k", Vector: []float32{1234.5, 2, 3}, Metadata: []byte(`{"diagnosis":"rare"}`)}}
	must(t, c.Put(t.Context(), "b", "i", secret, sprat.PutOptions{}))
	_, err := c.Query(t.Context(), "b", "i", secret[0].Vector, 1, sprat.QueryOptions{Filter: []byte(`{"diagnosis":"rare"}`), Metadata: true})
	must(t, err)
	_, err = c.Query(t.Context(), "b", "i", secret[0].Vector, 0, sprat.QueryOptions{})
	wantIs(t, err, sprat.ErrInvalid)
	_, err = stranger.Stats(t.Context())
	wantIs(t, err, client.ErrUnauthenticated)
	must(t, server.Drain(t.Context())) // so that all is logged
	got := text.String()
	for _, want := range []string{"grpc.method=Put", "grpc.method=Query", "user=load", "grpc.code=InvalidArgument", "level=DEBUG", "level=INFO", "refused"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not logged", want)
		}
	}
	for _, never := range []string{"1234", "rare", "token-0123", "987654"} {
		if strings.Contains(got, never) {
			t.Errorf("%q is logged: %s", never, got)
		}
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	store, c := serve(t, spratgrpc.Options{Registry: registry})
	makeIndex(t, store, sprat.Dot)
	_, err := c.Index(t.Context(), "b", "i")
	must(t, err)
	_, err = c.Index(t.Context(), "b", "none")
	wantIs(t, err, sprat.ErrNotFound)
	families, err := registry.Gather()
	must(t, err)
	counts, histograms := map[string]float64{}, 0
	for _, f := range families {
		if f.GetName() == "grpc_server_handling_seconds" {
			histograms = len(f.GetMetric())
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if f.GetName() == "grpc_server_handled_total" && labels["grpc_method"] == "GetIndex" {
				counts[labels["grpc_code"]] = m.GetCounter().GetValue()
			}
		}
	}
	if counts["OK"] != 1 || counts["NotFound"] != 1 {
		t.Errorf("counts %v", counts)
	}
	if histograms == 0 {
		t.Error("no histograms")
	}
	if _, err := spratgrpc.New(store, spratgrpc.Options{Registry: registry}); err == nil {
		t.Error("two servers share one registry")
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]spratgrpc.Options{
		"rate": {Rate: -1}, "burst": {Burst: 3}, "time": {MaxTime: -1}, "message": {MaxMessageBytes: 10}, "calls": {MaxCalls: -1},
		"connection": {MaxCallsPerConnection: 1 << 30},
	} {
		if _, err := spratgrpc.New(nil, o); err == nil {
			t.Errorf("%s: %+v is taken", name, o)
		}
	}
}

func TestReflection(t *testing.T) {
	_, c := serve(t, spratgrpc.Options{})
	stream, err := grpc_reflection_v1.NewServerReflectionClient(c.Conn()).ServerReflectionInfo(t.Context())
	must(t, err)
	must(t, stream.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}))
	answer, err := stream.Recv()
	must(t, err)
	if got := answer.String(); !strings.Contains(got, "sprat.v1.Vectors") || !strings.Contains(got, "grpc.health.v1.Health") {
		t.Errorf("services: %s", got)
	}
	must(t, stream.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "sprat.v1.Vectors"}}))
	if answer, err = stream.Recv(); err != nil || answer.GetFileDescriptorResponse() == nil {
		t.Errorf("the file of a service: %v, %v", answer, err)
	}
	must(t, stream.CloseSend())
	if _, err := stream.Recv(); err == nil {
		t.Error("the stream goes on")
	}
}

// lockedBuffer is a bytes.Buffer for several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
