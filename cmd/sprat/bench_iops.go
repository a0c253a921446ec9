package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/bench/scaling"
	"github.com/spratdb/sprat/fio"
)

type benchIOPSFlags struct {
	store   storeFlags
	tuning  tuningFlags
	index   indexFlag
	files   bench.InputFiles
	metric  choiceFlag
	queries string
	truth   string
	dist    string
	work    string
	out     string
	k       countFlag

	volumes      volumesFlag
	axes         scaling.Axes
	rules        choiceFlag
	full         bool
	compact      bool
	seconds      float64
	warmup       float64
	cgroupMemory sizeFlag

	fresh  bool
	expect bool
	json   bool
}

func (c *cli) benchIOPSCommand() *cobra.Command {
	f := benchIOPSFlags{k: 10, metric: oneOf("", bench.Cosine, bench.Euclidean, bench.Dot), rules: oneOf("both", "on", "off", "both")}
	cmd := &cobra.Command{
		Use:   "iops --out DIR --queries FILE {--input FILE --metric M | --data DIR --index B/I}",
		Short: "How queries scale with the IOPS of the volume, with plots",
		Long: "iops measures the rate of queries on volumes of several settings, which it sets by control groups where that is " +
			"allowed (else it takes the volume as it is), with several engines, numbers of clients and dials, the stop rules " +
			"on and off. It predicts each rate from the cost that another run measured. It writes scaling.json, .csv, .md, " +
			".html (one page with figures) and .svg (the first of them).\n\n" +
			"By default the axes are crossed only where that tells something; --full takes every combination. What is " +
			"finished is kept in --out: the same command goes on where it was interrupted. Nothing else should run on the " +
			"machine. Nothing is cached unless --cache says so.",
		Args: cobra.NoArgs,
	}
	cmd.RunE = c.action(func(ctx context.Context) error { return c.benchIOPS(ctx, &f, commandLine(cmd)) })
	f.add(cmd)
	require(cmd, "out", "queries")
	for _, pair := range [][2]string{{"data", "input"}, {"data", "work"}, {"data", "metric"}, {"full", "compact"}} {
		cmd.MarkFlagsMutuallyExclusive(pair[0], pair[1])
	}
	cmd.MarkFlagsOneRequired("data", "input")
	cmd.MarkFlagsRequiredTogether("data", "index")
	return cmd
}

func (f *benchIOPSFlags) add(cmd *cobra.Command) {
	f.store.add(cmd)
	f.store.cache = cacheFlag{set: true} // a cold index is what the volume shows in
	cmd.Flags().Lookup("cache").DefValue = f.store.cache.String()
	f.tuning.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.store.data, "data", "", "`folder` of a store, on the volume to measure")
	fl.Var(&f.index, "index", "name of the index in it")
	fl.StringVar(&f.files.Vectors, "input", "", "`file` of vectors to build an index of, instead of --data")
	fl.StringVar(&f.files.Keys, "keys", "", "`file` of their keys, one a line (default: row numbers)")
	fl.Var(&f.metric, "metric", "how the vectors of --input are compared")
	fl.StringVar(&f.work, "work", "", "`folder` for the index of --input, on the volume to measure (default: --out)")
	fl.StringVar(&f.queries, "queries", "", "`file` of vectors to search for")
	fl.StringVar(&f.truth, "truth", "", "`file` of the row numbers of their true neighbours")
	fl.StringVar(&f.dist, "truth-dist", "", "`file` of the distances of their true neighbours")
	fl.VarP(&f.k, "k", "k", "number of results of a query")
	fl.StringVar(&f.out, "out", "", "`folder` for the results")
	fl.Var(&f.volumes, "volumes", "settings of the volume, IOPS/MiBps or as-is (default 3000/125,16000/1000,80000/2000)")
	fl.StringSliceVar(&f.axes.Engines, "engines", nil, "I/O `engines` (default io_uring,pread,mmap)")
	fl.IntSliceVar(&f.axes.Clients, "clients", nil, "queries in progress at one time (default 8,32,128)")
	fl.IntSliceVar(&f.axes.SearchProbe, "search-probe", nil, "most postings to read (default 32,64,128,256)")
	fl.IntSliceVar(&f.axes.RescoreLimit, "rescore-limit", nil, "most candidates to rescore (default 100,350,1000)")
	fl.Var(&f.rules, "stop-rules", "with the stop rules, without, or both")
	fl.BoolVar(&f.full, "full", false, "measure every combination")
	fl.BoolVar(&f.compact, "compact", false, "measure all dials at 32 clients by io_uring, clients and engines at two dials (default)")
	fl.Float64Var(&f.seconds, "seconds", 10, "`time` of a run that is measured")
	fl.Float64Var(&f.warmup, "warmup", 3, "`time` of a run before that, discarded")
	fl.Var(&f.cgroupMemory, "cgroup-memory", "put the program into a control group of this much memory, page cache included")
	fl.BoolVar(&f.fresh, "fresh", false, "discard the runs that are there")
	fl.BoolVar(&f.expect, "expect", false, fmt.Sprintf("exit with 3 when QPS falls below %g of itself from 32 to 128 clients, or fewer than 9 of "+
		"10 predictions are within 10 %%", scaling.MinFlat))
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
}

