package iopath

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// sizes of files: around blocks and pages, and none that would hide an error in
// the treatment of the last block.
var fileSizes = []int{1, 511, 512, 513, 4095, 4096, 4097, 12345, 300_001, 1 << 20}

func TestReadsAnyRange(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		e := openEngine(t, cfg)
		files := make([]*File, len(fileSizes))
		want := make([][]byte, len(fileSizes))
		for i, size := range fileSizes {
			files[i], want[i] = openContent(t, e, size)
		}
		rapid.Check(t, func(t *rapid.T) {
			i := rapid.IntRange(0, len(files)-1).Draw(t, "file")
			b := e.NewBatch()
			defer b.Release()
			for range rapid.IntRange(1, 3).Draw(t, "waves") {
				readAll(t, b, files[i], want[i], drawSpans(t, fileSizes[i]))
			}
		})
	})
}

// drawSpans draws reads that mostly lie in a file of the size, often touch its
// end and sometimes reach past it.
func drawSpans(t *rapid.T, size int) []span {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) span {
		off := rapid.IntRange(0, size+600).Draw(t, "off")
		n := rapid.IntRange(1, 9000).Draw(t, "n")
		if rest := size - off; rest > 0 && rapid.Bool().Draw(t, "to the end") {
			n = rest
		}
		return span{int64(off), n}
	}), 1, 20).Draw(t, "spans")
}

func TestDataStaysValidUntilRelease(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		e := openEngine(t, cfg)
		f, want := openContent(t, e, 300_001)
		b := e.NewBatch()
		defer b.Release()
		var kept []Completion
		for wave := range 8 {
			for i := range 5 {
				b.Read(f, int64(wave*5+i)*7000, 7000, uint64(wave*5+i)*7000)
			}
			if err := b.Submit(t.Context()); err != nil {
				t.Fatal(err)
			}
			for b.Pending() > 0 {
				c, err := b.Next(t.Context())
				if err = errors.Join(err, c.Err); err != nil {
					t.Fatal(err)
				}
				kept = append(kept, c)
			}
			other := e.NewBatch() // its buffers are taken and given back meanwhile
			readAll(t, other, f, want, []span{{3, 7000}, {100_000, 7000}})
			other.Release()
		}
		for _, c := range kept {
			if !bytes.Equal(c.Data, want[c.Tag:][:7000]) {
				t.Fatalf("data of the read at %d changed before Release", c.Tag)
			}
		}
	})
}

func TestLargeReads(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		e := openEngine(t, cfg)
		f, want := openContent(t, e, 3<<20+17)
		b := e.NewBatch()
		defer b.Release()
		readAll(t, b, f, want, []span{{0, 3<<20 + 17}, {1, 256 << 10}, {5000, 1<<20 + 1}, {0, 3<<20 + 18}})
	})
}

func TestInvalidReads(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		e := openEngine(t, cfg)
		f, want := openContent(t, e, 5000)
		foreign, _ := openContent(t, openEngine(t, cfg), 5000)
		b := e.NewBatch()
		defer b.Release()
		bad := []struct {
			f *File
			s span
		}{
			{f, span{-1, 10}}, {f, span{0, 0}}, {f, span{0, -5}}, {f, span{0, MaxReadBytes + 1}},
			{f, span{1<<63 - 1, 10}}, {nil, span{0, 10}}, {foreign, span{0, 10}},
		}
		for i, r := range bad {
			b.Read(r.f, r.s.off, r.s.n, uint64(i))
		}
		b.Read(f, 10, 20, 99)
		if err := b.Submit(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range bad {
			c, err := b.Next(t.Context())
			if err != nil || c.Tag == 99 {
				t.Fatalf("Next: %+v, %v", c, err)
			}
			var re *ReadError
			if !errors.Is(c.Err, ErrInvalidRead) || !errors.As(c.Err, &re) || re.Off != bad[c.Tag].s.off {
				t.Errorf("read %d: error %v", c.Tag, c.Err)
			}
		}
		c, err := b.Next(t.Context())
		if err != nil || c.Err != nil || !bytes.Equal(c.Data, want[10:30]) {
			t.Errorf("the valid read among them: %+v, %v", c, err)
		}
		if s := e.Stats(); s.Errors != int64(len(bad)) {
			t.Errorf("%d errors counted, want %d", s.Errors, len(bad))
		}
	})
}

func TestCounters(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		e := openEngine(t, cfg)
		f, want := openContent(t, e, 1<<20)
		a := int64(f.align)
		b := e.NewBatch()
		defer b.Release()
		readAll(t, b, f, want, []span{{a - 1, 2}, {0, 256 << 10}})
		readAll(t, b, f, want, []span{{0, 256<<10 + 1}, {7, int(a)}})
		first := int64(2) // a byte on each side of a boundary
		if a > 1 {
			first = 2 * a
		}
		bytes := first + 256<<10
		bytes += 256<<10 + a
		bytes += a
		if a > 1 {
			bytes += a
		}
		reads, got, waves := b.Counters()
		if reads != 1+1+2+1 || got != bytes || waves != 2 {
			t.Errorf("counters %d reads, %d bytes, %d waves; want 5, %d, 2", reads, got, waves, bytes)
		}
		s := e.Stats()
		if s.Reads != reads || s.Bytes != got || s.Waves != waves || s.Errors != 0 {
			t.Errorf("engine counts %+v", s)
		}
		if s.InFlight != 0 || s.Queued != 0 {
			t.Errorf("%d in flight and %d queued after all was read", s.InFlight, s.Queued)
		}
	})
}

