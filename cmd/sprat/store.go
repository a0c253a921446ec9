package main

import (
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat"
)

// storeFlags are the flags of every command that opens a store.
type storeFlags struct {
	data     string
	engine   choiceFlag
	direct   choiceFlag
	memory   sizeFlag
	cache    cacheFlag
	adaptive choiceFlag
	logLevel choiceFlag
	server   connectionFlags // in place of data; of the commands that take --addr
}

// addStoreFlags registers the flags but for --data.
func (f *storeFlags) add(cmd *cobra.Command) {
	f.engine = oneOf("auto", "auto", "io_uring", "pread", "mmap")
	f.direct = oneOf("auto", "auto", "on", "off")
	f.adaptive = oneOf("on", "on", "off")
	f.logLevel = oneOf("warn", "debug", "info", "warn", "error")
	fl := cmd.Flags()
	fl.Var(&f.engine, "io-engine", "how the volume is read; auto takes the best that works and says why not a better one")
	fl.Var(&f.direct, "direct", "whether the page cache is bypassed (O_DIRECT)")
	fl.Var(&f.memory, "memory-limit", "memory for everything, like 512MiB (default 60 % of the machine's or cgroup's)")
	fl.Var(&f.cache, "cache", "memory for cached postings and records: auto, 0 or a size like 64MiB")
	fl.Var(&f.adaptive, "adaptive", "off reads exactly --search-probe postings and rescores exactly --rescore-limit vectors")
	fl.Var(&f.logLevel, "log-level", "least level of what is logged to standard error")
}

// addData registers the flags with --data, which is required.
func (f *storeFlags) addData(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.data, "data", "", "`folder` of the store")
	require(cmd, "data")
	f.add(cmd)
}

// options are the store's options as the flags ask for them.
func (f *storeFlags) options(stderr io.Writer) sprat.Options {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel.value)); err != nil {
		level = slog.LevelWarn
	}
	return sprat.Options{
		MemoryLimit: int64(f.memory), IOEngine: f.engine.value, Direct: f.direct.value, CacheBytes: f.cache.option(),
		LimitHeap: os.Getenv("GOMEMLIMIT") == "", // one that the user has set stays
		Logger:    slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level})),
	}
}

// open opens the store in a folder. The caller closes it with the function
// returned, which joins its error to the one that it is given.
func (c *cli) open(f *storeFlags, dir string, readOnly bool) (*sprat.Store, func(*error), error) {
	opts := f.options(c.stderr)
	opts.ReadOnly = readOnly
	s, err := sprat.Open(dir, opts)
	if err != nil {
		return nil, nil, err
	}
	return s, func(err *error) { *err = errors.Join(*err, s.Close()) }, nil
}

// require marks flags that a command cannot do without.
func require(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // no such flag: a mistake in this program
		}
	}
}
