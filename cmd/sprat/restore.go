package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat"
)

type restoreFlags struct {
	from     string
	data     string
	snapshot string
	workers  countFlag
	json     bool
}

func (c *cli) restoreCommand() *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore --from TARGET --data DIR",
		Short: "Make a store from a snapshot",
		Long: "restore writes the store of a snapshot into a folder, which must be missing or empty and appears complete or " +
			"not at all. Every byte is checked.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.restore(ctx, &f) }),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.from, "from", "", "where snapshots are kept: "+targetHelp)
	fl.StringVar(&f.data, "data", "", "`folder` of the store to make")
	fl.StringVar(&f.snapshot, "snapshot", "", "`id` of the snapshot (default: the newest)")
	fl.Var(&f.workers, "workers", "pieces in work at one time, each of up to 8 MiB of memory (default 4)")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	require(cmd, "from", "data")
	return cmd
}

func (c *cli) restore(ctx context.Context, f *restoreFlags) error {
	from, err := openTarget(ctx, "from", f.from, false)
	if err != nil {
		return err
	}
	bar := c.newProgress()
	defer bar.done()
	r := &snapshotResult{Target: from.String()}
	r.SnapshotStats, err = sprat.Restore(ctx, from, f.snapshot, f.data, snapshotOptions("", f.workers, bar, "restore"))
	if err != nil {
		return err
	}
	bar.done()
	return c.emit(f.json, r, func(p *page) {
		p.line("restored snapshot %s of %s into %s", r.ID, from, f.data)
		p.row("files", count(r.Files), size(r.Bytes))
		p.row("read", size(r.BytesRead), count(r.ChunksRead)+" pieces")
		p.row("time", decimal(r.Elapsed.Seconds(), 2)+" s")
	})
}
