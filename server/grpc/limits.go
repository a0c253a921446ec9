package grpc

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/wire"
)

// limiters hold the rate of each user. Users are those of the file of tokens, so that
// they are few.
type limiters struct {
	rate  rate.Limit
	burst int
	users sync.Map // *rate.Limiter by name
}

func (l *limiters) init(perSecond float64, burst int) { l.rate, l.burst = rate.Limit(perSecond), burst }

// take counts a call of the user. The interceptor of go-grpc-middleware makes texts of
// errors; here the client learns in details when to come again.
func (l *limiters) take(ctx context.Context) error {
	if l.rate == 0 {
		return nil
	}
	name := userOf(ctx).Name
	limiter, ok := l.users.Load(name)
	if !ok {
		limiter, _ = l.users.LoadOrStore(name, rate.NewLimiter(l.rate, l.burst))
	}
	r := limiter.(*rate.Limiter).Reserve()
	wait := r.Delay()
	if wait == 0 {
		return nil
	}
	r.Cancel()
	st := wire.Status(fmt.Errorf("%w: the limit is %g in a second", wire.ErrBusy, float64(l.rate)), "")
	if with, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}); err == nil {
		st = with
	}
	return st.Err()
}

func (s *Server) limitUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := s.limits.take(ctx); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

func (s *Server) limitStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if info.FullMethod != spratv1.Vectors_PutStream_FullMethodName { // counts its requests
		if err := s.limits.take(stream.Context()); err != nil {
			return err
		}
	}
	return handler(srv, stream)
}

// slowMethods may take longer than Options.MaxTime.
var slowMethods = map[string]bool{
	spratv1.Catalog_DeleteIndex_FullMethodName:      true,
	spratv1.Operations_Stats_FullMethodName:         true,
	spratv1.Operations_Repair_FullMethodName:        true,
	spratv1.Operations_Settle_FullMethodName:        true,
	spratv1.Operations_ListSnapshots_FullMethodName: true,
}

// bound gives a call its longest time. A client's own deadline holds if it is sooner.
func (s *Server) bound(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if slowMethods[info.FullMethod] {
		return handler(ctx, req)
	}
	ctx, cancel := context.WithDeadline(ctx, time.Now().Add(s.o.MaxTime))
	defer cancel()
	return handler(ctx, req)
}
