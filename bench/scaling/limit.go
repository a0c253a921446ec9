package scaling

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spratdb/sprat/iopath"
)

const (
	block     = 4096 // unit of offsets, in bytes
	largeRead = iopath.OpBytes
	fullDepth = 128 // reads in flight that reach what the volume gives
)

// largestFile is the path and size of the largest file of the indexes of a store:
// random reads of it go all over its part of the volume.
func largestFile(dir string) (path string, size int64, err error) {
	err = filepath.WalkDir(filepath.Join(dir, "indexes"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > size {
			path, size = p, info.Size()
		}
		return err
	})
	if err == nil && size < largeRead {
		err = fmt.Errorf("the index is too small to measure a volume with: its largest file has %d bytes, want at least %d", size, largeRead)
	}
	if err != nil {
		return "", 0, fmt.Errorf("scaling: %w", err)
	}
	return path, size, nil
}

// measureLimit finds what the volume of a store gives now, by random reads through an I/O
// engine of its own. long is the time of the two main points.
func measureLimit(ctx context.Context, dir string, direct string, long time.Duration) (_ Limit, err error) {
	path, size, err := largestFile(dir)
	if err != nil {
		return Limit{}, err
	}
	e, err := iopath.Open(filepath.Dir(path), iopath.Config{Direct: direct, Depth: 4 * fullDepth})
	if err != nil {
		return Limit{}, fmt.Errorf("scaling: %w", err)
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	f, err := e.OpenFile(path)
	if err != nil {
		return Limit{}, fmt.Errorf("scaling: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	at := func(depth, bytes int, window time.Duration) (Point, error) {
		iops, err := randomReads{engine: e, file: f, size: size, depth: depth, bytes: bytes}.run(ctx, window)
		return Point{Depth: depth, Bytes: bytes, IOPS: round(iops, 1)}, err
	}
	return measurePoints(at, long)
}

// The points of a volume's limit besides the two main ones.
var (
	limitDepths = []int{1, 4, 16, 48}                 // reads of 4 KiB in flight
	limitSizes  = []int{16 << 10, 40 << 10, 96 << 10} // bytes of a read
)

// measurePoints measures the two main points for a long time and the others twice for
// a quarter of it, of which the better counts: what else the machine does can only
// take from a volume.
func measurePoints(at func(depth, bytes int, window time.Duration) (Point, error), long time.Duration) (l Limit, err error) {
	most, err := at(fullDepth, block, long)
	if err != nil {
		return l, err
	}
	largest, err := at(fullDepth/4, largeRead, long)
	if err != nil {
		return l, err
	}
	twice := func(depth, bytes int) (best Point, err error) {
		for range 2 {
			p, err := at(depth, bytes, long/4)
			if err != nil {
				return p, err
			}
			if p.IOPS >= best.IOPS {
				best = p
			}
		}
		return best, nil
	}
	for _, depth := range limitDepths {
		p, err := twice(depth, block)
		if err != nil {
			return l, err
		}
		l.Depths = append(l.Depths, p)
	}
	l.Sizes = append(l.Sizes, most)
	for _, bytes := range limitSizes {
		p, err := twice(fullDepth/2, bytes)
		if err != nil {
			return l, err
		}
		l.Sizes = append(l.Sizes, p)
	}
	l.IOPS, l.MiBps = most.IOPS, round(largest.IOPS*largeRead/(1<<20), 2)
	l.BaseLatency = round(1000*ratioOf(1, l.Depths[0].IOPS), 4)
	l.Depths, l.Sizes = append(l.Depths, most), append(l.Sizes, largest)
	return l, nil
}

// randomReads is a number of readers that each keep one read in flight.
type randomReads struct {
	engine *iopath.Engine
	file   *iopath.File
	size   int64 // of the file
	depth  int
	bytes  int
}

const tick = 10 * time.Millisecond

// run reads for the window, after a fifth of it, and returns the reads a second.
func (l randomReads) run(ctx context.Context, window time.Duration) (float64, error) {
	var done atomic.Int64
	var stop atomic.Bool
	g, gctx := errgroup.WithContext(ctx)
	for reader := range l.depth {
		g.Go(func() error { return l.reader(gctx, uint64(reader), &done, &stop) })
	}
	var times, counts []float64
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	begin := time.Now()
	for passed := time.Duration(0); passed < window+window/5 && gctx.Err() == nil; passed = time.Since(begin) {
		select {
		case <-ticks.C:
		case <-gctx.Done():
		}
		if passed >= window/5 {
			times, counts = append(times, time.Since(begin).Seconds()), append(counts, float64(done.Load()))
		}
	}
	stop.Store(true)
	if err := g.Wait(); err != nil {
		return 0, fmt.Errorf("scaling: random reads: %w", err)
	}
	return slope(times, counts), ctx.Err()
}

func (l randomReads) reader(ctx context.Context, number uint64, done *atomic.Int64, stop *atomic.Bool) error {
	rng := rand.New(rand.NewPCG(number, uint64(time.Now().UnixNano())))
	places := (l.size-int64(l.bytes))/block + 1
	for !stop.Load() {
		if err := l.readOne(ctx, rng.Int64N(places)*block); err != nil {
			return err
		}
		done.Add(1)
	}
	return nil
}

// readOne reads as a query does: a batch, one wave.
func (l randomReads) readOne(ctx context.Context, off int64) error {
	b := l.engine.NewBatch()
	defer b.Release()
	b.Read(l.file, off, l.bytes, 0)
	if err := b.Submit(ctx); err != nil {
		return err
	}
	c, err := b.Next(ctx)
	return errors.Join(err, c.Err)
}

// slope is the rise of the least-squares line through points. Throttles let
// operations through in slices of about 100 ms, so the quotient of a window is off
// by up to a slice at either end; the slope hardly notices them.
func slope(x, y []float64) float64 {
	n := float64(len(x))
	if n < 2 {
		return 0
	}
	var mx, my, xy, xx float64
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
	}
	return max(ratioOf(xy, xx), 0)
}

// against says what the volume lacks of what it was set to, "" when it gives all.
func (l Limit) against(v Volume) string {
	var short []string
	if float64(v.IOPS) > l.IOPS*1.03 {
		short = append(short, figures(l.IOPS)+" of "+thousands(v.IOPS)+" IOPS")
	}
	if float64(v.MiBps) > l.MiBps*1.03 {
		short = append(short, figures(l.MiBps)+" of "+thousands(v.MiBps)+" MiB/s")
	}
	if len(short) == 0 {
		return ""
	}
	return "the device beneath gave " + strings.Join(short, " and ")
}
