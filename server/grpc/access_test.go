package grpc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	spratgrpc "github.com/spratdb/sprat/server/grpc"
	"github.com/spratdb/sprat/server/grpc/client"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/tokens"
)

const (
	readToken  = "read-token-0123456789"
	writeToken = "write-token-0123456789"
	adminToken = "admin-token-0123456789"
)

func tokenList(t testing.TB) *tokens.List {
	t.Helper()
	list, err := tokens.Parse(fmt.Appendf(nil, "read app %s\nwrite load %s\nadmin ops %s\n", readToken, writeToken, adminToken))
	must(t, err)
	return list
}

// TestRoles: every method of the API has exactly the role that it should have.
func TestRoles(t *testing.T) {
	store := newStore(t)
	server := start(t, store, spratgrpc.Options{Tokens: tokenList(t)})
	least := map[string]string{ // what is not here needs admin
		"GetBucket": "read", "ListBuckets": "read", "GetIndex": "read", "ListIndexes": "read", "GetAttributes": "read",
		"Get": "read", "List": "read", "Query": "read", "QueryBatch": "read", "ResolveDials": "read", "Stats": "read", "ListSnapshots": "read",
		"Put": "write", "PutStream": "write", "Delete": "write", "Settle": "write",
	}
	grants := map[string]map[string]bool{
		"": {}, "unknown-token-0123456789": {},
		readToken: {"read": true}, writeToken: {"read": true, "write": true}, adminToken: {"read": true, "write": true, "admin": true},
	}
	methods := 0
	for token, granted := range grants {
		c := server.dial(t, client.Options{Token: token})
		for _, desc := range []*grpc.ServiceDesc{&spratv1.Catalog_ServiceDesc, &spratv1.Vectors_ServiceDesc, &spratv1.Operations_ServiceDesc} {
			var names []string
			for _, m := range desc.Methods {
				names = append(names, m.MethodName)
			}
			for _, m := range desc.Streams {
				names = append(names, m.StreamName)
			}
			for _, name := range names {
				methods++
				need := least[name]
				if need == "" {
					need = "admin"
				}
				want := map[bool]codes.Code{true: codes.Unauthenticated, false: codes.PermissionDenied}[len(granted) == 0]
				// An empty request is refused for its names by every method that may be called,
				// or is none of the errors of access.
				got := status.Code(call(t, c, "/"+desc.ServiceName+"/"+name))
				refused := got == codes.Unauthenticated || got == codes.PermissionDenied
				if granted[need] == refused || refused && got != want {
					t.Errorf("%s with %q: %v", name, token, got)
				}
			}
		}
	}
	if methods != 5*28 {
		t.Errorf("%d methods were tried", methods)
	}
}

// call calls a method with an empty message, as a stream, which all methods are on the
// wire.
func call(t *testing.T, c *client.Client, method string) error {
	t.Helper()
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	stream, err := c.Conn().NewStream(t.Context(), desc, method, grpc.ForceCodecV2(rawCodec{}))
	if err != nil {
		return err
	}
	if err := stream.SendMsg(&[]byte{}); err == nil {
		must(t, stream.CloseSend())
	}
	for {
		var answer []byte
		if err := stream.RecvMsg(&answer); err != nil {
			if err.Error() == "EOF" {
				return nil
			}
			return err
		}
	}
}

func TestTokenHeaders(t *testing.T) {
	server := start(t, newStore(t), spratgrpc.Options{Tokens: tokenList(t)})
	c := server.dial(t, client.Options{})
	for header, want := range map[string]codes.Code{
		"Bearer " + readToken: codes.OK, "bearer " + readToken: codes.OK, "BEARER  " + readToken: codes.OK,
		readToken: codes.Unauthenticated, "Basic " + readToken: codes.Unauthenticated, "Bearer": codes.Unauthenticated,
		"Bearer " + readToken[:20]: codes.Unauthenticated, "Bearer " + readToken + "x": codes.Unauthenticated,
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", header)
		_, err := spratv1.NewOperationsClient(c.Conn()).Stats(ctx, &spratv1.StatsRequest{})
		wantCode(t, err, want)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+readToken, "authorization", "Bearer "+adminToken)
	_, err := spratv1.NewOperationsClient(c.Conn()).Stats(ctx, &spratv1.StatsRequest{})
	wantIsCode(t, err)
	health, err := grpc_health_v1.NewHealthClient(c.Conn()).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health without a token: %v, %v", health, err)
	}
}

func wantIsCode(t *testing.T, err error) {
	t.Helper()
	wantCode(t, err, codes.Unauthenticated)
	if strings.Contains(err.Error(), "token-0123") {
		t.Errorf("the token is in the error: %v", err)
	}
}

// TestReload: a change of the file is in force for calls on open connections.
func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	write := func(text string) { must(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("read app " + readToken + "\n")
	synctest.Test(t, func(t *testing.T) {
		file, err := tokens.Open(path, nil)
		must(t, err)
		server := start(t, nil, spratgrpc.Options{Tokens: file})
		c := server.dial(t, client.Options{Token: readToken})
		other := server.dial(t, client.Options{Token: writeToken})
		drop := func(c *client.Client) error { return c.DeleteBucket(t.Context(), "b") } // needs admin
		wantIs(t, drop(c), client.ErrForbidden)
		wantIs(t, drop(other), client.ErrUnauthenticated)
		write("# another user altogether\nwrite load " + writeToken + "\n")
		<-time.After(2 * time.Second) // of the bubble
		wantIs(t, drop(c), client.ErrUnauthenticated)
		wantIs(t, drop(other), client.ErrForbidden)
		write("nonsense\n")
		<-time.After(2 * time.Second)
		wantIs(t, drop(other), client.ErrForbidden)
		must(t, os.Remove(path))
		<-time.After(2 * time.Second)
		wantIs(t, drop(other), client.ErrForbidden)
		_ = c.Close()
		_ = other.Close()
	})
}
