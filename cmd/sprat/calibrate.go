package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/fio"
)

type calibrateFlags struct {
	store       storeFlags
	file        string
	fileBytes   sizeFlag
	program     string
	quick       bool
	sustained   spanFlag
	expectIOPS  countFlag
	expectMiBps countFlag
	index       indexFlag
	queries     string
	k, clients  countFlag
	probes      []int
	rescores    []int
	qps         countFlag
	json        bool
}

func (c *cli) calibrateCommand() *cobra.Command {
	f := calibrateFlags{program: fio.ProgramAuto, k: 10, clients: 64}
	cmd := &cobra.Command{
		Use:   "calibrate --data DIR [--index B/I]",
		Short: "Measure what the volume gives, and what queries get out of it",
		Long: "calibrate reads the volume of a directory at random, through the engine's own read path and with the " +
			"program fio beside it, and reports its IOPS and throughput caps, how many reads to keep in flight, and what " +
			"the figures depend on. With --index it measures real queries as well and predicts the rate that the volume " +
			"and the processors allow. It takes up to 3 minutes, with --quick 20 s. The result is stored with the store " +
			"in the directory, if there is one; the store must not be in use.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.calibrate(ctx, &f) }),
	}
	f.store.addData(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.file, "file", "", "existing `file` on the volume to read, instead of one that is written; it is never written to")
	fl.Var(&f.fileBytes, "size", "size of the file that is written and removed (default 1GiB or a quarter of the free space)")
	fl.StringVar(&f.program, "fio", f.program, "program fio: auto, off or its `path`")
	fl.BoolVar(&f.quick, "quick", false, "take no more than 20 s")
	fl.Var(&f.sustained, "sustained", "read for this long, to see whether the volume only bursts")
	fl.Var(&f.expectIOPS, "expect-iops", "IOPS that the volume should give; below 95 % of it exit with 3")
	fl.Var(&f.expectMiBps, "expect-mibps", "MiB/s that the volume should give; below 95 % of it exit with 3")
	fl.Var(&f.index, "index", "name of an index whose queries are measured")
	fl.StringVar(&f.queries, "queries", "", "`file` of vectors to search for (default: vectors of the index)")
	fl.VarP(&f.k, "k", "k", "number of results of a query")
	fl.Var(&f.clients, "clients", "clients that rates are predicted for")
	fl.IntSliceVar(&f.probes, "search-probes", nil, "caps of postings read to measure (default 32,64,128,256; with --quick 64)")
	fl.IntSliceVar(&f.rescores, "rescore-limits", nil, "caps of candidates rescored to measure (default 100,350,1000; with --quick 350)")
	fl.Var(&f.qps, "qps", "queries a second whose needs are computed")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("file", "size")
	return cmd
}

func (c *cli) calibrate(ctx context.Context, f *calibrateFlags) error {
	cfg, err := f.config(c)
	if err != nil {
		return err
	}
	bar := c.newProgress()
	defer bar.done()
	cfg.Progress = func(p fio.Progress) { bar.timed(p) }
	report, err := fio.Run(ctx, cfg)
	bar.done()
	switch {
	case errors.Is(err, fio.ErrConfig):
		return badUsage("%v", err)
	case err != nil:
		return err
	}
	if f.json {
		err = c.emit(true, report, nil)
	} else {
		err = report.WriteText(c.stdout)
	}
	if err != nil {
		return err
	}
	return expected(report)
}

// expected is an error when the volume gives less than it should.
func expected(r *fio.Report) error {
	if r.Expectation == nil || len(r.Expectation.Below) == 0 {
		return nil
	}
	return &belowError{"calibrate: " + strings.Join(r.Expectation.Below, "; ")}
}

// config is the calibration that the flags ask for.
func (f *calibrateFlags) config(c *cli) (fio.Config, error) {
	cfg := fio.Config{
		Dir: f.store.data, File: f.file, FileBytes: int64(f.fileBytes), Program: f.program, Quick: f.quick,
		Sustained: time.Duration(f.sustained), ExpectIOPS: float64(f.expectIOPS), ExpectMiBps: float64(f.expectMiBps),
		Store: f.store.options(c.stderr),
	}
	if f.index == (indexFlag{}) {
		if f.queries != "" || f.qps > 0 || len(f.probes)+len(f.rescores) > 0 {
			return cfg, badUsage("--queries, --qps, --search-probes and --rescore-limits need --index")
		}
		return cfg, nil
	}
	cfg.Index = &fio.IndexConfig{
		Bucket: f.index.bucket, Name: f.index.name, K: int(f.k), Clients: int(f.clients), QPS: float64(f.qps),
		Probes: f.probes, Rescores: f.rescores, FixedWork: f.store.adaptive.value == "off",
	}
	if f.queries == "" {
		return cfg, nil
	}
	var err error
	cfg.Index.Queries, err = bench.ReadVectors(f.queries, bench.Options{})
	return cfg, err
}

// timed shows work whose length is known as a time.
func (p *progress) timed(at fio.Progress) {
	step := at.Phase
	if at.Step != "" {
		step += ": " + at.Step
	}
	if p.terminal {
		p.update(step, int64(at.Elapsed/time.Second), int64((at.Elapsed+at.Remaining)/time.Second))
		return
	}
	p.update(fmt.Sprintf("%s; %v elapsed, about %v left", step, at.Elapsed.Round(time.Second), at.Remaining.Round(time.Second)), 0, 0)
}