// volumesFlag is a list of settings of the volume.
type volumesFlag []scaling.Volume

func (f *volumesFlag) Type() string { return "settings" }

func (f *volumesFlag) String() string {
	text := make([]string, len(*f))
	for i, v := range *f {
		text[i] = v.String()
	}
	return strings.Join(text, ",")
}

func (f *volumesFlag) Set(s string) error {
	v, err := scaling.ParseVolumes(s)
	*f = v
	return err
}

// config is the experiment that the flags ask for.
func (f *benchIOPSFlags) config(c *cli) (scaling.Config, error) {
	if f.seconds <= 0 || f.warmup < 0 || f.seconds > 1e5 || f.warmup > 1e5 {
		return scaling.Config{}, badUsage("--seconds %g, --warmup %g: want times above 0 and from 0, up to 100,000", f.seconds, f.warmup)
	}
	axes := f.axes
	axes.Volumes, axes.Full = f.volumes, f.full
	axes.StopRules = map[string][]bool{"on": {true}, "off": {false}, "both": {true, false}}[f.rules.value]
	warmup := seconds(f.warmup)
	if warmup == 0 {
		warmup = -1 // none, where 0 is the default
	}
	return scaling.Config{
		Axes: axes, Data: f.store.data, Bucket: f.index.bucket, Index: f.index.name, Input: f.files, Metric: f.metric.value,
		Parameters: f.tuning.config(), Work: f.work, Queries: f.queries, Truth: f.truth, Distances: f.dist, K: int(f.k),
		Out: f.out, Fresh: f.fresh, Window: seconds(f.seconds), Warmup: warmup, CgroupMemory: int64(f.cgroupMemory),
		Store: f.store.options(c.stderr),
	}, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// pathFlags are flags whose values say where things are on this machine, of which
// a report needs no more than the last part.
var pathFlags = []string{"config", "data", "input", "keys", "out", "queries", "truth", "truth-dist", "work"}

// commandLine is the command with the flags that were given.
func commandLine(cmd *cobra.Command) string {
	parts := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if slices.Contains(pathFlags, f.Name) {
			value = filepath.Base(value)
		}
		if f.Value.Type() == "bool" {
			parts = append(parts, "--"+f.Name)
			return
		}
		parts = append(parts, "--"+f.Name, strings.Trim(value, "[]"))
	})
	return strings.Join(parts, " ")
}

func (c *cli) benchIOPS(ctx context.Context, f *benchIOPSFlags, command string) error {
	cfg, err := f.config(c)
	if err != nil {
		return err
	}
	cfg.Command = command
	bar := c.newProgress()
	defer bar.done()
	cfg.Progress = func(p scaling.Progress) {
		phase := "preparing"
		if p.Run > 0 {
			phase = fmt.Sprintf("run %d of %d", p.Run, p.Runs)
		}
		bar.timed(fio.Progress{Phase: phase, Step: p.Step, Elapsed: p.Elapsed, Remaining: p.Remaining})
	}
	report, err := scaling.Run(ctx, cfg)
	bar.done()
	switch {
	case errors.Is(err, scaling.ErrConfig), errors.Is(err, scaling.ErrOther):
		return badUsage("bench iops: %v", err)
	case err != nil:
		return err
	}
	if err := report.WriteFiles(f.out); err != nil {
		return err
	}
	if f.json {
		err = c.emit(true, report, nil)
	} else {
		err = report.Text(c.stdout)
	}
	if err != nil {
		return err
	}
	if below := report.Below(); f.expect && len(below) > 0 {
		return &belowError{"bench iops: " + strings.Join(below, "; ")}
	}
	return nil
}
