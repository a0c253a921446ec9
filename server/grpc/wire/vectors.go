package wire

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
)

// Vectors are the messages of records.
func Vectors(records []sprat.Record) []*spratv1.Vector {
	out := make([]*spratv1.Vector, len(records))
	for i := range records {
		r := &records[i]
		out[i] = &spratv1.Vector{Key: r.Key, Vector: r.Vector, Metadata: r.Metadata}
	}
	return out
}

// Records are the records of messages.
func Records(vectors []*spratv1.Vector) []sprat.Record {
	out := make([]sprat.Record, len(vectors))
	for i, v := range vectors {
		out[i] = sprat.Record{Key: v.GetKey(), Vector: v.GetVector(), Metadata: some(v.GetMetadata())}
	}
	return out
}

// some is b, and nil when it is empty, as the library has what is not there.
func some(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// QueryOptions is the message of options. A deadline becomes a budget, counted from
// now; one that has passed is the least budget.
func QueryOptions(o *sprat.QueryOptions, now time.Time) *spratv1.QueryOptions {
	m := &spratv1.QueryOptions{
		SearchProbe: Int32(o.SearchProbe), RescoreLimit: Int32(o.RescoreLimit), RecallTarget: o.RecallTarget,
		MaxReads: Int32(o.MaxReads), FixedWork: o.FixedWork, ReturnVectors: o.Vectors, ReturnMetadata: o.Metadata,
		Trace: o.Trace, Filter: o.Filter, StrictFilter: o.StrictFilter,
	}
	if !o.Deadline.IsZero() {
		m.Budget = durationpb.New(max(o.Deadline.Sub(now), 1))
	}
	return m
}

// QueryOptionsOf are the options of a message that arrived at a time.
func QueryOptionsOf(m *spratv1.QueryOptions, arrived time.Time) (sprat.QueryOptions, error) {
	o := sprat.QueryOptions{
		SearchProbe: int(m.GetSearchProbe()), RescoreLimit: int(m.GetRescoreLimit()), RecallTarget: m.GetRecallTarget(),
		MaxReads: int(m.GetMaxReads()), FixedWork: m.GetFixedWork(), Vectors: m.GetReturnVectors(),
		Metadata: m.GetReturnMetadata(), Trace: m.GetTrace(), Filter: some(m.GetFilter()), StrictFilter: m.GetStrictFilter(),
	}
	if b := m.GetBudget(); b != nil {
		if b.CheckValid() != nil || b.AsDuration() <= 0 {
			return o, &sprat.InputError{Field: "budget", Want: "a time above 0", Got: b.String()}
		}
		o.Deadline = arrived.Add(b.AsDuration())
	}
	return o, nil
}

// Answer is the message of a result.
func Answer(r *sprat.Result) *spratv1.QueryResponse {
	m := &spratv1.QueryResponse{Partial: r.Partial, Trace: r.Trace, Work: work(&r.Work)}
	rows := make([]spratv1.Match, len(r.Matches)) // one allocation for all
	m.Matches = make([]*spratv1.Match, len(r.Matches))
	for i := range r.Matches {
		x := &r.Matches[i]
		rows[i].Key, rows[i].Distance, rows[i].Vector, rows[i].Metadata = x.Key, x.Distance, x.Vector, x.Metadata
		m.Matches[i] = &rows[i]
	}
	return m
}

// Result is the result of a message.
func Result(m *spratv1.QueryResponse) *sprat.Result {
	r := &sprat.Result{Partial: m.GetPartial(), Trace: m.GetTrace(), Work: workOf(m.GetWork())}
	if n := len(m.GetMatches()); n > 0 {
		r.Matches = make([]sprat.Match, n)
	}
	for i, x := range m.GetMatches() {
		r.Matches[i] = sprat.Match{Key: x.GetKey(), Distance: x.GetDistance(), Vector: x.GetVector(), Metadata: some(x.GetMetadata())}
	}
	return r
}

func work(w *sprat.Work) *spratv1.Work {
	return &spratv1.Work{
		Postings: int64(w.Postings), Codes: int64(w.Codes), Candidates: int64(w.Candidates), Refined: int64(w.Refined),
		Exact: int64(w.Exact), PostingReads: int64(w.PostingReads), RefineReads: int64(w.RefineReads),
		RecordReads: int64(w.RecordReads), Reads: int64(w.Reads), Bytes: w.Bytes, Waves: int64(w.Waves),
		CacheHits: int64(w.CacheHits), Elapsed: durationpb.New(w.Elapsed), Busy: durationpb.New(w.Busy), Stop: w.Stop,
		Plan: w.Plan, Matching: int64(w.Matching), FilterRows: int64(w.FilterRows),
	}
}

func workOf(m *spratv1.Work) sprat.Work {
	return sprat.Work{
		Postings: int(m.GetPostings()), Codes: int(m.GetCodes()), Candidates: int(m.GetCandidates()), Refined: int(m.GetRefined()),
		Exact: int(m.GetExact()), PostingReads: int(m.GetPostingReads()), RefineReads: int(m.GetRefineReads()),
		RecordReads: int(m.GetRecordReads()), Reads: int(m.GetReads()), Bytes: m.GetBytes(), Waves: int(m.GetWaves()),
		CacheHits: int(m.GetCacheHits()), Elapsed: m.GetElapsed().AsDuration(), Busy: m.GetBusy().AsDuration(), Stop: m.GetStop(),
		Plan: m.GetPlan(), Matching: int(m.GetMatching()), FilterRows: int(m.GetFilterRows()),
	}
}