func TestEmptySubmit(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		e := openEngine(t, cfg)
		b := e.NewBatch()
		defer b.Release()
		if err := b.Submit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Next(t.Context()); !errors.Is(err, ErrDrained) {
			t.Errorf("Next: %v", err)
		}
		if _, _, waves := b.Counters(); waves != 0 {
			t.Errorf("%d waves counted for nothing", waves)
		}
	})
}

func TestSubmitOnEndedContext(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		e := openEngine(t, cfg)
		f, want := openContent(t, e, 5000)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b := e.NewBatch()
		defer b.Release()
		b.Read(f, 0, 100, 0)
		if err := b.Submit(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("Submit: %v", err)
		}
		if b.Pending() != 0 {
			t.Errorf("%d reads pending of a wave that was refused", b.Pending())
		}
		readAll(t, b, f, want, []span{{10, 100}}) // the refused read does not come back
	})
}

func TestFileThatChangesSize(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		e := openEngine(t, cfg)
		f, want := openContent(t, e, 100_000)
		if err := readOne(t, e, f, span{99_000, 1000}); err != nil {
			t.Fatal(err)
		}
		more := append(bytes.Clone(want), content(50_000)...)
		if err := os.WriteFile(f.Path(), more, 0o600); err != nil {
			t.Fatal(err)
		}
		b := e.NewBatch()
		defer b.Release()
		readAll(t, b, f, more, []span{{99_000, 2000}, {149_999, 1}, {149_999, 2}})
		if n, err := f.Size(); n != 150_000 || err != nil {
			t.Errorf("size %d, %v", n, err)
		}
		if err := os.Truncate(f.Path(), 5000); err != nil {
			t.Fatal(err)
		}
		readAll(t, b, f, more[:5000], []span{{0, 5000}, {4999, 1}, {4999, 2}, {90_000, 10}, {140_000, 10}})
	})
}

func TestClosedFile(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		e := openEngine(t, cfg)
		f, _ := openContent(t, e, 5000)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := readOne(t, e, f, span{0, 10}); !errors.Is(err, ErrClosed) {
			t.Errorf("read: %v", err)
		}
		if _, err := f.Size(); !errors.Is(err, ErrClosed) {
			t.Errorf("size: %v", err)
		}
		if err := f.Close(); !errors.Is(err, ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
	})
}

func TestMissingFile(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		e := openEngine(t, cfg)
		if _, err := e.OpenFile(t.TempDir() + "/none"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("open: %v", err)
		}
		if _, err := Open(t.TempDir()+"/none", cfg); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("Open of a directory that is not there: %v", err)
		}
	})
}

// TestManyCallers has callers at once read, forget to wait, give up and close
// their files, while each checks every byte it gets.
func TestManyCallers(t *testing.T) {
	eachMode(t, func(t *testing.T, cfg Config) {
		cfg.Depth = 32
		cfg.PoolBytes = 1 // so that memory comes and goes
		e := openEngine(t, cfg)
		f, want := openContent(t, e, 300_001)
		var callers sync.WaitGroup
		for seed := range uint64(6) {
			callers.Go(func() {
				rng := rand.New(rand.NewPCG(seed, 0))
				for range 60 {
					manyCallersWave(t, e, f, want, rng)
				}
			})
		}
		callers.Wait()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		s := e.Stats()
		if s.BufferInUse != 0 || s.BufferMapped != 0 || s.InFlight != 0 || s.Queued != 0 {
			t.Errorf("left behind: %+v", s)
		}
		if s.InFlightMax > 32 {
			t.Errorf("%d reads were in flight at one time, depth 32", s.InFlightMax)
		}
	})
}

// manyCallersWave is one wave of TestManyCallers. One in three is released with
// reads still in flight.
func manyCallersWave(t *testing.T, e *Engine, f *File, want []byte, rng *rand.Rand) {
	b := e.NewBatch()
	defer b.Release()
	var spans []span
	for i := range 1 + rng.IntN(12) {
		s := span{int64(rng.IntN(len(want))), 1 + rng.IntN(20_000)}
		spans = append(spans, s)
		b.Read(f, s.off, s.n, uint64(i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := b.Submit(ctx); err != nil {
		t.Error(err)
		return
	}
	take := len(spans)
	if rng.IntN(3) == 0 {
		take = rng.IntN(take)
	}
	for range take {
		c, err := b.Next(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		s := spans[c.Tag]
		if s.off+int64(s.n) > int64(len(want)) {
			if !errors.Is(c.Err, io.ErrUnexpectedEOF) {
				t.Errorf("read %v past the end: %v", s, c.Err)
			}
		} else if c.Err != nil || !bytes.Equal(c.Data, want[s.off:][:s.n]) {
			t.Errorf("read %v: wrong bytes or %v", s, c.Err)
		}
	}
}

func TestNoAllocationPerRead(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	eachMode(t, func(t *testing.T, cfg Config) {
		cfg.Depth = 32 // so that no worker is started later than in the first wave
		e := openEngine(t, cfg)
		f, _ := openContent(t, e, 300_001)
		for name, ctx := range contexts(t) {
			wave := func() {
				b := e.NewBatch()
				defer b.Release()
				for i := range 32 {
					b.Read(f, int64(i)*9000+1, 5000, uint64(i))
				}
				if err := b.Submit(ctx); err != nil {
					t.Error(err)
				}
				for b.Pending() > 0 {
					if c, err := b.Next(ctx); err != nil || c.Err != nil {
						t.Error(err, c.Err)
					}
				}
			}
			for range 20 {
				wave() // pools fill
			}
			// While reads block, the runtime now and then makes a thread, which
			// counts as a few allocations.
			bound := 1.0
			if e.Info().Engine != IOUring {
				bound = 8
			}
			if n := testing.AllocsPerRun(50, wave); n >= bound {
				t.Errorf("%s: %v allocations for each wave of 32 reads", name, n)
			}
		}
	})
}
