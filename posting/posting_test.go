package posting

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spratdb/sprat/rq"
)

var rewrite = flag.Bool("rewrite", false, "rewrite golden files")

func mustLayout(t testing.TB, d, bits, centroidBits int) Layout {
	t.Helper()
	l, err := NewLayout(7, d, bits, centroidBits)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func gaussian(rng *rand.Rand, d int) []float32 {
	v := make([]float32, d)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

// fixture is an encoded posting with what it was made from.
type fixture struct {
	layout   Layout
	centroid []float32 // decoded
	vectors  [][]float32
	entries  []Entry
	extent   []byte
	used     int
}

func makeFixture(t testing.TB, d, bits, n int, id uint32) *fixture {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(d), uint64(bits*1000+n)))
	f := &fixture{layout: mustLayout(t, d, bits, 8)}
	cc, err := rq.NewCentroidCoder(d, 8)
	if err != nil {
		t.Fatal(err)
	}
	var ws rq.Workspace
	c := Centroid{Code: make([]byte, cc.CodeSize())}
	c.Scale, c.NormSq = cc.EncodeParts(c.Code, gaussian(rng, d))
	f.centroid = make([]float32, d)
	cc.DecodeParts(f.centroid, c.Code, c.Scale)
	b := NewBuilder(f.layout)
	for i := range n {
		v := gaussian(rng, d)
		for j := range v {
			v[j] = f.centroid[j] + v[j]/2
		}
		e := Entry{Slot: uint32(i*3 + 1), Generation: uint8(i), Primary: i%4 == 0, Code: make([]byte, f.layout.CodeSize())}
		e.Factors = f.layout.Coder().Encode(e.Code, v, f.centroid, &ws)
		f.vectors, f.entries = append(f.vectors, v), append(f.entries, e)
		b.Add(e)
	}
	ext, used := b.Encode(id, c)
	f.extent, f.used = append([]byte(nil), ext...), used
	return f
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := 8 * rapid.IntRange(1, 40).Draw(rt, "d/8")
		bits := rapid.IntRange(1, 8).Draw(rt, "bits")
		n := rapid.IntRange(0, 60).Draw(rt, "n")
		f := makeFixture(t, d, bits, n, 42)
		if len(f.extent)%ExtentAlign != 0 || f.used != f.layout.Bytes(n) {
			rt.Fatalf("extent of %d bytes, used %d, want %d", len(f.extent), f.used, f.layout.Bytes(n))
		}
		v, err := f.layout.Parse(f.extent[:f.used], 42)
		if err != nil {
			rt.Fatal(err)
		}
		if v.N != n || v.Primaries != (n+3)/4 {
			rt.Fatalf("%d entries, %d primary", v.N, v.Primaries)
		}
		bySlot := map[uint32]Entry{}
		for _, e := range f.entries {
			bySlot[e.Slot] = e
		}
		for i := range v.N {
			e := bySlot[v.Slot(i)]
			got := v.Factors(i)
			if e.Primary != (i < v.Primaries) || v.Generation(i) != e.Generation ||
				got.Add != e.Factors.Add || got.Rescale != e.Factors.Rescale || got.Error < e.Factors.Error ||
				string(v.Code(i)) != string(e.Code) {
				rt.Fatalf("entry %d is not what was added", i)
			}
		}
	})
}

func TestCapacityIsTheInverseOfBytes(t *testing.T) {
	for _, bits := range []int{1, 2, 3, 8} {
		l := mustLayout(t, 384, bits, 8)
		for _, bytes := range []int{0, 100, 4096, 32 << 10, MaxBytes} {
			n := l.Capacity(bytes)
			if n > 0 && l.Bytes(n) > bytes || l.Bytes(n+1) <= bytes {
				t.Errorf("%d bits: capacity of %d bytes is %d", bits, bytes, n)
			}
		}
	}
}

