package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

type compactFlags struct {
	store storeFlags
	index indexFlag
	json  bool
}

// compactResult is what compact --json prints.
type compactResult struct {
	Index      string  `json:"index"`
	Vectors    uint64  `json:"vectors"`
	Seconds    float64 `json:"seconds"`
	DiskBefore int64   `json:"disk_bytes_before"`
	DiskAfter  int64   `json:"disk_bytes_after"`
}

func (c *cli) compactCommand() *cobra.Command {
	var f compactFlags
	cmd := &cobra.Command{
		Use:   "compact --data DIR --index B/I",
		Short: "Bring an index into its best order and erase what was deleted",
		Long: "compact places scattered records together, writes postings anew that hold anything dead, and erases: when it " +
			"is done, the bytes of deleted and replaced vectors, keys and metadata are in none of the store's files.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.compact(ctx, &f) }),
	}
	f.store.addData(cmd)
	cmd.Flags().Var(&f.index, "index", "name of the index")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	require(cmd, "index")
	return cmd
}

func (c *cli) compact(ctx context.Context, f *compactFlags) (err error) {
	store, closeStore, err := c.open(&f.store, f.store.data, false)
	if err != nil {
		return err
	}
	defer closeStore(&err)
	ix, err := store.Index(f.index.bucket, f.index.name)
	if err != nil {
		return err
	}
	r := &compactResult{Index: ix.Name(), DiskBefore: ix.Stats().Disk.Total}
	bar := c.newProgress()
	defer bar.done()
	start := time.Now()
	if err := ix.Compact(ctx, bar.update); err != nil {
		return err
	}
	bar.done()
	st := ix.Stats()
	r.Vectors, r.Seconds, r.DiskAfter = st.Vectors, time.Since(start).Seconds(), st.Disk.Total
	return c.emit(f.json, r, func(p *page) {
		p.line("compacted %s, %s vectors, in %s s", r.Index, count(int64(r.Vectors)), decimal(r.Seconds, 2))
		p.row("disk", size(r.DiskAfter), "before "+size(r.DiskBefore))
	})
}
