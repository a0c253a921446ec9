package iopath

import (
	"errors"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// TestRoundCovers checks the rounded range of any read: aligned, covering, and
// never more than one block longer at either end.
func TestRoundCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		align := 1 << rapid.IntRange(0, 16).Draw(t, "log2 align")
		r := request{
			file: &File{align: align},
			off:  rapid.Int64Range(0, maxOffset-MaxReadBytes).Draw(t, "off"),
			n:    rapid.IntRange(1, MaxReadBytes).Draw(t, "n"),
		}
		r.round()
		a := int64(align)
		end := r.off + int64(r.n)
		if r.start%a != 0 || int64(r.length)%a != 0 {
			t.Fatalf("range [%d,+%d) is not aligned to %d", r.start, r.length, a)
		}
		if r.start > r.off || r.off-r.start >= a {
			t.Fatalf("start %d for offset %d, alignment %d", r.start, r.off, a)
		}
		if over := r.start + int64(r.length) - end; over < 0 || over >= a {
			t.Fatalf("end is off by %d, alignment %d", over, a)
		}
		if r.start+int64(r.need) != end {
			t.Fatalf("need %d from %d, want up to %d", r.need, r.start, end)
		}
	})
}

// TestAbsorb walks reads through the results of their attempts.
func TestAbsorb(t *testing.T) {
	const eio, eintr = -int(syscall.EIO), -int(syscall.EINTR)
	cases := []struct {
		name    string
		align   int
		off     int64
		n       int
		results []int
		want    verdict // after the last result
		err     error
		got     int
	}{
		{"all at once", 512, 100, 1000, []int{1536}, verdictDone, nil, 1536},
		{"just enough", 512, 100, 1000, []int{1100}, verdictDone, nil, 1100},
		{"one byte missing, then the rest", 512, 100, 1000, []int{1099, 76 + 512}, verdictDone, nil, 1612},
		{"cut in mid-block", 512, 0, 1024, []int{700}, verdictAgain, nil, 512},
		{"cut in the first block", 512, 0, 1024, []int{100}, verdictAgain, nil, 0},
		{"end of file in the first block", 512, 0, 1024, []int{100, 100}, verdictDone, errShort, 0},
		{"end of file in a later block", 512, 0, 2048, []int{700, 188}, verdictDone, errShort, 512},
		{"end of file at a block", 512, 0, 2048, []int{1024, 0}, verdictDone, errShort, 1024},
		{"nothing there", 512, 4096, 10, []int{0}, verdictDone, errShort, 0},
		{"buffered: byte by byte", 1, 3, 4, []int{1, 1, 1, 1}, verdictDone, nil, 4},
		{"buffered: end of file", 1, 3, 4, []int{3, 0}, verdictDone, errShort, 3},
		{"first device error", 512, 0, 512, []int{eio}, verdictRescue, nil, 0},
		{"second device error", 512, 0, 512, []int{eio, eio}, verdictDone, syscall.EIO, 0},
		{"interrupted between device errors", 512, 0, 512, []int{eio, eintr, eio}, verdictDone, syscall.EIO, 0},
		{"other errors count at once", 512, 0, 512, []int{-int(syscall.EBADF)}, verdictDone, syscall.EBADF, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var count counters
			r := request{file: &File{align: c.align}, off: c.off, n: c.n}
			r.round()
			var v verdict
			for i, res := range c.results {
				if v = r.absorb(res, &count); v == verdictDone && i < len(c.results)-1 {
					t.Fatalf("done after result %d", i)
				}
			}
			if v != c.want || !errors.Is(r.err, c.err) || r.got != c.got {
				t.Errorf("verdict %d, error %v, got %d; want %d, %v, %d", v, r.err, r.got, c.want, c.err, c.got)
			}
		})
	}
}

// TestAbsorbEnds feeds any results: a read comes to its end within maxTries,
// and never with success while bytes are missing.
func TestAbsorbEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		align := rapid.SampledFrom([]int{1, 512, 4096}).Draw(t, "align")
		r := request{
			file: &File{align: align},
			off:  rapid.Int64Range(0, 10_000).Draw(t, "off"),
			n:    rapid.IntRange(1, 50_000).Draw(t, "n"),
		}
		r.round()
		var count counters
		for tries := 1; ; tries++ {
			res := rapid.IntRange(-3, r.length-r.got).Draw(t, "result")
			if res < 0 {
				res = []int{-int(syscall.EINTR), -int(syscall.EAGAIN), -int(syscall.EIO)}[-res-1]
			}
			before := r.got
			done := r.absorb(res, &count) == verdictDone
			if r.got < before && r.seen < before {
				t.Fatalf("went back from %d to %d", before, r.got)
			}
			if !done && (r.got%align != 0 || r.got >= r.need) {
				t.Fatalf("attempts go on at %d of %d", r.got, r.need)
			}
			if done && (r.err == nil) != (r.got >= r.need) {
				t.Fatalf("done with %d of %d bytes and error %v", r.got, r.need, r.err)
			}
			if done {
				return
			}
			if tries >= maxTries {
				t.Fatalf("still not done after %d attempts", tries)
			}
		}
	})
}
