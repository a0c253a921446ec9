package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/s3snapshot"
)

type snapshotFlags struct {
	store    storeFlags
	to       string
	label    string
	keep     countFlag
	workers  countFlag
	snapshot string
	list     bool
	verify   bool
	unlock   bool
	json     bool
}

// snapshotResult is what snapshot --json prints; restore prints the same.
type snapshotResult struct {
	Target string `json:"target"`
	sprat.SnapshotStats
	Pruned *sprat.SnapshotStats `json:"pruned,omitempty"` // with --keep
}

// targetHelp says what a target is.
const targetHelp = "a `folder`, or s3://bucket/prefix?region=...&endpoint=...&path-style=1"

func (c *cli) snapshotCommand() *cobra.Command {
	var f snapshotFlags
	cmd := &cobra.Command{
		Use:   "snapshot --data DIR --to TARGET",
		Short: "Keep a copy of a store in a folder or an object store",
		Long: "snapshot keeps all indexes, as one moment had them, in a folder or an object store. What the target has of " +
			"earlier snapshots is not sent again. With --list, --verify or --unlock it looks after the snapshots that are " +
			"there, and needs no store; --verify exits with 3 when one is damaged. Credentials of an object store come from " +
			"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or wherever else its SDK finds them.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.snapshot(ctx, &f) }),
	}
	f.store.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.store.data, "data", "", "`folder` of the store, which no other process may have open")
	fl.StringVar(&f.to, "to", "", "where snapshots are kept: "+targetHelp)
	fl.StringVar(&f.label, "label", "", "`text` that is kept with the snapshot")
	fl.Var(&f.keep, "keep", "remove all but the newest n snapshots afterwards (default: keep all)")
	fl.Var(&f.workers, "workers", "pieces in work at one time, each of up to 8 MiB of memory (default 4)")
	fl.BoolVar(&f.list, "list", false, "list the snapshots")
	fl.BoolVar(&f.verify, "verify", false, "read and check every byte of a snapshot")
	fl.StringVar(&f.snapshot, "snapshot", "", "`id` of the snapshot to verify (default: the newest)")
	fl.BoolVar(&f.unlock, "unlock", false, "take away the lock of a writer that is known to be gone")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	require(cmd, "to")
	cmd.MarkFlagsMutuallyExclusive("list", "verify", "unlock", "data")
	cmd.MarkFlagsOneRequired("list", "verify", "unlock", "data")
	return cmd
}

// options are those of the package.
func (f *snapshotFlags) options(bar *progress, step string) sprat.SnapshotOptions {
	return snapshotOptions(f.label, f.workers, bar, step)
}

func snapshotOptions(label string, workers countFlag, bar *progress, step string) sprat.SnapshotOptions {
	return sprat.SnapshotOptions{Label: label, Workers: int(workers),
		Progress: func(done, total int64) { bar.update(step, done, total) }}
}

func (c *cli) snapshot(ctx context.Context, f *snapshotFlags) error {
	there := f.list || f.verify || f.unlock
	switch {
	case there && (f.label != "" || f.keep > 0):
		return badUsage("--label and --keep go with a new snapshot")
	case f.snapshot != "" && !f.verify:
		return badUsage("--snapshot goes with --verify")
	}
	if !there {
		return c.takeSnapshot(ctx, f)
	}
	to, err := openTarget(ctx, "to", f.to, false)
	if err != nil {
		return err
	}
	switch {
	case f.list:
		return c.listSnapshots(ctx, f, to)
	case f.verify:
		return c.verifySnapshot(ctx, f, to)
	}
	if err := sprat.UnlockSnapshots(ctx, to); err != nil {
		return err
	}
	return c.emit(f.json, &snapshotResult{Target: to.String()}, func(p *page) { p.line("%s is unlocked", to) })
}

// openTarget opens where snapshots are kept. A folder must exist unless it may be
// made.
func openTarget(ctx context.Context, flag, text string, create bool) (sprat.SnapshotTarget, error) {
	if strings.Contains(text, "://") {
		config, err := s3snapshot.Parse(text)
		if err != nil {
			return nil, badUsage("--%s: %v", flag, err)
		}
		return s3snapshot.New(ctx, config)
	}
	if !create && text != "" {
		if _, err := os.Stat(text); err != nil {
			return nil, err
		}
	}
	return sprat.SnapshotDir(text)
}

// mustBeThere refuses a folder in which opening a store would make a new one.
func mustBeThere(dir string) error {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) == 0 {
		err = fmt.Errorf("%s: %w: it is empty", dir, sprat.ErrNotStore)
	}
	return err
}

