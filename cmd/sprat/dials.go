package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat"
)

// dialFlags change how a query is answered.
type dialFlags struct {
	k, probe, limit, maxReads countFlag
	target                    shareFlag
	deadline                  spanFlag
	filter                    string
}

func (f *dialFlags) add(cmd *cobra.Command) {
	f.k = 10
	fl := cmd.Flags()
	fl.VarP(&f.k, "k", "k", "number of results, up to 10,000")
	fl.Var(&f.probe, "search-probe", "most postings to read (default: the index's dials)")
	fl.Var(&f.limit, "rescore-limit", "most candidates to rescore (default: the index's dials)")
	fl.Var(&f.target, "recall-target", "take the cheapest dials that reached this recall on the index's own sample (default: the index's dials)")
	fl.Var(&f.maxReads, "max-reads", "most reads a query may cost; what it has found by then is the answer")
	fl.Var(&f.deadline, "deadline", "time for a query; what it has found by then is the answer")
	fl.StringVar(&f.filter, "filter", "", "search only vectors whose metadata matches, like `'{\"year\":{\"$gte\":1990}}'`")
	for _, name := range []string{"search-probe", "rescore-limit"} {
		cmd.MarkFlagsMutuallyExclusive(name, "recall-target")
	}
}

func (f *dialFlags) options(store *storeFlags) sprat.QueryOptions {
	return sprat.QueryOptions{
		SearchProbe: int(f.probe), RescoreLimit: int(f.limit), RecallTarget: float64(f.target),
		MaxReads: int(f.maxReads), FixedWork: store.adaptive.value == "off", Filter: []byte(f.filter),
	}
}

// timeout is the time for each query, 0 for any.
func (f *dialFlags) timeout() time.Duration { return time.Duration(f.deadline) }
