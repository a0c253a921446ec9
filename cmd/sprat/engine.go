package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/server/grpc/client"
)

// engine is a store for a command: one that is open in this process, or one that a
// server has open.
type engine interface {
	// index finds an index. Errors: those of sprat.Store.Index.
	index(ctx context.Context, name indexFlag) (openIndex, error)
	// create makes an empty one. Errors: those of sprat.Store.CreateIndex.
	create(ctx context.Context, name indexFlag, cfg sprat.IndexConfig) (openIndex, error)
	stats(ctx context.Context) (sprat.StoreStats, error)
}

// openIndex is an index of an engine.
type openIndex interface {
	bench.Searcher
	Name() string
	Dimension() int
	Metric() sprat.Metric
	Put(ctx context.Context, records []sprat.Record) error
	Delete(ctx context.Context, keys []string) (int, error)
	Settle(ctx context.Context) error
	stats(ctx context.Context) (sprat.IndexStats, error)
	dialsFor(ctx context.Context, k int, o sprat.QueryOptions) (sprat.Dials, error)
}

// addDataOrAddr registers the flags of a command that works on a folder or through a
// server, one of which is required.
func (f *storeFlags) addDataOrAddr(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.data, "data", "", "`folder` of the store")
	fl.StringVar(&f.server.addr, "addr", "", "`address` of the gRPC API of a sprat serve, like 127.0.0.1:7700, in place of --data")
	cmd.MarkFlagsOneRequired("data", "addr")
	cmd.MarkFlagsMutuallyExclusive("data", "addr")
	f.add(cmd)
	f.server.add(cmd, "server-", "server", "SPRAT_TOKEN")
	for _, local := range []string{"io-engine", "direct", "memory-limit", "cache"} {
		cmd.MarkFlagsMutuallyExclusive("addr", local) // a server has its own
	}
}

// openEngine opens the folder or connects to the server of the flags. The caller closes
// it with the function returned, which joins its error to the one that it is given.
func (c *cli) openEngine(f *storeFlags, readOnly bool) (engine, func(*error), error) {
	if f.server.addr == "" {
		store, closeStore, err := c.open(f, f.data, readOnly)
		if err != nil {
			return nil, nil, err
		}
		return &localEngine{store}, closeStore, nil
	}
	conn, err := f.server.connect(f.options(c.stderr).Logger)
	if err != nil {
		return nil, nil, err
	}
	return &remoteEngine{conn}, func(err *error) { *err = errors.Join(*err, conn.Close()) }, nil
}

type localEngine struct{ store *sprat.Store }

func (e *localEngine) index(_ context.Context, name indexFlag) (openIndex, error) {
	ix, err := e.store.Index(name.bucket, name.name)
	if err != nil {
		return nil, err
	}
	return &localIndex{ix}, nil
}

func (e *localEngine) create(ctx context.Context, name indexFlag, cfg sprat.IndexConfig) (openIndex, error) {
	ix, err := e.store.CreateIndex(ctx, name.bucket, name.name, cfg)
	if err != nil {
		return nil, err
	}
	return &localIndex{ix}, nil
}

func (e *localEngine) stats(context.Context) (sprat.StoreStats, error) { return e.store.Stats() }

type localIndex struct{ *sprat.Index }

func (x *localIndex) stats(context.Context) (sprat.IndexStats, error) { return x.Stats(), nil }

func (x *localIndex) dialsFor(_ context.Context, k int, o sprat.QueryOptions) (sprat.Dials, error) {
	return x.DialsFor(k, o), nil
}

type remoteEngine struct{ conn *client.Client }

func (e *remoteEngine) index(ctx context.Context, name indexFlag) (openIndex, error) {
	info, err := e.conn.Index(ctx, name.bucket, name.name)
	if err != nil {
		return nil, err
	}
	return &remoteIndex{e, name, info.Config}, info.Err
}

func (e *remoteEngine) create(ctx context.Context, name indexFlag, cfg sprat.IndexConfig) (openIndex, error) {
	info, err := e.conn.CreateIndex(ctx, name.bucket, name.name, cfg, client.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return &remoteIndex{e, name, info.Config}, info.Err
}

func (e *remoteEngine) stats(ctx context.Context) (sprat.StoreStats, error) { return e.conn.Stats(ctx) }

type remoteIndex struct {
	engine *remoteEngine
	name   indexFlag
	config sprat.IndexConfig
}

func (x *remoteIndex) Name() string         { return x.name.String() }
func (x *remoteIndex) Dimension() int       { return x.config.Dimension }
func (x *remoteIndex) Metric() sprat.Metric { return x.config.Metric }

func (x *remoteIndex) Query(ctx context.Context, q []float32, k int, o sprat.QueryOptions) (*sprat.Result, error) {
	return x.engine.conn.Query(ctx, x.name.bucket, x.name.name, q, k, o)
}

func (x *remoteIndex) Put(ctx context.Context, records []sprat.Record) error {
	return x.engine.conn.Put(ctx, x.name.bucket, x.name.name, records, sprat.PutOptions{})
}

func (x *remoteIndex) Delete(ctx context.Context, keys []string) (int, error) {
	return x.engine.conn.Delete(ctx, x.name.bucket, x.name.name, keys)
}

func (x *remoteIndex) Settle(ctx context.Context) error {
	return x.engine.conn.Settle(ctx, x.name.bucket, x.name.name)
}

func (x *remoteIndex) stats(ctx context.Context) (sprat.IndexStats, error) {
	st, err := x.engine.stats(ctx)
	if err != nil {
		return sprat.IndexStats{}, err
	}
	return indexOf(&st, x.Name())
}

func (x *remoteIndex) dialsFor(ctx context.Context, k int, o sprat.QueryOptions) (sprat.Dials, error) {
	return x.engine.conn.DialsFor(ctx, x.name.bucket, x.name.name, k, o)
}

// indexOf finds the figures of an index among those of its store.
func indexOf(st *sprat.StoreStats, name string) (sprat.IndexStats, error) {
	if why, broken := st.Broken[name]; broken {
		return sprat.IndexStats{}, errors.New(why)
	}
	for i := range st.Indexes {
		if st.Indexes[i].Name == name {
			return st.Indexes[i], nil
		}
	}
	return sprat.IndexStats{}, fmt.Errorf("index %q: %w", name, sprat.ErrNotFound)
}
