package grpc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/auth"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/logging"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/wire"
)

// chain is what calls pass, outermost first.
type chain struct {
	unary   []grpc.UnaryServerInterceptor
	stream  []grpc.StreamServerInterceptor
	metrics *grpcprom.ServerMetrics // nil without a registry
}

// latencyBuckets are seconds: queries take a fraction of a millisecond to tens of them.
var latencyBuckets = []float64{.00025, .0005, .001, .002, .004, .008, .016, .032, .064, .128, .256, .512, 1, 4, 16, 60}

func (s *Server) newChain() (*chain, error) {
	c := new(chain)
	add := func(u grpc.UnaryServerInterceptor, st grpc.StreamServerInterceptor) {
		if u != nil {
			c.unary = append(c.unary, u)
		}
		c.stream = append(c.stream, st)
	}
	if s.o.Registry != nil {
		c.metrics = grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram(grpcprom.WithHistogramBuckets(latencyBuckets)))
		if err := s.o.Registry.Register(c.metrics); err != nil {
			return nil, fmt.Errorf("grpc: register metrics: %w", err)
		}
		add(c.metrics.UnaryServerInterceptor(), c.metrics.StreamServerInterceptor())
	}
	log := logging.LoggerFunc(func(ctx context.Context, level logging.Level, text string, fields ...any) {
		s.o.Logger.Log(ctx, slog.Level(level), text, fields...)
	})
	logs := []logging.Option{logging.WithLogOnEvents(logging.FinishCall), logging.WithLevels(levelOf),
		logging.WithDisableLoggingFields(logging.SystemTag[0], logging.ComponentFieldKey)}
	add(logging.UnaryServerInterceptor(log, logs...), logging.StreamServerInterceptor(log, logs...))
	caught := recovery.WithRecoveryHandlerContext(s.caught)
	add(recovery.UnaryServerInterceptor(caught), recovery.StreamServerInterceptor(caught))
	add(statusUnary, statusStream)
	add(auth.UnaryServerInterceptor(s.authorize), auth.StreamServerInterceptor(s.authorize))
	add(s.limitUnary, s.limitStream)
	add(s.bound, s.endWaiting)
	return c, nil
}

// levelOf is the level at which a call is logged.
func levelOf(code codes.Code) logging.Level {
	switch code {
	case codes.OK:
		return logging.LevelDebug
	case codes.Internal, codes.DataLoss, codes.Unknown, codes.Unimplemented:
		return logging.LevelError
	case codes.ResourceExhausted, codes.Unavailable, codes.DeadlineExceeded:
		return logging.LevelWarn
	}
	return logging.LevelInfo
}

// caught makes a status of a panic. The client learns nothing of it.
func (s *Server) caught(ctx context.Context, p any) error {
	s.o.Logger.ErrorContext(ctx, "panic in a call", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return status.Error(codes.Internal, "internal error")
}

// rowsOf names what the rows of an error of a method are.
func rowsOf(method string) string {
	switch method {
	case spratv1.Vectors_QueryBatch_FullMethodName:
		return "queries"
	case spratv1.Vectors_Get_FullMethodName, spratv1.Vectors_Delete_FullMethodName:
		return wire.Keys
	}
	return "vectors"
}

// statusUnary makes statuses of errors.
func statusUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	answer, err := handler(ctx, req)
	if err != nil {
		return nil, wire.Status(err, rowsOf(info.FullMethod)).Err()
	}
	return answer, nil
}

func statusStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return wire.Status(handler(srv, strictStream{stream}), rowsOf(info.FullMethod)).Err()
}

// endWaiting ends streams of other services, which only watch and ask, when the server
// drains: they would last until their clients go.
func (s *Server) endWaiting(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if strings.HasPrefix(info.FullMethod, "/sprat.v1.") {
		return handler(srv, stream)
	}
	done := make(chan error, 1)
	go func() { done <- s.guarded(srv, stream, handler) }()
	select {
	case err := <-done:
		return err
	case <-s.draining:
		return status.Error(codes.Unavailable, "the server is stopping")
	}
}

// guarded is a handler on a goroutine of its own, where no interceptor catches panics.
func (s *Server) guarded(srv any, stream grpc.ServerStream, handler grpc.StreamHandler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.caught(stream.Context(), p)
		}
	}()
	return handler(srv, stream)
}
