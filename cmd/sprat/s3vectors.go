package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"

	"github.com/spratdb/sprat/server/s3vectors"
	"github.com/spratdb/sprat/server/s3vectors/accesskeys"
)

const (
	// generatedKeys is the file in a data directory that holds the access key that is
	// made when none is given.
	generatedKeys = "s3vectors-credentials"
	// maxConnections bounds what clients that only connect can take; others wait.
	maxConnections = 4096
	// drainTime is how long requests in progress may take when the program ends.
	drainTime = 30 * time.Second
)

// s3vectorsFlags are the flags of commands that serve the S3 Vectors API.
type s3vectorsFlags struct {
	addr, credentials   string
	anonymous           choiceFlag
	region, account     string
	basePath            string
	strictFilter        bool
	plainEuclidean      bool
	acceptKMS           bool
	certificate, tlsKey string
	observe             func(s3vectors.Observation) // no flag: of the command, or nil
}

func (f *s3vectorsFlags) add(cmd *cobra.Command) {
	f.anonymous = oneOf("", "admin", "write", "read", "none")
	fl := cmd.Flags()
	fl.StringVar(&f.addr, "s3vectors-addr", "127.0.0.1:7701", "`address` on which the S3 Vectors API is served")
	fl.StringVar(&f.credentials, "credentials", "", "`file` of access keys in the form of an AWS credentials file, reloaded when it changes "+
		"(default: SPRAT_ACCESS_KEY_ID and SPRAT_SECRET_ACCESS_KEY)")
	fl.Var(&f.anonymous, "anonymous", "what requests without a signature may do (default: they are refused)")
	fl.StringVar(&f.region, "region", "us-east-1", "AWS Region in ARNs; clients may sign for any")
	fl.StringVar(&f.account, "account", "000000000000", "account `id` of 12 digits in ARNs")
	fl.StringVar(&f.basePath, "s3vectors-base-path", "", "`path` before that of every operation, like /vectors")
	fl.BoolVar(&f.strictFilter, "strict-filter", false, "refuse the filters that AWS refuses: those of several fields, and empty ones")
	fl.BoolVar(&f.plainEuclidean, "plain-euclidean", false, "answer euclidean distances in place of their squares")
	fl.BoolVar(&f.acceptKMS, "accept-kms", false, "accept and show encryption by aws:kms, though nothing is encrypted here")
	fl.StringVar(&f.certificate, "s3vectors-tls-cert", "", "PEM `file` of the certificate for HTTPS")
	fl.StringVar(&f.tlsKey, "s3vectors-tls-key", "", "PEM `file` of its key")
	cmd.MarkFlagsRequiredTogether("s3vectors-tls-cert", "s3vectors-tls-key")
}

// handler makes the handler over an engine. data is the folder of the store, in which
// an access key is made when there is none; "" makes none.
func (f *s3vectorsFlags) handler(engine s3vectors.Engine, data string, log *slog.Logger) (*s3vectors.Handler, error) {
	keys, err := f.keys(data, log)
	if err != nil {
		return nil, err
	}
	h, err := s3vectors.New(engine, s3vectors.Options{
		Keys: keys, Anonymous: accesskeys.Role(f.anonymous.value), Region: f.region, Account: f.account, BasePath: f.basePath,
		StrictFilter: f.strictFilter, PlainEuclidean: f.plainEuclidean, AcceptKMS: f.acceptKMS, Logger: log,
		Observe: f.observe,
	})
	if err != nil {
		return nil, badUsage("%v", err)
	}
	return h, nil
}

// keys finds the access keys: in the file that was named, in the environment, or in the
// data folder.
func (f *s3vectorsFlags) keys(data string, log *slog.Logger) (s3vectors.Keys, error) {
	id, secret := os.Getenv("SPRAT_ACCESS_KEY_ID"), os.Getenv("SPRAT_SECRET_ACCESS_KEY")
	switch {
	case f.credentials != "":
		return accesskeys.Open(f.credentials, log)
	case (id == "") != (secret == ""):
		return nil, badUsage("SPRAT_ACCESS_KEY_ID and SPRAT_SECRET_ACCESS_KEY: set both or neither")
	case id != "":
		return accesskeys.Static{id: {User: "admin", ID: id, Secret: secret, Role: accesskeys.Admin}}, nil
	case f.anonymous.value != "":
		return accesskeys.Static{}, nil
	case data == "":
		return nil, badUsage("give --credentials, or SPRAT_ACCESS_KEY_ID and SPRAT_SECRET_ACCESS_KEY, or --anonymous")
	}
	path := filepath.Join(data, generatedKeys)
	made, err := accesskeys.Generate(path)
	if err != nil {
		return nil, fmt.Errorf("make an access key: %w", err)
	}
	if made {
		log.Warn("made an access key for the S3 Vectors API, as none was given", "file", path)
	}
	return accesskeys.Open(path, log)
}

// listen opens the port.
func (f *s3vectorsFlags) listen() (net.Listener, error) {
	listener, err := net.Listen("tcp", f.addr)
	if err != nil {
		return nil, err
	}
	listener = netutil.LimitListener(listener, maxConnections)
	if f.certificate == "" {
		return listener, nil
	}
	pair, err := tls.LoadX509KeyPair(f.certificate, f.tlsKey)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}), nil
}

// serveHTTP serves until ctx ends, then lets requests in progress finish.
func serveHTTP(ctx context.Context, server *http.Server, listener net.Listener) error {
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
