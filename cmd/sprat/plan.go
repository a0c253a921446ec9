package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/fio/plan"
)

// amountFlag is a number above 0; 0 when it was not given.
type amountFlag float64

func (f *amountFlag) Type() string   { return "number" }
func (f *amountFlag) String() string { return strconv.FormatFloat(float64(*f), 'g', -1, 64) }

func (f *amountFlag) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("want a number above 0")
	}
	*f = amountFlag(v)
	return nil
}

type planFlags struct {
	vectors       amountFlag
	dimension     countFlag
	metric        choiceFlag
	recall        shareFlag
	qps           amountFlag
	k             countFlag
	clients       countFlag
	cores         countFlag
	memory        sizeFlag
	keyBytes      countFlag
	metadataBytes rowFlag
	volumes       countFlag
	like          string
	prices        string
	calibration   string
	reads         amountFlag
	kib           amountFlag
	cpuMS         amountFlag
	json          bool
}

func (c *cli) planCommand() *cobra.Command {
	f := planFlags{metric: oneOf("", bench.Cosine, bench.Euclidean, bench.Dot), k: 10, volumes: 1, keyBytes: 8}
	cmd := &cobra.Command{
		Use:   "plan --vectors N --dimension D --metric M --recall R --qps Q",
		Short: "Say what an index will need, and the cheapest volume that serves it",
		Long: "plan says what an index needs at a recall and a rate: memory, disk, IOPS, throughput and processors; the " +
			"cheapest setting of each volume type in a price list that reaches it; and what 100 queries per second cost a month.\n\n" +
			"What a query reads is interpolated between measured real sets; --calibration (of sprat calibrate), or --reads, " +
			"--kib and --cpu-ms (of sprat query --json), put your own measurements in their place. The price list is a JSON file; without one it is EBS gp3 and " +
			"io2 in us-east-1, with the date in the answer.\n\nWhen no volume type reaches the rate, plan says what would, and exits with 3.",
		Args: cobra.NoArgs,
		RunE: c.action(func(context.Context) error { return c.plan(&f) }),
	}
	fl := cmd.Flags()
	fl.Var(&f.vectors, "vectors", "number of vectors, like 10000000 or 1e7")
	fl.Var(&f.dimension, "dimension", "dimension of the vectors")
	fl.Var(&f.metric, "metric", "how vectors are compared")
	fl.Var(&f.recall, "recall", "share of the true nearest to be found")
	fl.Var(&f.qps, "qps", "queries per second")
	fl.VarP(&f.k, "k", "k", "number of results of a query")
	fl.Var(&f.clients, "clients", "clients that wait for each answer before they ask again (default: as many as it takes)")
	fl.Var(&f.cores, "cores", "processors there are (default: as many as it takes)")
	fl.Var(&f.memory, "memory", "memory limit of the store; what it leaves over caches postings (default: the least)")
	fl.Var(&f.keyBytes, "key-bytes", "mean length of a key")
	fl.Var(&f.metadataBytes, "metadata-bytes", "mean length of a vector's metadata")
	fl.Var(&f.volumes, "max-volumes", "most volumes to stripe the store over")
	fl.StringVar(&f.like, "like", "", "measured `set` whose queries yours resemble (default: between them by dimension)")
	fl.StringVar(&f.prices, "prices", "", "price list, a JSON `file`")
	fl.StringVar(&f.calibration, "calibration", "", "own measurements: what sprat calibrate --index --json printed, a `file`")
	fl.Var(&f.reads, "reads", "own measurement: operations of the volume of a query")
	fl.Var(&f.kib, "kib", "own measurement: KiB from the volume of a query")
	fl.Var(&f.cpuMS, "cpu-ms", "own measurement: processor time of a query, in milliseconds")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("calibration", "reads")
	cmd.MarkFlagsMutuallyExclusive("calibration", "kib")
	cmd.MarkFlagsMutuallyExclusive("calibration", "cpu-ms")
	require(cmd, "vectors", "dimension", "metric", "recall", "qps")
	return cmd
}

func (f *planFlags) request() (plan.Request, error) {
	vectors := float64(f.vectors)
	if vectors != math.Trunc(vectors) || vectors > 1e15 {
		return plan.Request{}, badUsage("--vectors: want a whole number up to 4000000000, got %v", vectors)
	}
	own, err := f.own()
	if err != nil {
		return plan.Request{}, err
	}
	return plan.Request{
		Vectors: int64(vectors), Dimension: int(f.dimension), Metric: f.metric.value, K: int(f.k),
		Recall: float64(f.recall), QPS: float64(f.qps),
		Clients: int(f.clients), MemoryLimit: int64(f.memory), Cores: int(f.cores),
		KeyBytes: int(f.keyBytes), MetadataBytes: int(f.metadataBytes), MaxVolumes: int(f.volumes), Like: f.like,
		Own: own,
	}, nil
}

// own is what queries were measured to cost, if they were.
func (f *planFlags) own() (plan.Own, error) {
	if f.calibration == "" {
		return plan.Own{Reads: float64(f.reads), KiB: float64(f.kib), CPUMS: float64(f.cpuMS)}, nil
	}
	text, err := os.ReadFile(f.calibration)
	if err != nil {
		return plan.Own{}, badUsage("--calibration: %v", err)
	}
	own, err := plan.OwnOf(text, int(f.dimension), int(f.k))
	if err != nil {
		return plan.Own{}, badUsage("--calibration %s: %v", f.calibration, err)
	}
	return own, nil
}

// priceList is the file of --prices, or the one that is built in.
func (f *planFlags) priceList() (*plan.Prices, error) {
	if f.prices == "" {
		return plan.DefaultPrices()
	}
	text, err := os.ReadFile(f.prices)
	if err != nil {
		return nil, badUsage("--prices: %v", err)
	}
	list, err := plan.ParsePrices(text)
	if err != nil {
		return nil, badUsage("--prices %s: %v", f.prices, err)
	}
	return list, nil
}

func (c *cli) plan(f *planFlags) error {
	request, err := f.request()
	if err != nil {
		return err
	}
	prices, err := f.priceList()
	if err != nil {
		return err
	}
	p, err := plan.Make(request, prices)
	if errors.Is(err, plan.ErrRequest) {
		return badUsage("%v", err)
	}
	if err != nil {
		return err
	}
	if err := c.emit(f.json, p, func(page *page) { planText(page, p) }); err != nil {
		return err
	}
	if !p.Reached() {
		return &belowError{fmt.Sprintf("plan: no volume type of the price list reaches %s QPS", planRate(request.QPS))}
	}
	return nil
}