func (c *cli) takeSnapshot(ctx context.Context, f *snapshotFlags) (err error) {
	if err := mustBeThere(f.store.data); err != nil {
		return err
	}
	store, closeStore, err := c.open(&f.store, f.store.data, false)
	if err != nil {
		return err
	}
	defer closeStore(&err)
	to, err := openTarget(ctx, "to", f.to, true)
	if err != nil {
		return err
	}
	bar := c.newProgress()
	defer bar.done()
	r := &snapshotResult{Target: to.String()}
	if r.SnapshotStats, err = store.Snapshot(ctx, to, f.options(bar, "snapshot")); err != nil {
		return err
	}
	if f.keep > 0 {
		pruned, err := sprat.PruneSnapshots(ctx, to, int(f.keep), f.options(bar, "prune"))
		if err != nil {
			return fmt.Errorf("snapshot %s is kept, and older ones could not be removed: %w", r.ID, err)
		}
		r.Pruned = &pruned
	}
	bar.done()
	return c.emit(f.json, r, r.text)
}

func (r *snapshotResult) text(p *page) {
	p.line("snapshot %s of %s indexes with %s vectors in %s", r.ID, count(r.Indexes), count(r.Vectors), r.Target)
	p.row("files", count(r.Files), fmt.Sprintf("%s, %s of them unchanged", size(r.Bytes), count(r.FilesUnchanged)))
	p.row("sent", size(r.BytesNew), fmt.Sprintf("%s pieces; %s were there", count(r.ChunksNew), count(r.ChunksShared)))
	p.row("time", decimal(r.Elapsed.Seconds(), 2)+" s")
	if r.Pruned != nil {
		p.row("removed", count(r.Pruned.SnapshotsRemoved), fmt.Sprintf("older snapshots, %s pieces", count(r.Pruned.ChunksRemoved)))
	}
	for _, name := range r.Broken {
		p.line("%s cannot be opened: it is kept, damaged as it is", name)
	}
}

// listedSnapshot is a snapshot of a list.
type listedSnapshot struct {
	sprat.SnapshotInfo
	Error string `json:"error,omitempty"` // why it cannot be used
}

func (c *cli) listSnapshots(ctx context.Context, f *snapshotFlags, in sprat.SnapshotTarget) error {
	list, err := sprat.ListSnapshots(ctx, in)
	if err != nil {
		return err
	}
	r := struct {
		Target    string           `json:"target"`
		Snapshots []listedSnapshot `json:"snapshots"`
	}{in.String(), make([]listedSnapshot, len(list))}
	for i, x := range list {
		r.Snapshots[i].SnapshotInfo = x
		if x.Err != nil {
			r.Snapshots[i].Error = oneLine(x.Err)
		}
	}
	return c.emit(f.json, &r, func(p *page) {
		p.line("%s snapshots in %s", count(len(list)), in)
		for _, x := range r.Snapshots {
			if x.Error != "" {
				p.row(x.ID, "cannot be used: "+x.Error)
				continue
			}
			p.row(x.ID, x.Created.Format(time.DateTime), count(x.Indexes)+" indexes", count(x.Vectors)+" vectors", size(x.Bytes), x.Label)
		}
	})
}

// verifiedSnapshot is what snapshot --verify --json prints.
type verifiedSnapshot struct {
	OK bool `json:"ok"`
	snapshotResult
	Error string `json:"error,omitempty"`
}

func (c *cli) verifySnapshot(ctx context.Context, f *snapshotFlags, in sprat.SnapshotTarget) error {
	bar := c.newProgress()
	defer bar.done()
	r := &verifiedSnapshot{snapshotResult: snapshotResult{Target: in.String()}}
	var err error
	r.SnapshotStats, err = sprat.VerifySnapshot(ctx, in, f.snapshot, f.options(bar, "verify"))
	r.OK = err == nil
	if err != nil {
		if !errors.Is(err, sprat.ErrCorrupt) {
			return err
		}
		r.Error = oneLine(err)
	}
	bar.done()
	if err := c.emit(f.json, r, func(p *page) {
		if !r.OK {
			p.line("damaged: %s", r.Error)
			return
		}
		p.line("snapshot %s in %s is sound", r.ID, in)
		p.row("read", size(r.BytesRead), count(r.ChunksRead)+" pieces")
		p.row("time", decimal(r.Elapsed.Seconds(), 2)+" s")
	}); err != nil || r.OK {
		return err
	}
	return &belowError{"snapshot: the snapshot is damaged"}
}
