package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

type repairFlags struct {
	store storeFlags
	index indexFlag
	json  bool
}

func (c *cli) repairCommand() *cobra.Command {
	var f repairFlags
	cmd := &cobra.Command{
		Use:   "repair --data DIR --index B/I",
		Short: "Put a damaged index right, and say what was lost",
		Long: "repair drops postings that cannot be read and places their vectors anew from their records, does the same " +
			"for vectors that no posting holds, and removes the keys of vectors whose records are lost, which it names. " +
			"Exit code 3 says that vectors were lost.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.repair(ctx, &f) }),
	}
	f.store.addData(cmd)
	cmd.Flags().Var(&f.index, "index", "name of the index")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	require(cmd, "index")
	return cmd
}

func (c *cli) repair(ctx context.Context, f *repairFlags) (err error) {
	store, closeStore, err := c.open(&f.store, f.store.data, false)
	if err != nil {
		return err
	}
	defer closeStore(&err)
	r, err := store.Repair(ctx, f.index.bucket, f.index.name)
	if err != nil {
		return err
	}
	err = c.emit(f.json, r, func(p *page) {
		if !r.Changed() {
			p.line("%s is sound", r.Index)
			return
		}
		p.line("repaired %s", r.Index)
		p.row("postings", count(int64(r.Dropped)), "dropped: they could not be read")
		p.row("vectors", count(int64(r.Replaced)), "placed anew from their records")
		p.row("lost", count(int64(r.Lost)), "vectors whose records could not be read; their keys are gone")
		p.row("orphans", count(int64(r.Orphans)), "slots that no key led to")
		for _, what := range r.Fixed {
			p.line("  %s", what)
		}
		for _, key := range r.LostKeys {
			p.line("  lost: %s", key)
		}
	})
	if err == nil && r.Lost > 0 {
		err = &belowError{fmt.Sprintf("repair: %d vectors are lost", r.Lost)}
	}
	return err
}
