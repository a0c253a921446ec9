package grpc

import (
	"time"

	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
)

// reportEvery is how often a client is told of progress within a step.
const reportEvery = 200 * time.Millisecond

// reporter sends progress. The engine calls it from one goroutine at a time.
type reporter struct {
	send func(*spratv1.Progress) error
	last string
	next time.Time
	gone bool // the client; the context of the stream ends the work
}

func newReporter(send func(*spratv1.Progress) error) *reporter { return &reporter{send: send} }

func (r *reporter) report(step string, done, total int64) {
	now := time.Now()
	if r.gone || step == r.last && now.Before(r.next) && (total == 0 || done < total) {
		return
	}
	r.last, r.next = step, now.Add(reportEvery)
	r.gone = r.send(&spratv1.Progress{Step: step, Done: done, Total: total}) != nil
}

// step is report for work of one step.
func (r *reporter) step(name string) func(done, total int64) {
	return func(done, total int64) { r.report(name, done, total) }
}
