package main

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat"
)

type traceFlags struct {
	store   storeFlags
	index   indexFlag
	dials   dialFlags
	queries string
	row     rowFlag
	json    bool
}

// traceResult is what trace --json prints.
type traceResult struct {
	Trace   string       `json:"trace"`
	Work    sprat.Work   `json:"work"`
	Partial bool         `json:"partial"`
	Matches []traceMatch `json:"matches"`
}

type traceMatch struct {
	Key      string          `json:"key"`
	Distance float64         `json:"distance"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

func (c *cli) traceCommand() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "trace --data DIR | --addr H:P --index B/I --queries FILE --row N",
		Short: "Run one query and tell in words what it did",
		Args:  cobra.NoArgs,
		RunE:  c.action(func(ctx context.Context) error { return c.trace(ctx, &f) }),
	}
	f.store.addDataOrAddr(cmd)
	f.dials.add(cmd)
	fl := cmd.Flags()
	fl.Var(&f.index, "index", "name of the index")
	fl.StringVar(&f.queries, "queries", "", "`file` of vectors")
	fl.Var(&f.row, "row", "which of them, from 0")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	require(cmd, "index", "queries")
	return cmd
}

func (c *cli) trace(ctx context.Context, f *traceFlags) (err error) {
	store, closeStore, err := c.openEngine(&f.store, true)
	if err != nil {
		return err
	}
	defer closeStore(&err)
	ix, err := store.index(ctx, f.index)
	if err != nil {
		return err
	}
	queries, err := readQueries(f.queries, ix)
	if err != nil {
		return err
	}
	if int(f.row) >= len(queries) {
		return badUsage("--row %d: %s has rows 0 to %d", f.row, f.queries, len(queries)-1)
	}
	opts := f.dials.options(&f.store)
	opts.Trace, opts.Metadata = true, true
	if t := f.dials.timeout(); t > 0 {
		opts.Deadline = time.Now().Add(t)
	}
	res, err := ix.Query(ctx, queries[f.row], int(f.dials.k), opts)
	if err != nil {
		return queryIn(f.queries, err)
	}
	r := traceResult{Trace: res.Trace, Work: res.Work, Partial: res.Partial, Matches: []traceMatch{}}
	for _, m := range res.Matches {
		r.Matches = append(r.Matches, traceMatch{m.Key, m.Distance, m.Metadata})
	}
	return c.emit(f.json, r, func(p *page) {
		p.line("%s", strings.TrimRight(r.Trace, "\n"))
		for i, m := range r.Matches {
			p.row(strconv.Itoa(i+1), m.Key, strconv.FormatFloat(m.Distance, 'g', 8, 64), string(m.Metadata))
		}
	})
}
