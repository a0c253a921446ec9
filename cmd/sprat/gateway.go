package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat/server/grpc/certs"
	"github.com/spratdb/sprat/server/grpc/client"
	"github.com/spratdb/sprat/server/s3vectors"
	"github.com/spratdb/sprat/server/s3vectors/remote"
)

type gatewayFlags struct {
	s3        s3vectorsFlags
	engine    string
	token     string
	secure    bool
	tls       certs.Files
	tlsName   string
	logLevel  choiceFlag
	jsonReady bool
}

// gatewayReady is what gateway --json prints when it serves.
type gatewayReady struct {
	S3Vectors string `json:"s3vectors_addr"`
	Engine    string `json:"engine"`
}

func (c *cli) gatewayCommand() *cobra.Command {
	var f gatewayFlags
	cmd := &cobra.Command{
		Use:   "gateway --engine H:P",
		Short: "Serve the S3 Vectors API in front of a remote engine",
		Long: "gateway serves the API of Amazon S3 Vectors and keeps nothing itself: it calls the engine of a `sprat serve` " +
			"over gRPC, with a token of the role admin. Access keys of its clients are its own.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.gateway(ctx, &f) }),
	}
	f.s3.add(cmd)
	f.logLevel = oneOf("info", "debug", "info", "warn", "error")
	fl := cmd.Flags()
	fl.StringVar(&f.engine, "engine", "", "`address` of the engine's gRPC API, like 10.0.0.7:7700")
	fl.StringVar(&f.token, "engine-token", "", "`file` that holds the engine's token (default: SPRAT_ENGINE_TOKEN)")
	fl.BoolVar(&f.secure, "engine-tls", false, "connect to the engine by TLS, with the authorities of the system unless --engine-ca is given")
	fl.StringVar(&f.tls.CA, "engine-ca", "", "PEM `file` of the authorities that the engine's certificate comes from; means TLS")
	fl.StringVar(&f.tls.Cert, "engine-cert", "", "PEM `file` of a certificate to show to the engine; means TLS")
	fl.StringVar(&f.tls.Key, "engine-key", "", "PEM `file` of its key")
	fl.StringVar(&f.tlsName, "engine-tls-name", "", "`name` in the engine's certificate (default: the host of --engine)")
	fl.Var(&f.logLevel, "log-level", "least level of what is logged to standard error")
	fl.BoolVar(&f.jsonReady, "json", false, "print one JSON object when it serves")
	require(cmd, "engine")
	cmd.MarkFlagsRequiredTogether("engine-cert", "engine-key")
	return cmd
}

// gateway serves until ctx ends.
func (c *cli) gateway(ctx context.Context, f *gatewayFlags) (err error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel.value)); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: level}))
	engine, err := f.connect(log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	handler, err := f.s3.handler(remote.New(engine), "", log)
	if err != nil {
		return err
	}
	listener, err := f.s3.listen()
	if err != nil {
		return err
	}
	ready := &gatewayReady{S3Vectors: listener.Addr().String(), Engine: f.engine}
	if err := c.emit(f.jsonReady, ready, func(p *page) { p.line("S3 Vectors on %s, the engine is %s", ready.S3Vectors, ready.Engine) }); err != nil {
		return errors.Join(err, listener.Close())
	}
	return serveHTTP(ctx, s3vectors.NewServer(handler, log), listener)
}

// connect makes the client of the engine, which connects when it is needed.
func (f *gatewayFlags) connect(log *slog.Logger) (*client.Client, error) {
	token := os.Getenv("SPRAT_ENGINE_TOKEN")
	if f.token != "" {
		text, err := os.ReadFile(f.token)
		if err != nil {
			return nil, err
		}
		if token = string(bytes.TrimSpace(text)); token == "" || bytes.ContainsAny(bytes.TrimSpace(text), " \t\r\n") {
			return nil, fmt.Errorf("%s: want one token and nothing else", f.token)
		}
	}
	var secure *tls.Config
	if f.secure || f.tls != (certs.Files{}) {
		var err error
		if secure, err = certs.Client(f.tls, f.tlsName, log); err != nil {
			return nil, err
		}
	}
	return client.New(f.engine, client.Options{Token: token, TLS: secure})
}
