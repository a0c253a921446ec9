package main

import (
	"context"

	"github.com/spf13/cobra"
)

type dropFlags struct {
	store storeFlags
	index indexFlag
	json  bool
}

// dropResult is what drop --json prints.
type dropResult struct {
	Index string `json:"index"`
}

func (c *cli) dropCommand() *cobra.Command {
	var f dropFlags
	cmd := &cobra.Command{
		Use:   "drop --data DIR --index B/I",
		Short: "Remove an index with all that it holds",
		Long: "drop removes an index for good, also one that cannot be opened because it is damaged. Its bucket stays. " +
			"Snapshots keep what they have.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.drop(ctx, &f) }),
	}
	f.store.addData(cmd)
	cmd.Flags().Var(&f.index, "index", "name of the index")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	require(cmd, "index")
	return cmd
}

func (c *cli) drop(ctx context.Context, f *dropFlags) (err error) {
	if err := mustBeThere(f.store.data); err != nil {
		return err
	}
	store, closeStore, err := c.open(&f.store, f.store.data, false)
	if err != nil {
		return err
	}
	defer closeStore(&err)
	if err := store.DropIndex(ctx, f.index.bucket, f.index.name); err != nil {
		return err
	}
	r := &dropResult{Index: f.index.String()}
	return c.emit(f.json, r, func(p *page) { p.line("dropped %s", r.Index) })
}
