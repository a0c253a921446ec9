package grpc

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
)

// Limits of connections that do nothing, or nothing useful.
const (
	connectTime = 10 * time.Second
	maxHead     = 64 << 10
	pingAfter   = 2 * time.Minute  // of silence, to find clients that are gone
	pingTime    = 20 * time.Second // for the answer
	pingLeast   = 30 * time.Second // between pings of a client
)

// Server serves a store. New makes one.
type Server struct {
	store  *sprat.Store
	o      Options
	server *grpc.Server
	health *health.Server
	limits limiters

	calls    atomic.Int64  // in progress
	draining chan struct{} // closed when Drain begins
	drain    sync.Once
}

// services are those that health tells of, besides "" for the whole.
var services = []*grpc.ServiceDesc{&spratv1.Catalog_ServiceDesc, &spratv1.Vectors_ServiceDesc, &spratv1.Operations_ServiceDesc}

// New returns a server over a store. Errors say which option is wrong.
func New(store *sprat.Store, o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Server{store: store, o: o, health: health.NewServer(), draining: make(chan struct{})}
	s.limits.init(o.Rate, o.Burst)
	chain, err := s.newChain()
	if err != nil {
		return nil, err
	}
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(o.MaxMessageBytes), grpc.MaxSendMsgSize(o.MaxMessageBytes),
		grpc.MaxConcurrentStreams(uint32(o.MaxCallsPerConnection)), grpc.MaxHeaderListSize(maxHead),
		grpc.ConnectionTimeout(connectTime), grpc.WaitForHandlers(true),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTime}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingLeast, PermitWithoutStream: true}),
		grpc.InTapHandle(s.admit), grpc.ForceServerCodecV2(newCodec()),
		grpc.ChainUnaryInterceptor(chain.unary...), grpc.ChainStreamInterceptor(chain.stream...),
	}
	if o.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(o.TLS)))
	}
	s.server = grpc.NewServer(options...)
	s.register()
	if chain.metrics != nil {
		chain.metrics.InitializeMetrics(s.server)
	}
	return s, nil
}

func (s *Server) register() {
	implementations := []any{&catalogService{s: s}, &vectorsService{s: s}, &operationsService{s: s}}
	for i, desc := range services {
		s.server.RegisterService(decodeInside(desc), implementations[i])
		s.health.SetServingStatus(desc.ServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	grpc_health_v1.RegisterHealthServer(s.server, s.health)
	reflection.Register(s.server)
}

// Serve accepts connections until Drain; then it returns nil. It closes the listener.
// It may be called for several listeners.
func (s *Server) Serve(listener net.Listener) error {
	err := s.server.Serve(listener)
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// Drain ends the server: health becomes NOT_SERVING, no call is accepted any more, and
// those in progress finish, except streams that only wait. When ctx ends first, those
// that are left are cancelled, and its error is returned. No call is in progress
// afterwards.
func (s *Server) Drain(ctx context.Context) error {
	s.drain.Do(func() {
		s.health.Shutdown()
		close(s.draining)
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.server.GracefulStop()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.server.Stop() // waits for the handlers, whose contexts are cancelled
	<-done
	return ctx.Err()
}
