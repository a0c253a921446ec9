package grpc

import (
	"context"
	"fmt"
	"strings"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/logging"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/tap"

	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/tokens"
	"github.com/spratdb/sprat/server/grpc/wire"
)

// methodRoles is the least role for each method. What is not in it needs admin, but
// for openPrefix.
var methodRoles = map[string]tokens.Role{
	spratv1.Catalog_GetBucket_FullMethodName:     tokens.Read,
	spratv1.Catalog_ListBuckets_FullMethodName:   tokens.Read,
	spratv1.Catalog_GetIndex_FullMethodName:      tokens.Read,
	spratv1.Catalog_ListIndexes_FullMethodName:   tokens.Read,
	spratv1.Catalog_GetAttributes_FullMethodName: tokens.Read,

	spratv1.Vectors_Get_FullMethodName:          tokens.Read,
	spratv1.Vectors_List_FullMethodName:         tokens.Read,
	spratv1.Vectors_Query_FullMethodName:        tokens.Read,
	spratv1.Vectors_QueryBatch_FullMethodName:   tokens.Read,
	spratv1.Vectors_ResolveDials_FullMethodName: tokens.Read,
	spratv1.Vectors_Put_FullMethodName:          tokens.Write,
	spratv1.Vectors_PutStream_FullMethodName:    tokens.Write,
	spratv1.Vectors_Delete_FullMethodName:       tokens.Write,

	spratv1.Operations_Stats_FullMethodName:         tokens.Read,
	spratv1.Operations_ListSnapshots_FullMethodName: tokens.Read,
	spratv1.Operations_Settle_FullMethodName:        tokens.Write, // of what was put

	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      tokens.Read,
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": tokens.Read,
}

// openPrefix is of the methods for everyone: a load balancer has no token.
const openPrefix = "/grpc.health.v1.Health/"

func roleFor(method string) tokens.Role {
	if strings.HasPrefix(method, openPrefix) {
		return tokens.None
	}
	if role, ok := methodRoles[method]; ok {
		return role
	}
	return tokens.Admin
}

type userKey struct{}

// userOf is who calls, as authorize found it.
func userOf(ctx context.Context) tokens.User {
	user, _ := ctx.Value(userKey{}).(tokens.User) // nobody, where authorize was not
	return user
}

// identify finds the user of the metadata of a call.
func (s *Server) identify(md metadata.MD) (tokens.User, error) {
	if s.o.Tokens == nil {
		return tokens.User{Role: tokens.Admin}, nil
	}
	values := md.Get("authorization")
	if len(values) != 1 {
		return tokens.User{}, fmt.Errorf("%w: want one header authorization: Bearer TOKEN", wire.ErrUnauthenticated)
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return tokens.User{}, fmt.Errorf("%w: want the scheme Bearer", wire.ErrUnauthenticated)
	}
	user, ok := s.o.Tokens.Find(strings.TrimSpace(token))
	if !ok {
		return tokens.User{}, fmt.Errorf("%w: the token is not known", wire.ErrUnauthenticated)
	}
	return user, nil
}

// authorize refuses who may not call a method, and makes the rest known to userOf.
func (s *Server) authorize(ctx context.Context) (context.Context, error) {
	method, _ := grpc.Method(ctx) // "" needs admin
	need := roleFor(method)
	if need == tokens.None {
		return ctx, nil
	}
	md, _ := metadata.FromIncomingContext(ctx) // none has no token
	user, err := s.identify(md)
	if err != nil {
		return nil, wire.Status(err, "").Err()
	}
	if user.Role < need {
		err := fmt.Errorf("%w: %s needs the role %v, %s has %v", wire.ErrForbidden, method, need, user.Name, user.Role)
		return nil, wire.Status(err, "").Err()
	}
	logging.AddFields(ctx, logging.Fields{"user", user.Name})
	return context.WithValue(ctx, userKey{}, user), nil
}

// admit refuses a call before its message is read: for want of a token, so that
// strangers take no memory, and for the number of calls in progress. It must not block.
func (s *Server) admit(ctx context.Context, info *tap.Info) (context.Context, error) {
	if roleFor(info.FullMethodName) == tokens.None {
		return ctx, nil
	}
	if _, err := s.identify(info.Header); err != nil {
		s.o.Logger.DebugContext(ctx, "refused", "method", info.FullMethodName, "err", err)
		return nil, wire.Status(err, "").Err()
	}
	if s.calls.Add(1) > int64(s.o.MaxCalls) {
		s.calls.Add(-1)
		return nil, wire.Status(fmt.Errorf("%w: %d are in progress", wire.ErrBusy, s.o.MaxCalls), "").Err()
	}
	context.AfterFunc(ctx, func() { s.calls.Add(-1) }) // it ends with the call
	return ctx, nil
}
