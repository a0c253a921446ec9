package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat"
)

type statsFlags struct {
	store storeFlags
	index indexFlag
	json  bool
}

func (c *cli) statsCommand() *cobra.Command {
	var f statsFlags
	cmd := &cobra.Command{
		Use:   "stats --data DIR | --addr H:P",
		Short: "Describe a store and its indexes",
		Args:  cobra.NoArgs,
		RunE:  c.action(func(ctx context.Context) error { return c.stats(ctx, &f) }),
	}
	f.store.addDataOrAddr(cmd)
	cmd.Flags().Var(&f.index, "index", "one index (default: all)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) stats(ctx context.Context, f *statsFlags) (err error) {
	store, closeStore, err := c.openEngine(&f.store, true)
	if err != nil {
		return err
	}
	defer closeStore(&err)
	st, err := store.stats(ctx)
	if err != nil {
		return err
	}
	if name := f.index.String(); name != "" {
		x, err := indexOf(&st, name)
		if err != nil {
			return err
		}
		st.Indexes = []sprat.IndexStats{x}
	}
	return c.emit(f.json, &st, func(p *page) { statsText(p, &st) })
}

func statsText(p *page, st *sprat.StoreStats) {
	p.line("store %s", st.Directory)
	b := st.Budget
	p.row("memory limit", size(st.MemoryLimit), fmt.Sprintf("program %s, indexes %s, builds %s, queries %s, buffers %s, cache %s",
		size(b["program"]), size(b["indexes"]), size(b["builds"]), size(b["queries"]), size(b["buffers"]), size(b["cache"])))
	p.row("catalog", size(st.CatalogDisk), "on disk, "+size(st.Memory["catalog"])+" in memory")
	p.row("I/O", st.IO.Engine, directText(st.IO.Direct, st.IO.Cause))
	p.row("in flight", count(st.Volume.InFlightLimit), "reads at one time, at most")
	for i := range st.Indexes {
		indexText(p, &st.Indexes[i])
	}
	for _, name := range slices.Sorted(maps.Keys(st.Broken)) {
		p.line("index %s cannot be opened: %s", name, st.Broken[name])
	}
}

func indexText(p *page, x *sprat.IndexStats) {
	p.line("index %s: %s vectors of dimension %d, %s", x.Name, count(x.Vectors), x.Dimension, x.Metric)
	p.row("postings", count(x.Postings), fmt.Sprintf("of %.1f KiB (largest %.1f), %s entries, each vector in %.2f of them",
		x.PostingBytesMean/1024, float64(x.PostingBytesMax)/1024, count(x.Entries), x.ReplicasMean))
	refine := "no refine records"
	if x.RefineTier {
		refine = "8-bit refine records"
	}
	p.row("codes", fmt.Sprintf("%d bits", x.Bits), fmt.Sprintf("per dimension in postings, %d in centroids; %s", x.CentroidBits, refine))
	d := &x.Disk
	p.row("disk", size(d.Total), fmt.Sprintf("postings %s, refine %s, records %s, centroids %s",
		size(d.Postings), size(d.Refine), size(d.Records), size(d.Centroids)))
	var memory int64
	parts := ""
	for _, name := range slices.Sorted(maps.Keys(x.Memory)) {
		memory += x.Memory[name]
		parts += fmt.Sprintf(", %s %s", name, size(x.Memory[name]))
	}
	perVector := float64(memory) / max(float64(x.Vectors), 1)
	p.row("memory", size(memory), fmt.Sprintf("%.2f bytes/vector%s", perVector, parts))
	u := &x.Upkeep
	p.row("maintenance", fmt.Sprintf("debt %.2f", u.Debt), fmt.Sprintf("%s entries to fold, %s records landed (%s), %d postings waiting, %d draining, %s dead slots",
		count(u.DeltaEntries), count(u.Landed), size(u.LandedBytes), u.Queued, u.Draining, count(u.DeadSlots)))
	if u.Fault != "" {
		p.line("  maintenance cannot go on: %s", u.Fault)
	}
	for _, what := range x.Damaged {
		p.line("  damaged: %s", what)
	}
	if d := x.Dials; d.SearchProbe == 0 && d.RescoreLimit == 0 {
		p.row("dials", fmt.Sprintf("recall target %g", d.RecallTarget))
	} else {
		p.row("dials", fmt.Sprintf("search probe %d, rescore limit %d", d.SearchProbe, d.RescoreLimit))
	}
	for _, preset := range x.Presets {
		p.row(fmt.Sprintf("recall %g", preset.Recall), fmt.Sprintf("search probe %d, rescore limit %d", preset.SearchProbe, preset.RescoreLimit),
			fmt.Sprintf("%.1f reads on the calibration sample", preset.Reads))
	}
}
