package fio

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spratdb/sprat/iopath"
)

// Mixed is reads and writes together, 70 to 30, at the sizes that the store
// uses: records and postings are read, postings are written.
type Mixed struct {
	Depth        int     `json:"depth"` // operations in flight
	RecordBytes  int     `json:"record_bytes"`
	PostingBytes int     `json:"posting_bytes"`
	ReadIOPS     float64 `json:"read_iops"`
	WriteIOPS    float64 `json:"write_iops"`
	ReadMiBps    float64 `json:"read_mib_per_second"`
	WriteMiBps   float64 `json:"write_mib_per_second"`
	Read         Latency `json:"read_latency"`
	Write        Latency `json:"write_latency"`
}

const (
	readShare    = 70 // percent of the operations
	mixedWriters = 8
	mostMixed    = 64       // in flight
	postingBytes = 40 << 10 // target size of a posting
	mostPosting  = 64 << 10
)

// mixedLoad is operations on the test file, which is ours to write to.
type mixedLoad struct {
	load
	writers []*iopath.Updater
	posting int
}

// mixedRun measures reads and writes of a file that this calibration wrote.
func mixedRun(ctx context.Context, l load, path string, posting int) (_ *Mixed, err error) {
	l.depth = min(max(l.depth, mixedWriters), mostMixed)
	m := mixedLoad{load: l, posting: min(max(posting, block), mostPosting)}
	// An Updater lets one write through at a time. Several on one file may not
	// change the same block: each has a part of the file to itself.
	for range mixedWriters {
		u, oerr := l.engine.OpenUpdate(path)
		if oerr != nil {
			return nil, errors.Join(oerr, m.close())
		}
		m.writers = append(m.writers, u)
	}
	defer func() { err = errors.Join(err, m.close()) }()
	return m.run(ctx)
}

func (m *mixedLoad) close() error {
	var errs []error
	for _, u := range m.writers {
		errs = append(errs, u.Close())
	}
	return errors.Join(errs...)
}

func (m *mixedLoad) run(ctx context.Context) (*Mixed, error) {
	var (
		stop          atomic.Bool
		reads, writes = newMeter(time.Now().Add(m.ramp), m.window), newMeter(time.Now().Add(m.ramp), m.window)
		bytesRead     atomic.Int64
	)
	g, ctx := errgroup.WithContext(ctx)
	for worker := range m.depth {
		g.Go(func() error { return m.worker(ctx, worker, reads, writes, &bytesRead, &stop) })
	}
	_, err := watch(ctx, reads.began, m.window)
	stop.Store(true)
	if werr := g.Wait(); werr != nil {
		err = werr
	}
	if err != nil {
		return nil, fmt.Errorf("mixed reads and writes: %w", err)
	}
	out := &Mixed{Depth: m.depth, RecordBytes: block, PostingBytes: m.posting}
	out.ReadIOPS = round(rate(reads.counts(), binWidth), 1)
	out.WriteIOPS = round(rate(writes.counts(), binWidth), 1)
	out.WriteMiBps = round(out.WriteIOPS*float64(m.posting)/mib, 2)
	var ops int64
	out.Read, ops = reads.latency()
	out.Write, _ = writes.latency()
	if ops > 0 {
		out.ReadMiBps = round(out.ReadIOPS*float64(bytesRead.Load())/float64(ops)/mib, 2)
	}
	return out, nil
}

// worker keeps one operation in flight: seven in ten are reads, half of them of
// a record and half of a posting.
func (m *mixedLoad) worker(ctx context.Context, worker int, reads, writes *meter, bytesRead *atomic.Int64, stop *atomic.Bool) error {
	rng := rand.New(rand.NewPCG(uint64(worker), uint64(reads.began.UnixNano())))
	content := make([]byte, m.posting)
	for i := range content {
		content[i] = byte(rng.Uint32())
	}
	part := worker % len(m.writers)
	places := func(n int) int64 { return (m.span-int64(n))/block + 1 }
	for !stop.Load() {
		begin := time.Now()
		if rng.IntN(100) >= readShare {
			if _, err := m.writers[part].WriteAt(content, m.place(part, rng)); err != nil {
				return err
			}
			writes.add(worker, begin, time.Now())
			continue
		}
		n := block
		if rng.IntN(2) == 0 {
			n = m.posting
		}
		if err := readOne(ctx, m.engine, m.file, rng.Int64N(places(n))*block, n); err != nil {
			return err
		}
		end := time.Now()
		if reads.add(worker, begin, end) {
			bytesRead.Add(int64(n))
		}
	}
	return nil
}

// place is where a posting is written, within a writer's part of the file.
func (m *mixedLoad) place(part int, rng *rand.Rand) int64 {
	per := m.span / int64(len(m.writers)) / block * block
	room := (per-int64(m.posting))/block + 1
	return int64(part)*per + rng.Int64N(max(room, 1))*block
}
