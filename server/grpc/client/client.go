package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/wire"
)

// What a server answers besides the errors of package sprat.
var (
	// ErrUnauthenticated says that the token is missing or not known.
	ErrUnauthenticated = wire.ErrUnauthenticated
	// ErrForbidden says that the token's role does not allow the call.
	ErrForbidden = wire.ErrForbidden
	// ErrBusy says that the server takes no more calls at the moment.
	ErrBusy = wire.ErrBusy
	// ErrNoSnapshots says that the server has no target for snapshots.
	ErrNoSnapshots = wire.ErrNoSnapshots
)

// Options say how to connect. The zero value of a field means its default.
type Options struct {
	// Token is sent with every call. Without TLS anyone on the way can read it.
	Token string
	// TLS secures the connection; see server/grpc/certs. Default: none.
	TLS *tls.Config
	// MaxMessageBytes bounds answers. Default 64 MiB.
	MaxMessageBytes int
	// Dial are more options of gRPC.
	Dial []grpc.DialOption
}

const (
	defaultMessage = 64 << 20
	pingAfter      = time.Minute
	pingTime       = 20 * time.Second
)

// Client calls a server. New makes one.
type Client struct {
	conn       *grpc.ClientConn
	catalog    spratv1.CatalogClient
	vectors    spratv1.VectorsClient
	operations spratv1.OperationsClient
}

// New returns a client of the server at a target, like "127.0.0.1:7700". It does not
// connect yet. Close it.
func New(target string, o Options) (*Client, error) {
	if o.MaxMessageBytes == 0 {
		o.MaxMessageBytes = defaultMessage
	}
	secure := insecure.NewCredentials()
	if o.TLS != nil {
		secure = credentials.NewTLS(o.TLS)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(secure),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(o.MaxMessageBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: pingTime}),
	}
	if o.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer{o.Token, o.TLS != nil}))
	}
	conn, err := grpc.NewClient(target, append(options, o.Dial...)...)
	if err != nil {
		return nil, err
	}
	return &Client{conn, spratv1.NewCatalogClient(conn), spratv1.NewVectorsClient(conn), spratv1.NewOperationsClient(conn)}, nil
}

// Close ends the connection and the calls in progress.
func (c *Client) Close() error { return c.conn.Close() }

// Conn is the connection, for other services of the server such as health.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// bearer is a token. Its String does not show it.
type bearer struct {
	token  string
	secure bool
}

func (b bearer) String() string { return "bearer token" }

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

func (b bearer) RequireTransportSecurity() bool { return b.secure }

// checkTexts refuses what gRPC cannot carry, as the library would.
func checkTexts(field string, texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return &sprat.InputError{Field: field, Want: "valid UTF-8", Got: fmt.Sprintf("%q", text)}
		}
	}
	return nil
}

// checkNames is checkTexts for an index.
func checkNames(bucket, index string) error {
	if err := checkTexts("bucket", bucket); err != nil {
		return err
	}
	return checkTexts("index", index)
}
