package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"

	"github.com/spratdb/sprat/server/grpc/reload"
)

// Files are PEM files. Cert and Key come together.
type Files struct {
	Cert, Key string // of this side; "" for none, which only a client may have
	// CA holds the authorities that the other side's certificate must come from. For a
	// server, "" asks clients for no certificate; for a client, "" is those of the system.
	CA string
}

// pair is what files hold.
type pair struct {
	own  []tls.Certificate
	them *x509.CertPool // nil without a CA
}

func (f Files) open(log *slog.Logger) (*reload.Value[*pair], error) {
	var paths []string
	for _, path := range []string{f.Cert, f.Key, f.CA} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return reload.New(log, f.load, paths...)
}

func (f Files) load() (*pair, error) {
	p := new(pair)
	if f.Cert != "" || f.Key != "" {
		own, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
		}
		p.own = []tls.Certificate{own}
	}
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, err
		}
		p.them = x509.NewCertPool()
		if !p.them.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: it holds no certificate", f.CA)
		}
	}
	return p, nil
}

// Server is the configuration of a server. log may be nil. Errors: files that cannot
// be used.
func Server(f Files, log *slog.Logger) (*tls.Config, error) {
	files, err := f.open(log)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			p := files.Get()
			c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, Certificates: p.own}
			if p.them != nil {
				c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, p.them
			}
			return c, nil
		},
	}, nil
}

// Client is the configuration of a client; name is that of the server's certificate, ""
// for the host that is dialled. A change of the CA needs a new configuration. log may
// be nil. Errors: files that cannot be used.
func Client(f Files, name string, log *slog.Logger) (*tls.Config, error) {
	files, err := f.open(log)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name, RootCAs: files.Get().them}
	if f.Cert != "" {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &files.Get().own[0], nil }
	}
	return c, nil
}