// TestScanAgainstBruteForce: with no bound every entry is a hit, near its true
// distance; with a bound the hits are exactly those whose lower bound is within.
func TestScanAgainstBruteForce(t *testing.T) {
	for _, bits := range []int{1, 2, 4, 8} {
		f := makeFixture(t, 256, bits, 200, 1)
		v, err := f.layout.Parse(f.extent, 1)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(9, uint64(bits)))
		target := gaussian(rng, 256)
		var q rq.Query
		q.Reset(target)
		qc2 := distSq(target, f.centroid)
		var s Scanner
		inf := float32(math.Inf(1))
		all := s.Scan(nil, &f.layout, &v, &q, qc2, 1, inf)
		if len(all) != v.N {
			t.Fatalf("%d hits of %d entries", len(all), v.N)
		}
		within := 0
		for _, h := range all {
			d := distSq(target, f.vectors[(h.Slot-1)/3])
			if math.Abs(float64(h.Est-d)) <= 3*float64(h.Err)+1e-3*float64(d) {
				within++
			}
		}
		if within < len(all)*98/100 {
			t.Errorf("%d bits: %d of %d estimates within 3 sigma", bits, within, len(all))
		}
		limit := all[len(all)/2].Est
		some := s.Scan(nil, &f.layout, &v, &q, qc2, 1, limit)
		want := 0
		for _, h := range all {
			if h.Est-h.Err <= limit {
				want++
			}
		}
		if len(some) != want || want == 0 || want == len(all) {
			t.Errorf("%d bits: %d hits within the bound, want %d of %d", bits, len(some), want, len(all))
		}
		if n := testing.AllocsPerRun(20, func() { all = s.Scan(all[:0], &f.layout, &v, &q, qc2, 1, inf) }); n != 0 {
			t.Errorf("a warm scan allocates %v times", n)
		}
	}
}

func distSq(a, b []float32) float32 {
	var s float64
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		s += d * d
	}
	return float32(s)
}

func TestParseRefusesDamage(t *testing.T) {
	f := makeFixture(t, 64, 2, 20, 5)
	reseal := func(b []byte) {
		n := binary.LittleEndian.Uint32(b[24:])
		if int(n) <= len(b) && n > 8 {
			binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:n], castagnoli))
		}
	}
	cases := map[string]struct {
		damage func(b []byte) []byte
		want   string
	}{
		"short":        {func(b []byte) []byte { return b[:10] }, "shorter than a header"},
		"magic":        {func(b []byte) []byte { b[0]++; return b }, "magic"},
		"version":      {func(b []byte) []byte { b[8]++; reseal(b); return b }, "version"},
		"length":       {func(b []byte) []byte { binary.LittleEndian.PutUint32(b[24:], 1<<31); return b }, "length"},
		"count":        {func(b []byte) []byte { binary.LittleEndian.PutUint32(b[16:], 1<<30); reseal(b); return b }, "entries"},
		"primaries":    {func(b []byte) []byte { binary.LittleEndian.PutUint32(b[20:], 21); reseal(b); return b }, "primary"},
		"bits":         {func(b []byte) []byte { b[10] = 3; reseal(b); return b }, "codes of"},
		"other index":  {func(b []byte) []byte { b[32]++; reseal(b); return b }, "index"},
		"bit flip":     {func(b []byte) []byte { b[200] ^= 16; return b }, "checksum"},
		"torn":         {func(b []byte) []byte { clear(b[f.used-100 : f.used]); return b }, "checksum"},
		"other id":     {func(b []byte) []byte { binary.LittleEndian.PutUint32(b[12:], 6); reseal(b); return b }, "posting 6"},
		"cut in codes": {func(b []byte) []byte { return b[:f.used-1] }, "length"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := c.damage(append([]byte(nil), f.extent...))
			_, err := f.layout.Parse(b, 5)
			var ce *CorruptError
			if !errors.Is(err, ErrCorrupt) || !errors.As(err, &ce) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one about %q", err, c.want)
			}
			if err := Located(err, "file", 8192); !strings.Contains(err.Error(), "file at offset 8192") {
				t.Errorf("located error %v", err)
			}
		})
	}
}

