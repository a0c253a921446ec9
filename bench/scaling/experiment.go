package scaling

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/bench"
	"github.com/spratdb/sprat/internal/blockdev"
	"github.com/spratdb/sprat/internal/throttle"
)

// Run measures every setting that has not been measured yet, and reports all. What
// is measured is kept in the folder Out as it comes, so that a run that is ended
// early goes on where it was. Errors: ErrConfig, ErrOther, ErrRecord,
// [throttle.ErrNotAllowed] when CgroupMemory cannot be had, the context's, those of
// the store and of the file system.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	x, err := newExperiment(cfg)
	if err != nil {
		return nil, err
	}
	return x.run(ctx)
}

// newExperiment reads what there is to read; nothing is measured or made yet but the
// folder for the results.
func newExperiment(cfg Config) (*experiment, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Out, 0o755); err != nil {
		return nil, fmt.Errorf("scaling: %w", err)
	}
	d, e, err := describe(&cfg)
	if err != nil {
		return nil, err
	}
	return &experiment{cfg: &cfg, data: d, about: e, began: time.Now(), dropCache: bench.DropPageCache}, nil
}

// experiment is one that is going on.
type experiment struct {
	cfg   *Config
	data  *data
	about Experiment
	began time.Time
	// dropCache makes the system forget what files it holds in memory.
	dropCache func() error

	journal  *journal
	settings []Setting
	runs     []Result // finished, in any order
	notes    []string

	group    *throttle.Group // nil when nothing may be limited
	throttle string
	device   blockdev.Device

	present  int           // number of the present run, from 1
	measured int           // runs measured since began
	spent    time.Duration // on them

	// Of the present volume and engine.
	volume *Volume
	limit  Limit
	store  *sprat.Store
	index  *sprat.Index
	engine string
}

func (x *experiment) run(ctx context.Context) (_ *Report, err error) {
	if x.cfg.Fresh {
		if err := removeJournal(x.cfg.Out); err != nil {
			return nil, err
		}
	}
	x.journal, x.runs, err = openJournal(x.cfg.Out, x.about)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.journal.close()) }()
	defer func() { err = errors.Join(err, x.end(err)) }()
	x.settings = x.cfg.Axes.Settings()
	if x.missing() == 0 {
		return x.report(), nil
	}
	if err := x.limitProcess(); err != nil {
		return nil, err
	}
	if x.missing() > 0 { // the volume as it is may be all that is left to measure, and be there
		if err := x.data.prepare(ctx, x.cfg, x.journal.begun, x.building); err != nil {
			return nil, err
		}
		if err := x.measureAll(ctx); err != nil {
			return nil, err
		}
	}
	return x.report(), nil
}

// report is of the runs that are there and asked for.
func (x *experiment) report() *Report {
	var runs []Result
	for _, s := range x.settings {
		if i := slices.IndexFunc(x.runs, func(r Result) bool { return r.Setting == s }); i >= 0 {
			runs = append(runs, x.runs[i])
		}
	}
	by := x.throttle
	for _, r := range runs {
		if by == "" && r.Setting.Volume != (Volume{}) {
			by = "control group, in an earlier session"
		}
		if short := r.Limit.against(r.Setting.Volume); short != "" {
			x.note(r.Setting.Volume.words() + ": " + short + ".")
		}
		if r.Cold != "" {
			x.note("The page cache was not dropped before every run: " + r.Cold + ".")
		}
	}
	x.noteOthers(runs)
	return assemble(x.cfg, x.about, by, runs, x.notes)
}

// noteOthers says when other programs used the processors: figures of time are then
// not this program's alone.
func (x *experiment) noteOthers(runs []Result) {
	var others float64
	for _, r := range runs {
		others += max(r.Machine-r.CPU, 0) / float64(len(runs))
	}
	if share := others / float64(x.about.Machine.Cores); share > 0.1 {
		x.note(fmt.Sprintf("Other programs and the kernel took %.0f %% of the processors meanwhile: rates, times and predictions are off by that.", 100*share))
	}
}

// note keeps what a reader must know, once.
func (x *experiment) note(text string) {
	if !slices.Contains(x.notes, text) {
		x.notes = append(x.notes, text)
	}
}

// missing counts the settings without a run.
func (x *experiment) missing() (n int) {
	for _, s := range x.settings {
		if !x.has(s) {
			n++
		}
	}
	return n
}

func (x *experiment) has(s Setting) bool {
	return slices.ContainsFunc(x.runs, func(r Result) bool { return r.Setting == s })
}

