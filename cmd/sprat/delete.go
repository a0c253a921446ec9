package main

import (
	"bufio"
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"
)

type deleteFlags struct {
	store    storeFlags
	index    indexFlag
	keys     string
	noSettle bool
	json     bool
}

// deleteResult is what delete --json prints.
type deleteResult struct {
	Index   string `json:"index"`
	Keys    int64  `json:"keys"`    // in the file
	Deleted int64  `json:"deleted"` // of them, those that were there
	Total   uint64 `json:"total"`   // in the index afterwards
}

func (c *cli) deleteCommand() *cobra.Command {
	var f deleteFlags
	cmd := &cobra.Command{
		Use:   "delete --data DIR | --addr H:P --index B/I --keys FILE",
		Short: "Delete vectors by key",
		Long: "delete removes the vectors whose keys stand in a file, one a line. Keys that are not there are counted " +
			"and are no error. Space comes back behind the deletions; their bytes are gone for good after compact.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.delete(ctx, &f) }),
	}
	f.store.addDataOrAddr(cmd)
	fl := cmd.Flags()
	fl.Var(&f.index, "index", "name of the index")
	fl.StringVar(&f.keys, "keys", "", "`file` of keys, one a line")
	fl.BoolVar(&f.noSettle, "no-settle", false, "do not wait for maintenance at the end")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	require(cmd, "index", "keys")
	return cmd
}

// deleteBatch is how many keys are deleted by one call.
const deleteBatch = 500

func (c *cli) delete(ctx context.Context, f *deleteFlags) (err error) {
	file, err := os.Open(f.keys)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	store, closeStore, err := c.openEngine(&f.store, false)
	if err != nil {
		return err
	}
	defer closeStore(&err)
	ix, err := store.index(ctx, f.index)
	if err != nil {
		return err
	}
	r := &deleteResult{Index: ix.Name()}
	if err := r.deleteAll(ctx, ix, file); err != nil {
		return rowIn(f.keys, err)
	}
	if !f.noSettle {
		if err := ix.Settle(ctx); err != nil {
			return err
		}
	}
	st, err := ix.stats(ctx)
	if err != nil {
		return err
	}
	r.Total = st.Vectors
	return c.emit(f.json, r, func(p *page) {
		p.line("deleted %s of %s keys from %s, which holds %s vectors now",
			count(r.Deleted), count(r.Keys), r.Index, count(int64(r.Total)))
	})
}

func (r *deleteResult) deleteAll(ctx context.Context, ix openIndex, file *os.File) error {
	var keys []string
	flush := func() error {
		n, err := ix.Delete(ctx, keys)
		r.Deleted += int64(n)
		keys = keys[:0]
		return err
	}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		r.Keys++
		if keys = append(keys, lines.Text()); len(keys) == deleteBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return flush()
}
