package grpc_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/spratdb/sprat"
	spratgrpc "github.com/spratdb/sprat/server/grpc"
	"github.com/spratdb/sprat/server/grpc/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newStore(t testing.TB) *sprat.Store {
	t.Helper()
	store, err := sprat.Open(t.TempDir(), sprat.Options{MemoryLimit: 256 << 20, IOEngine: "pread", CacheBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // a test may have closed it already
	return store
}

// service is a server in this process and the way to it.
type service struct {
	*spratgrpc.Server
	listener *bufconn.Listener
}

func start(t testing.TB, store *sprat.Store, o spratgrpc.Options) *service {
	t.Helper()
	server, err := spratgrpc.New(store, o)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{server, bufconn.Listen(1 << 20)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(s.listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // whatever a test has left running
		_ = server.Drain(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s
}

// dial returns a client of the service.
func (s *service) dial(t testing.TB, o client.Options) *client.Client {
	t.Helper()
	o.Dial = append(o.Dial, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return s.listener.DialContext(ctx)
	}))
	c, err := client.New("passthrough:///in-memory", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// serve is start and dial with a store of its own.
func serve(t testing.TB, o spratgrpc.Options) (*sprat.Store, *client.Client) {
	t.Helper()
	store := newStore(t)
	return store, start(t, store, o).dial(t, client.Options{})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantIs(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got %v, want %v", err, target)
	}
}

func wantCode(t testing.TB, err error, code codes.Code) {
	t.Helper()
	if status.Code(err) != code {
		t.Fatalf("got %v (%v), want %v", status.Code(err), err, code)
	}
}

// makeIndex makes the index b/i of three dimensions.
func makeIndex(t testing.TB, store *sprat.Store, metric sprat.Metric) *sprat.Index {
	t.Helper()
	ix, err := store.CreateIndex(t.Context(), "b", "i", sprat.IndexConfig{Dimension: 3, Metric: metric, NonFilterable: []string{"text"}})
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// gate is a target of snapshots whose List waits until it is opened, says when it
// waits, and panics when it is told to.
type gate struct {
	waiting chan struct{} // gets one value for each List
	open    chan struct{}
	panics  bool
	once    sync.Once
}

func newGate() *gate { return &gate{waiting: make(chan struct{}, 16), open: make(chan struct{})} }

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

func (g *gate) List(ctx context.Context, _ string) ([]string, error) {
	if g.panics {
		panic("the target is broken: secret-of-the-server")
	}
	g.waiting <- struct{}{}
	select {
	case <-g.open:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *gate) Put(context.Context, string, []byte) error   { return errors.ErrUnsupported }
func (g *gate) Get(context.Context, string) ([]byte, error) { return nil, errors.ErrUnsupported }
func (g *gate) Has(context.Context, string) (bool, error)   { return false, errors.ErrUnsupported }
func (g *gate) Delete(context.Context, string) error        { return errors.ErrUnsupported }
func (g *gate) String() string                              { return "gate" }
