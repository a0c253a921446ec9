package fio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spratdb/sprat/iopath"
)

// EngineReport is the depth sweep of one of our engines.
type EngineReport struct {
	Engine  string  `json:"engine"`
	Direct  bool    `json:"direct"`
	Missing string  `json:"missing,omitempty"` // why it could not be measured; nothing else is set then
	Plateau float64 `json:"plateau_iops"`
	Knee    int     `json:"knee_depth"`
	Depths  []Point `json:"depths"`
}

// bench is the measurement of a volume in progress.
type bench struct {
	cfg     Config
	timing  timing
	clock   *clock
	until   time.Time // when everything should be done
	report  *Report
	next    atomic.Int64 // query to ask next
	posting int          // bytes of a posting, of the index if there is one
}

func (b *bench) note(format string, args ...any) {
	b.report.Notes = append(b.report.Notes, fmt.Sprintf(format, args...))
}

// The phases, as they are shown.
const (
	phaseWrite     = "writing the test file"
	phaseDepths    = "depths"
	phaseSizes     = "sizes of reads"
	phaseMixed     = "reads and writes mixed"
	phaseSustained = "sustained reads"
	phaseProgram   = "the program fio"
	phaseOther     = "depths of the other engine"
	phaseIndex     = "queries"
)

// phases is the plan of the time.
func phases(cfg Config, t timing, program bool) []phase {
	out := []phase{{phaseDepths, time.Duration(len(t.depths)*t.rounds) * t.point(t.window)},
		{phaseSizes, time.Duration(len(t.sizes)*t.sizeRounds)*t.point(t.sizeWindow) + t.large}}
	if cfg.File == "" {
		out = append([]phase{{phaseWrite, t.write / 2}}, out...)
		out = append(out, phase{phaseMixed, t.mixed + t.ramp})
	}
	out = append(out, phase{phaseSustained, t.sustained + t.ramp})
	if program {
		out = append(out, phase{phaseProgram, time.Duration(len(t.program)) * (t.programTime + t.ramp + 300*time.Millisecond)})
	}
	out = append(out, phase{phaseOther, time.Duration(len(t.otherDepths)*t.otherRounds) * t.point(t.window)})
	if cfg.Index != nil {
		out = append(out, phase{phaseIndex, indexTime(cfg, t)})
	}
	return out
}

