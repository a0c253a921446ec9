package scaling

import (
	"context"
	"errors"
	"time"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/iopath"
)

const (
	lookEvery = 100 * time.Millisecond
	// leastAnswers of each client, and enoughAnswers in all, make a window; stretch is
	// how many times as long as asked for it may become for that.
	leastAnswers  = 4
	enoughAnswers = 300
	stretch       = 3
	// drain is how long the last queries of a load are waited for.
	drain = 2 * time.Second
)

// measure runs the load of one setting.
func (x *experiment) measure(ctx context.Context, s Setting) (*Result, error) {
	x.say(s.String())
	r := &Result{Setting: s, Limit: x.limit}
	if err := x.dropCache(); err != nil {
		r.Cold = err.Error()
	}
	gauges, err := newGauges("/", x.device, nil)
	if err != nil {
		return nil, err
	}
	if x.group != nil && x.cfg.CgroupMemory > 0 {
		gauges.group = x.group
		x.group.ResetPeak()
	}
	gauges.volume = func() iopath.Stats {
		st, err := x.store.Stats()
		if err != nil {
			return iopath.Stats{} // closed: the load fails with that, too
		}
		return st.Volume
	}
	w := newWindow(x.index, x.data.score)
	l := newLoad(ctx, x.cfg, s, x.data.queries, w)
	defer l.cancel()
	if err := x.watch(l, w, r, gauges); err != nil {
		l.cancel()
		<-l.done // an error of the load has been seen already
		return nil, err
	}
	if err := l.end(); err != nil {
		return nil, err
	}
	info := x.store.IOInfo()
	r.IOEngine, r.DirectIO = info.Engine, info.Direct
	r.derive(x.about.Machine.Cores)
	return r, nil
}

// load is clients that ask until they are told to stop.
type load struct {
	cancel context.CancelFunc
	until  chan struct{}
	done   chan error // gets one value
	ctx    context.Context
	parent context.Context
}

func newLoad(ctx context.Context, cfg *Config, s Setting, queries [][]float32, w *window) *load {
	parent := ctx
	ctx, cancel := context.WithCancel(ctx)
	l := &load{cancel: cancel, ctx: ctx, parent: parent, until: make(chan struct{}), done: make(chan error, 1)}
	work := bench.Workload{
		Queries: queries, K: cfg.K, Clients: s.Clients, Until: l.until, Score: w.judge,
		Options: sprat.QueryOptions{SearchProbe: s.SearchProbe, RescoreLimit: s.RescoreLimit, FixedWork: !s.StopRules},
	}
	go func() {
		_, err := work.Run(ctx, w)
		l.done <- err
	}()
	return l
}

// end stops the load. Queries that take long are not waited for to their end.
func (l *load) end() error {
	close(l.until)
	patience := time.NewTimer(drain)
	defer patience.Stop()
	select {
	case err := <-l.done:
		return err
	case <-patience.C:
	}
	l.cancel()
	if err := <-l.done; !errors.Is(err, context.Canceled) {
		return err
	}
	return context.Cause(l.parent) // of the whole, if it was that
}

// watch lets the load warm up, opens the window, and closes it when there is enough
// in it.
func (x *experiment) watch(l *load, w *window, r *Result, g *gauges) error {
	clients := int64(r.Setting.Clients)
	err := x.until(l, w, x.cfg.Warmup, func(answered, _ int64) bool { return answered >= clients }, nil)
	if err != nil {
		return err
	}
	w.begin()
	s := newSampler(g, min(time.Second, max(x.cfg.Window/2, time.Millisecond)))
	err = x.until(l, w, x.cfg.Window, func(_, queries int64) bool { return queries >= max(leastAnswers*clients, enoughAnswers) }, s)
	if err != nil {
		return err
	}
	r.Load = w.end(x.cfg.K, r.Setting.Clients)
	s.end(r, r.Load.Queries)
	return nil
}

// until waits for a time, and up to stretch times as long until enough is there.
func (x *experiment) until(l *load, w *window, span time.Duration, enough func(answered, queries int64) bool, s *sampler) error {
	begin := time.Now()
	ticks := time.NewTicker(max(min(lookEvery, span/4), time.Millisecond))
	defer ticks.Stop()
	said := begin
	for {
		select {
		case err := <-l.done:
			l.done <- err
			if err == nil {
				err = errors.New("scaling: the load ended by itself")
			}
			return err
		case <-l.ctx.Done():
			return context.Cause(l.ctx)
		case <-ticks.C:
		}
		answered, queries := w.counts()
		if s != nil {
			s.look(queries)
		}
		if time.Since(said) >= time.Second {
			said = time.Now()
			x.say(x.settings[x.present-1].String())
		}
		passed := time.Since(begin)
		if passed >= span && enough(answered, queries) || passed >= stretch*span {
			return nil
		}
	}
}

// derive fills in what follows from the load.
func (r *Result) derive(cores int) {
	w := r.Load
	r.KiBPerRead = round(ratioOf(w.KiBPerQuery, w.ReadsPerQuery), 2)
	limit := r.Limit.within(r.Setting.Volume)
	r.ShareOfLimit = round(max(ratioOf(r.IOPS, limit.IOPS), ratioOf(r.MiBps, limit.MiBps)), 4)
	r.CPUShare = round(ratioOf(r.CPU, float64(cores)), 4)
}
