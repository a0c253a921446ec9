package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/grpc"
	"github.com/spratdb/sprat/server/grpc/certs"
	"github.com/spratdb/sprat/server/grpc/tokens"
	"github.com/spratdb/sprat/server/ops"
	"github.com/spratdb/sprat/server/s3vectors"
)

type serveFlags struct {
	store             storeFlags
	s3                s3vectorsFlags
	grpcAddr, opsAddr string
	tokens            string
	tls               certs.Files
	rate              float64
	burst             countFlag
	maxCalls          countFlag
	maxMessage        sizeFlag
	maxTime, drain    spanFlag
	snapshots         string
	json              bool
}

// serveReady is what serve --json prints when it serves. An address is "" where
// nothing listens.
type serveReady struct {
	Data      string `json:"data"`
	GRPC      string `json:"grpc_addr"`
	S3Vectors string `json:"s3vectors_addr"`
	Ops       string `json:"ops_addr"`
}

func (c *cli) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve --data DIR",
		Short: "Serve a store over gRPC and the S3 Vectors API",
		Long: "serve opens a store, or makes an empty one, and serves it: gRPC, the API of Amazon S3 Vectors, and health and " +
			"metrics for operators. An address of \"\" is off, port 0 is any that is free. SIGTERM and SIGINT end it: calls in " +
			"progress finish first, within --drain. Without --tokens everyone who reaches the gRPC address may do everything.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.serve(ctx, &f) }),
	}
	f.store.addData(cmd)
	f.store.logLevel.value = "info" // who serves wants to see what goes wrong
	fl := cmd.Flags()
	fl.Lookup("log-level").DefValue = "info"
	fl.Lookup("data").Usage = "`folder` of the store; it is made when it is missing or empty"
	f.s3.add(cmd)
	f.drain = spanFlag(drainTime)
	fl.StringVar(&f.grpcAddr, "grpc-addr", "127.0.0.1:7700", "`address` on which the gRPC API is served")
	fl.StringVar(&f.opsAddr, "ops-addr", "127.0.0.1:7702", "`address` of /healthz, /readyz and /metrics")
	fl.StringVar(&f.tokens, "tokens", "", "`file` of lines \"role name token\" for gRPC, with the roles read, write and admin; reloaded when it changes")
	fl.StringVar(&f.tls.Cert, "tls-cert", "", "PEM `file` of the certificate for gRPC by TLS; reloaded when it changes")
	fl.StringVar(&f.tls.Key, "tls-key", "", "PEM `file` of its key")
	fl.StringVar(&f.tls.CA, "tls-client-ca", "", "PEM `file` of the authorities that certificates of gRPC clients must come from (mTLS)")
	fl.Float64Var(&f.rate, "rate-limit", 0, "gRPC calls of a user in a `second`, 0 for any number")
	fl.Var(&f.burst, "rate-burst", "gRPC calls of a user at once (default: as --rate-limit)")
	fl.Var(&f.maxCalls, "max-calls", "gRPC calls in progress at one time (default 1024)")
	fl.Var(&f.maxMessage, "max-message", "size of the largest gRPC message (default 32MiB)")
	fl.Var(&f.maxTime, "max-time", "how long a gRPC call of the data path may take (default 1m)")
	fl.Var(&f.drain, "drain", "how long calls in progress may take when the server ends")
	fl.StringVar(&f.snapshots, "snapshots", "", "where snapshots that gRPC clients ask for go: "+targetHelp)
	fl.BoolVar(&f.json, "json", false, "print one JSON object when it serves")
	cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	return cmd
}

// serve serves until ctx ends.
func (c *cli) serve(ctx context.Context, f *serveFlags) (err error) {
	if f.tls.CA != "" && f.tls.Cert == "" {
		return badUsage("--tls-client-ca goes with --tls-cert and --tls-key")
	}
	if f.grpcAddr == "" && f.s3.addr == "" && f.opsAddr == "" {
		return badUsage("--grpc-addr, --s3vectors-addr, --ops-addr: nothing is to be served")
	}
	store, closeStore, err := c.open(&f.store, f.store.data, false)
	if err != nil {
		return err
	}
	defer closeStore(&err)
	run := &serving{
		store: store, log: f.store.options(c.stderr).Logger, drain: time.Duration(f.drain), registry: prometheus.NewRegistry(),
	}
	defer func() { err = errors.Join(err, run.closeListeners()) }()
	if err := run.setUp(ctx, f); err != nil {
		return err
	}
	ready := &run.ready
	err = c.emit(f.json, ready, func(p *page) {
		p.line("serving %s: gRPC on %s, S3 Vectors on %s, health and metrics on %s", ready.Data, orOff(ready.GRPC), orOff(ready.S3Vectors), orOff(ready.Ops))
	})
	if err != nil {
		return err
	}
	run.log.InfoContext(ctx, "serving", "data", ready.Data, "grpc", ready.GRPC, "s3vectors", ready.S3Vectors, "ops", ready.Ops)
	return run.serve(ctx)
}

func orOff(address string) string {
	if address == "" {
		return "none"
	}
	return address
}