// TestGolden pins the bytes of version 1.
func TestGolden(t *testing.T) {
	l := mustLayout(t, 16, 1, 4)
	b := NewBuilder(l)
	b.Add(Entry{Slot: 0x01020304, Generation: 9, Factors: rq.Factors{Add: 1, Rescale: -2, Error: 0.5}, Code: []byte{0xaa, 0x55}})
	b.Add(Entry{Slot: 0x0a0b0c0d, Generation: 1, Primary: true, Factors: rq.Factors{Add: 3, Rescale: 4, Error: 0.1}, Code: []byte{0xf0, 0x0f}})
	ext, used := b.Encode(77, Centroid{Code: []byte{1, 2, 3, 4, 5, 6, 7, 8}, Scale: 0.25, NormSq: 16})
	got := hex.Dump(ext[:used])
	path := filepath.Join("testdata", "posting.v1.hex")
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the format of version %d changed:\n%s", Version, got)
	}
}

func TestDirectory(t *testing.T) {
	var d Directory
	e := Extent{Block: 3, Bytes: 5000}
	for _, id := range []uint32{4, 0, 4} {
		if err := d.Put(id, e); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := d.Get(4); !ok || got != e || got.Offset() != 3*ExtentAlign {
		t.Errorf("posting 4: %v %v", got, ok)
	}
	if _, ok := d.Get(3); ok {
		t.Error("posting 3 exists")
	}
	if _, ok := d.Get(99); ok {
		t.Error("posting 99 exists")
	}
	if d.Len() != 2 || d.Limit() != 5 {
		t.Errorf("%d postings, limit %d", d.Len(), d.Limit())
	}
	if err := d.Put(math.MaxUint32, e); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an absurd id gives %v", err)
	}
	if got, err := DecodeExtent(e.AppendValue(nil)); err != nil || got != e {
		t.Errorf("extent comes back as %v, %v", got, err)
	}
	for _, bad := range [][]byte{nil, make([]byte, 7), make([]byte, 8), Extent{Block: 1, Bytes: MaxBytes + 1}.AppendValue(nil)} {
		if _, err := DecodeExtent(bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("extent %x gives %v", bad, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	fx := makeFixture(f, 64, 2, 20, 5)
	f.Add(fx.extent[:fx.used])
	f.Add(fx.extent[:headerBytes])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, sealed := range []bool{false, true} {
			if sealed && len(b) >= headerBytes { // reach the checks behind the checksum
				n := binary.LittleEndian.Uint32(b[24:])
				if n >= 8 && int64(n) <= int64(len(b)) {
					binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:n], castagnoli))
				}
			}
			v, err := fx.layout.Parse(b, 5)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatalf("error %v is not ErrCorrupt", err)
				}
				continue
			}
			for i := range v.N {
				_, _, _ = v.Slot(i), v.Factors(i), v.Code(i)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	for _, c := range []struct{ d, bits, n int }{{768, 1, 300}, {384, 2, 300}, {128, 8, 230}} {
		f := makeFixture(b, c.d, c.bits, c.n, 1)
		v, err := f.layout.Parse(f.extent, 1)
		if err != nil {
			b.Fatal(err)
		}
		var q rq.Query
		q.Reset(f.vectors[0])
		qc2 := distSq(f.vectors[0], f.centroid)
		var s Scanner
		var hits []Hit
		b.Run(f.name(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				hits = s.Scan(hits[:0], &f.layout, &v, &q, qc2, 1.5, qc2/8)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*v.N), "ns/entry")
		})
	}
}

func (f *fixture) name() string {
	return fmt.Sprintf("%dx%dbit", f.layout.D, f.layout.Bits)
}
