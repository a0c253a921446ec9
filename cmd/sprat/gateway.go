package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat/server/s3vectors"
	"github.com/spratdb/sprat/server/s3vectors/remote"
)

type gatewayFlags struct {
	s3        s3vectorsFlags
	engine    connectionFlags
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
	fl.StringVar(&f.engine.addr, "engine", "", "`address` of the engine's gRPC API, like 10.0.0.7:7700")
	f.engine.add(cmd, "engine-", "engine", "SPRAT_ENGINE_TOKEN")
	fl.Var(&f.logLevel, "log-level", "least level of what is logged to standard error")
	fl.BoolVar(&f.jsonReady, "json", false, "print one JSON object when it serves")
	require(cmd, "engine")
	return cmd
}

// gateway serves until ctx ends.
func (c *cli) gateway(ctx context.Context, f *gatewayFlags) (err error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel.value)); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: level}))
	engine, err := f.engine.connect(log)
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
	ready := &gatewayReady{S3Vectors: listener.Addr().String(), Engine: f.engine.addr}
	if err := c.emit(f.jsonReady, ready, func(p *page) { p.line("S3 Vectors on %s, the engine is %s", ready.S3Vectors, ready.Engine) }); err != nil {
		return errors.Join(err, listener.Close())
	}
	return serveHTTP(ctx, s3vectors.NewServer(handler, log), listener)
}