// limitProcess moves the process into a control group. Where the volume cannot be
// limited, all its settings become the volume as it is.
func (x *experiment) limitProcess() (err error) {
	on := x.cfg.Out
	if x.cfg.Data != "" {
		on = x.cfg.Data
	} else if x.cfg.Work != "" {
		on = x.cfg.Work
		if err := os.MkdirAll(on, 0o755); err != nil {
			return fmt.Errorf("scaling: %w", err)
		}
	}
	if x.device, err = blockdev.Find(on); err != nil {
		return fmt.Errorf("scaling: %w", err)
	}
	want := throttle.Config{Memory: x.cfg.CgroupMemory}
	if slices.ContainsFunc(x.settings, func(s Setting) bool { return s.Volume != Volume{} }) {
		want.Volume = on
	}
	if want == (throttle.Config{}) {
		x.throttle = "not wanted"
		return nil
	}
	x.group, err = throttle.Open(want)
	var refused *throttle.NotAllowedError
	if errors.As(err, &refused) && refused.What == throttle.OfVolume {
		x.note("Volume settings were left out: " + refused.Error() + ".")
		x.throttle = refused.Error()
		x.cfg.Axes.Volumes = []Volume{{}}
		x.settings = x.cfg.Axes.Settings()
		if want.Volume = ""; want == (throttle.Config{}) {
			return nil
		}
		x.group, err = throttle.Open(want)
	}
	if err != nil {
		return fmt.Errorf("scaling: %w", err)
	}
	if x.throttle == "" {
		x.throttle = x.group.String()
	}
	return nil
}

// end closes what is open. A store of our own goes when the experiment is complete.
func (x *experiment) end(failed error) error {
	errs := []error{x.closeStore()}
	if x.group != nil {
		errs = append(errs, x.group.Close())
	}
	if failed == nil {
		errs = append(errs, x.data.remove())
	}
	return errors.Join(errs...)
}

func (x *experiment) measureAll(ctx context.Context) error {
	for i, s := range x.settings {
		if x.has(s) {
			continue
		}
		x.present = i + 1
		began := time.Now()
		if err := x.enter(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		r, err := x.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		if err := x.journal.add(r); err != nil {
			return err
		}
		x.runs = append(x.runs, *r)
		x.measured++
		x.spent += time.Since(began)
	}
	return nil
}

// enter sets the volume, measures what it gives, and opens the store, each where the
// setting before had another.
func (x *experiment) enter(ctx context.Context, s Setting) error {
	if x.volume == nil || *x.volume != s.Volume {
		if err := x.closeStore(); err != nil {
			return err
		}
		if err := x.setVolume(s.Volume); err != nil {
			return err
		}
		x.say("limit of the volume " + s.Volume.words())
		limit, err := measureLimit(ctx, x.data.dir, x.cfg.Store.Direct, x.cfg.Calibration)
		if err != nil {
			return err
		}
		x.limit, x.volume = limit, &s.Volume
	}
	if x.store != nil && x.engine == s.Engine {
		return nil
	}
	if err := x.closeStore(); err != nil {
		return err
	}
	opts := x.cfg.Store
	opts.IOEngine, opts.ReadOnly = s.Engine, true
	var err error
	if x.store, err = sprat.Open(x.data.dir, opts); err != nil {
		return err
	}
	x.engine = s.Engine
	x.index, err = x.store.Index(x.data.bucket, x.data.index)
	return err
}

func (x *experiment) setVolume(v Volume) error {
	if x.group == nil || !slices.ContainsFunc(x.settings, func(s Setting) bool { return s.Volume != Volume{} }) {
		return nil
	}
	return x.group.Set(throttle.Limits{ReadIOPS: v.IOPS, ReadBytesPerSecond: v.MiBps << 20})
}

func (x *experiment) closeStore() error {
	if x.store == nil {
		return nil
	}
	s := x.store
	x.store, x.index = nil, nil
	return s.Close()
}

// building shows a build.
func (x *experiment) building(step string, done, total int64) {
	if total > 0 {
		step += fmt.Sprintf(" %d %%", 100*done/total)
	}
	x.say("building the index: " + step)
}

// say tells how far the experiment is. A run that is still to be measured is taken
// to need as long as those before.
func (x *experiment) say(step string) {
	each := x.cfg.Warmup + x.cfg.Window + time.Second
	if x.measured > 0 {
		each = x.spent / time.Duration(x.measured)
	}
	x.cfg.Progress(Progress{Step: step, Run: x.present, Runs: len(x.settings), Elapsed: time.Since(x.began),
		Remaining: time.Duration(x.missing()) * each})
}
