package grpc_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc/codes"

	spratgrpc "github.com/spratdb/sprat/server/grpc"
	"github.com/spratdb/sprat/server/grpc/client"
)

// TestTLS: calls and tokens go over TLS, and not without it.
func TestTLS(t *testing.T) {
	borrowed := httptest.NewTLSServer(nil) // for its certificate and a client that trusts it
	defer borrowed.Close()
	server := start(t, newStore(t), spratgrpc.Options{Tokens: tokenList(t),
		TLS: &tls.Config{Certificates: borrowed.TLS.Certificates, MinVersion: tls.VersionTLS12}})
	pool := x509.NewCertPool()
	pool.AddCert(borrowed.Certificate())
	_, err := server.dial(t, client.Options{Token: readToken, TLS: &tls.Config{RootCAs: pool, ServerName: "example.com", MinVersion: tls.VersionTLS12}}).Stats(t.Context())
	must(t, err)
	_, err = server.dial(t, client.Options{Token: readToken, TLS: &tls.Config{RootCAs: pool, ServerName: "elsewhere.net", MinVersion: tls.VersionTLS12}}).Stats(t.Context())
	wantCode(t, err, codes.Unavailable)
	_, err = server.dial(t, client.Options{Token: readToken}).Stats(t.Context())
	wantCode(t, err, codes.Unavailable)
}