// volume measures the volume: everything but the queries of an index.
func (b *bench) volume(ctx context.Context, program string) (err error) {
	e, err := openEngine(b.cfg, b.report.Environment.Engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	file, remove, err := b.file(ctx, e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	b.report.File = file
	if err := b.main(ctx, e, file); err != nil {
		return err
	}
	if program != "" {
		if err := b.program(ctx, program, file); err != nil {
			return err
		}
	}
	return b.others(ctx, file)
}

// file is the file to read, and how to get rid of it.
func (b *bench) file(ctx context.Context, e *iopath.Engine) (TestFile, func() error, error) {
	if b.cfg.File != "" {
		f, err := existing(b.cfg.File)
		return f, func() error { return nil }, err
	}
	path, remove, err := lockFile(b.cfg.Dir)
	if err != nil {
		return TestFile{}, nil, err
	}
	n, err := roomFor(b.cfg)
	if err != nil {
		return TestFile{}, nil, errors.Join(err, remove())
	}
	b.clock.enter(phaseWrite)
	limit := b.timing.write
	if b.cfg.FileBytes > 0 {
		limit = time.Hour // the user knows what it takes
	}
	f, err := writeTestFile(ctx, e, path, n, limit)
	if err != nil {
		return TestFile{}, nil, errors.Join(err, remove())
	}
	return f, remove, nil
}

// leastSizeDepth is the depth of the sweep of sizes where the knee is lower: it is
// that of small reads, and larger ones take longer, so that more of them must be
// in flight to reach a cap.
const leastSizeDepth = 32

// main measures by the engine that the store uses, and derives what follows.
func (b *bench) main(ctx context.Context, e *iopath.Engine, file TestFile) (err error) {
	f, err := e.OpenFile(file.Path)
	if err != nil {
		return fmt.Errorf("read the test file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	l := load{engine: e, file: f, span: file.Bytes, bytes: block, ramp: b.timing.ramp, window: b.timing.window}
	b.clock.enter(phaseDepths)
	main, err := b.depths(ctx, l, b.timing.depths, b.timing.rounds, b.timing.extraRounds)
	if err != nil {
		return err
	}
	b.report.Engines = []EngineReport{main}
	b.clock.enter(phaseSizes)
	l.window, l.depth = b.timing.sizeWindow, max(main.Knee, leastSizeDepth)
	if b.report.Sizes, err = b.sizes(ctx, l, main.Plateau); err != nil {
		return err
	}
	if b.report.Large, err = b.large(ctx, l); err != nil {
		return err
	}
	l.depth = recommended(main.Knee)
	if file.Written {
		b.clock.enter(phaseMixed)
		mix := l
		mix.window = b.timing.mixed
		if b.report.Mixed, err = mixedRun(ctx, mix, file.Path, b.posting); err != nil {
			return err
		}
	}
	b.clock.enter(phaseSustained)
	l.window = b.timing.sustained
	m, err := l.run(ctx)
	if err != nil {
		return err
	}
	b.report.Sustained = windows(m, l.depth, windowsOf(l.window))
	b.report.Derived = derive(main, b.report.Sizes, b.report.Large, b.report.Sustained)
	return nil
}

// sizes is the sweep of sizes, and the balanced size besides, where one cap gives
// way to the other.
func (b *bench) sizes(ctx context.Context, l load, iops float64) ([]Point, error) {
	points, err := b.sweep(ctx, l, ofSizes(b.timing.sizes, l.depth), b.timing.sizeRounds, 0)
	if err != nil {
		return nil, err
	}
	size := balancedBlocks(points, iops)
	if size == 0 {
		return points, nil
	}
	balanced, err := b.sweep(ctx, l, ofSizes([]int{size}, l.depth), b.timing.sizeRounds, 0)
	if err != nil {
		return nil, err
	}
	points = append(points, balanced...)
	slices.SortFunc(points, func(x, y Point) int { return x.Bytes - y.Bytes })
	return points, nil
}

// large is a longer run of the largest reads.
func (b *bench) large(ctx context.Context, l load) (*Point, error) {
	b.clock.detail("the largest reads")
	l.bytes, l.window = maxReadBytes, b.timing.large
	m, err := l.run(ctx)
	p := m.point(l.depth, l.bytes)
	return &p, err
}

// windowsOf is into how many windows a run is cut: of 10 s, and at least 12.
func windowsOf(run time.Duration) int { return max(int(run/(10*time.Second)), 12) }

// depths is the depth sweep of an engine.
func (b *bench) depths(ctx context.Context, l load, depths []int, rounds, extra int) (EngineReport, error) {
	info := l.engine.Info()
	r := EngineReport{Engine: info.Engine, Direct: info.Direct}
	var err error
	if r.Depths, err = b.sweep(ctx, l, atDepths(depths), rounds, extra); err != nil {
		return r, err
	}
	r.Plateau = round(plateau(r.Depths), 1)
	r.Knee = kneeOf(r.Depths, r.Plateau)
	return r, nil
}

func (b *bench) sweep(ctx context.Context, l load, points []Point, rounds, extra int) ([]Point, error) {
	s := sweep{points: points, rounds: rounds, extra: extra, until: b.until, step: func(p Point, round int) {
		b.clock.detail(fmt.Sprintf("%s, %d in flight, %d KiB, round %d", l.engine.Info().Engine, p.Depth, p.Bytes>>10, round+1))
	}}
	return s.run(ctx, func(ctx context.Context, depth, bytes int) (Point, error) {
		l.depth, l.bytes = depth, bytes
		m, err := l.run(ctx)
		return m.point(depth, bytes), err
	})
}

// program has fio measure. That it cannot is noted and no failure.
func (b *bench) program(ctx context.Context, path string, file TestFile) error {
	b.clock.enter(phaseProgram)
	j := programJob{file: file.Path, direct: b.report.Environment.Direct, bytes: block,
		ramp: b.timing.ramp, window: b.timing.programTime}
	p, err := programSweep(ctx, path, programEngines(b.report.Environment.IOUring), j, b.timing.program, func(depth int) {
		b.clock.detail(fmt.Sprintf("%d in flight", depth))
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		b.note("fio could not measure: %v", err)
		return nil
	}
	b.report.Program = p
	return nil
}

// others measures the engine that the store does not use, last, because the
// threads of pread stay with the process.
func (b *bench) others(ctx context.Context, file TestFile) error {
	b.clock.enter(phaseOther)
	for _, name := range []string{iopath.IOUring, iopath.Pread} {
		if name == b.report.Engines[0].Engine {
			continue
		}
		r, err := b.other(ctx, file, name)
		if err != nil {
			return err
		}
		b.report.Engines = append(b.report.Engines, r)
	}
	return nil
}

func (b *bench) other(ctx context.Context, file TestFile, name string) (_ EngineReport, err error) {
	e, err := openEngine(b.cfg, name)
	if err != nil {
		return EngineReport{Engine: name, Missing: causeOf(err)}, nil
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	f, err := e.OpenFile(file.Path)
	if err != nil {
		return EngineReport{}, fmt.Errorf("read the test file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	l := load{engine: e, file: f, span: file.Bytes, bytes: block, ramp: b.timing.ramp, window: b.timing.window}
	return b.depths(ctx, l, b.timing.otherDepths, b.timing.otherRounds, 0)
}