// serving is the servers of one store.
type serving struct {
	store    *sprat.Store
	log      *slog.Logger
	drain    time.Duration
	registry *prometheus.Registry
	ready    serveReady
	stopping atomic.Bool
	doors    []door
	ops      *door // ends after the others, as it tells how they end
}

// door is one server: serve lasts until drain.
type door struct {
	listener net.Listener
	serve    func(net.Listener) error
	drain    func(context.Context) error
}

func (r *serving) setUp(ctx context.Context, f *serveFlags) error {
	err := r.registry.Register(ops.NewCollector(r.store.Stats))
	err = errors.Join(err, r.registry.Register(collectors.NewGoCollector()))
	err = errors.Join(err, r.registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	if err != nil {
		return err
	}
	r.ready.Data = f.store.data
	if f.grpcAddr != "" {
		if err := r.addGRPC(ctx, f); err != nil {
			return err
		}
	}
	if f.s3.addr != "" {
		if err := r.addS3Vectors(f); err != nil {
			return err
		}
	}
	if f.opsAddr == "" {
		return nil
	}
	handler, err := ops.New(ops.Options{Registry: r.registry, Logger: r.log, Ready: func() error {
		if r.stopping.Load() {
			return errors.New("stopping")
		}
		return nil
	}})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.opsAddr)
	if err != nil {
		return err
	}
	r.ready.Ops = listener.Addr().String()
	r.ops = httpDoor(ops.NewServer(handler, r.log), netutil.LimitListener(listener, maxConnections))
	return nil
}

func (r *serving) addGRPC(ctx context.Context, f *serveFlags) error {
	o := grpc.Options{
		Rate: f.rate, Burst: int(f.burst), MaxCalls: int(f.maxCalls), MaxMessageBytes: int(f.maxMessage),
		MaxTime: time.Duration(f.maxTime), Logger: r.log, Registry: r.registry,
	}
	var err error
	if f.tokens != "" {
		if o.Tokens, err = openTokens(f.tokens, r.log); err != nil {
			return err
		}
	}
	if f.tls.Cert != "" {
		if o.TLS, err = certs.Server(f.tls, r.log); err != nil {
			return err
		}
	}
	if f.snapshots != "" {
		if o.Snapshots, err = openTarget(ctx, "snapshots", f.snapshots, true); err != nil {
			return err
		}
	}
	server, err := grpc.New(r.store, o)
	if err != nil {
		return badUsage("%v", err)
	}
	listener, err := net.Listen("tcp", f.grpcAddr)
	if err != nil {
		return err
	}
	r.ready.GRPC = listener.Addr().String()
	if tcp, ok := listener.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() && f.tokens == "" && f.tls.CA == "" {
		r.log.WarnContext(ctx, "the gRPC API is open to everyone who reaches it: give --tokens or --tls-client-ca", "addr", r.ready.GRPC)
	}
	r.doors = append(r.doors, door{netutil.LimitListener(listener, maxConnections), server.Serve, server.Drain})
	return nil
}

// openTokens avoids an interface that holds a nil pointer.
func openTokens(path string, log *slog.Logger) (grpc.Tokens, error) {
	file, err := tokens.Open(path, log)
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (r *serving) addS3Vectors(f *serveFlags) error {
	seen := newS3Metrics()
	if err := r.registry.Register(seen); err != nil {
		return err
	}
	f.s3.observe = seen.observe
	handler, err := f.s3.handler(s3vectors.Local(r.store), f.store.data, r.log)
	if err != nil {
		return err
	}
	listener, err := f.s3.listen()
	if err != nil {
		return err
	}
	r.ready.S3Vectors = listener.Addr().String()
	r.doors = append(r.doors, *httpDoor(s3vectors.NewServer(handler, r.log), listener))
	return nil
}

func httpDoor(server *http.Server, listener net.Listener) *door {
	return &door{listener, func(l net.Listener) error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		if err != nil {
			err = errors.Join(err, server.Close())
		}
		return err
	}}
}

// serve serves until ctx ends or a server fails, then drains all.
func (r *serving) serve(ctx context.Context) error {
	doors := r.doors
	if r.ops != nil {
		doors = append(doors[:len(doors):len(doors)], *r.ops)
	}
	serving, failed := errgroup.WithContext(ctx)
	for _, d := range doors {
		serving.Go(func() error { return d.serve(d.listener) })
	}
	<-failed.Done()
	r.stopping.Store(true)
	r.log.Info("stopping", "within", r.drain)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.drain)
	defer cancel()
	var draining errgroup.Group
	for _, d := range r.doors {
		draining.Go(func() error { return d.drain(late) })
	}
	err := draining.Wait()
	if r.ops != nil {
		err = errors.Join(err, r.ops.drain(late))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("calls in progress were cancelled after %v: %w", r.drain, err)
	}
	err = errors.Join(serving.Wait(), err)
	if err == nil {
		r.log.Info("stopped")
	}
	return err
}

// closeListeners closes what was opened before a server had it.
func (r *serving) closeListeners() error {
	doors := r.doors
	if r.ops != nil {
		doors = append(doors[:len(doors):len(doors)], *r.ops)
	}
	var errs []error
	for _, d := range doors {
		if err := d.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
