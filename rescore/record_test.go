package rescore

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
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

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dim := rapid.IntRange(1, 900).Draw(rt, "dim")
		l := NewRecordLayout(dim, rapid.IntRange(0, 64).Draw(rt, "keyCap"), rapid.IntRange(0, 256).Draw(rt, "metaCap"))
		key := rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(rt, "key")
		meta := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "meta")
		slot := rapid.Uint32().Draw(rt, "slot")
		vec := make([]float32, dim)
		for i := range vec {
			vec[i] = float32(i) - 0.5
		}
		buf := make([]byte, l.Bytes)
		keyIn, metaIn := l.Encode(buf, slot, 3, key, meta, vec)
		r, err := l.Decode(buf, slot)
		if err != nil {
			rt.Fatal(err)
		}
		got := make([]float32, dim)
		r.Vector(got)
		switch {
		case keyIn != (len(key) <= l.KeyCap) || keyIn == r.KeyElsewhere:
			rt.Fatalf("key inline %v, elsewhere %v", keyIn, r.KeyElsewhere)
		case metaIn != (len(meta) <= l.MetaCap) || metaIn == r.MetaElsewhere:
			rt.Fatalf("metadata inline %v, elsewhere %v", metaIn, r.MetaElsewhere)
		case keyIn && string(r.Key) != string(key), metaIn && string(r.Metadata) != string(meta):
			rt.Fatalf("key %q, metadata %q", r.Key, r.Metadata)
		case r.Generation != 3:
			rt.Fatalf("generation %d", r.Generation)
		}
		for i := range vec {
			if got[i] != vec[i] {
				rt.Fatalf("component %d is %v", i, got[i])
			}
		}
		if _, err := l.Decode(buf, slot+1); !errors.Is(err, ErrCorrupt) {
			rt.Fatalf("the record of another slot decodes: %v", err)
		}
	})
}

// TestStride: records never overlap, stay within a block when they are packed
// by block, and then waste at most an eighth of it.
func TestStride(t *testing.T) {
	for need := 16; need < 3*block; need += 4 {
		s := packStride(need)
		if s.Bytes < need {
			t.Fatalf("%d bytes of stride for %d", s.Bytes, need)
		}
		for slot := range uint32(40) {
			off, next := s.Offset(slot), s.Offset(slot+1)
			if next-off < int64(need) {
				t.Fatalf("need %d: slot %d at %d, the next at %d", need, slot, off, next)
			}
			if s.PerBlock > 0 && off/block != (off+int64(need)-1)/block {
				t.Fatalf("need %d: slot %d straddles a block", need, slot)
			}
		}
		if s.PerBlock > 0 && block-s.PerBlock*s.Bytes > block/8 {
			t.Fatalf("need %d wastes %d bytes of each block", need, block-s.PerBlock*s.Bytes)
		}
	}
}

func TestRecordRefusesDamage(t *testing.T) {
	l := NewRecordLayout(8, 16, 16)
	buf := make([]byte, l.Bytes)
	l.Encode(buf, 7, 0, []byte("k"), []byte(`{}`), make([]float32, 8))
	reseal := func(b []byte) []byte {
		binary.LittleEndian.PutUint32(b, slotChecksum(7, b[4:l.Bytes]))
		return b
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"short":       func(b []byte) []byte { return b[:l.Bytes-1] },
		"free slot":   func(b []byte) []byte { clear(b); return b },
		"bit flip":    func(b []byte) []byte { b[20] ^= 1; return b },
		"no key":      func(b []byte) []byte { b[4], b[5] = 0, 0; return reseal(b) },
		"key length":  func(b []byte) []byte { b[4] = 17; return reseal(b) },
		"meta length": func(b []byte) []byte { b[11] = 0x80; return reseal(b) },
	} {
		_, err := l.Decode(damage(append([]byte(nil), buf...)), 7)
		var ce *CorruptError
		if !errors.As(err, &ce) || ce.Slot != 7 {
			t.Errorf("%s: error %v", name, err)
		}
		if err := Located(err, "records", 4096); !strings.Contains(err.Error(), "records at offset 4096 (slot 7)") {
			t.Errorf("%s: located error %v", name, err)
		}
	}
}

// TestGolden pins the bytes of vector and refine records.
func TestGolden(t *testing.T) {
	l := NewRecordLayout(4, 8, 8)
	rec := make([]byte, l.Bytes)
	l.Encode(rec, 0x01020304, 5, []byte("key"), []byte(`{"a":1}`), []float32{1, -2, 0.5, 3})
	rl := mustRefine(t, 8)
	ref := make([]byte, rl.Bytes)
	var ws rq.Workspace
	rl.Encode(ref, 0x01020304, []float32{1, -2, 0.5, 3, 0, 0.25, -1, 2}, &ws)
	got := "vector record\n" + hex.Dump(rec) + "refine record\n" + hex.Dump(ref)
	path := filepath.Join("testdata", "records.v1.hex")
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
		t.Errorf("the record formats changed:\n%s", got)
	}
}

func mustRefine(t testing.TB, d int) RefineLayout {
	t.Helper()
	l, err := NewRefineLayout(d)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestRefineErrorUnit: the stated error of refined distances is neither
// optimistic nor more than three times too wide, over lengths and dimensions.
func TestRefineErrorUnit(t *testing.T) {
	for _, d := range []int{136, 384, 768, 960} {
		for _, length := range []float64{0.01, 1, 1e4} {
			l := mustRefine(t, d)
			rng := rand.New(rand.NewPCG(uint64(d), 4))
			var ws rq.Workspace
			var q rq.Query
			var r Refiner
			target := vector(rng, d, length)
			q.Reset(target)
			buf := make([]byte, l.Bytes)
			var sum float64
			const n = 400
			for i := range n {
				v := vector(rng, d, length)
				l.Encode(buf, uint32(i), v, &ws)
				est, sigma, err := r.Estimate(&l, buf, uint32(i), &q)
				if err != nil {
					t.Fatal(err)
				}
				z := (float64(est) - l2(target, v)) / float64(sigma)
				sum += z * z
			}
			if rms := math.Sqrt(sum / n); rms > 1 || rms < 1.0/3 {
				t.Errorf("d %d, length %g: error is %.2f of the stated sigma", d, length, rms)
			}
		}
	}
}

func vector(rng *rand.Rand, d int, length float64) []float32 {
	v := make([]float32, d)
	for i := range v {
		v[i] = float32(rng.NormFloat64() * length / math.Sqrt(float64(d)))
	}
	return v
}

func l2(a, b []float32) float64 {
	var s float64
	for i := range a {
		x := float64(a[i]) - float64(b[i])
		s += x * x
	}
	return s
}

func TestMetrics(t *testing.T) {
	q, v := []float32{3, 4}, []float32{4, 3}
	for m, want := range map[Metric]float64{Cosine: 1 - 24.0/25, Euclidean: 2, Dot: 24} {
		target := NewTarget(m, q)
		if got := target.Distance(v); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: %v, want %v", m, got, want)
		}
		if p, err := ParseMetric(m.String()); err != nil || p != m {
			t.Errorf("%v parses as %v, %v", m, p, err)
		}
	}
	if Dot.Order(2) >= Dot.Order(1) || Euclidean.Order(2) <= Euclidean.Order(1) {
		t.Error("order")
	}
	if _, err := ParseMetric("manhattan"); err == nil {
		t.Error("manhattan is accepted")
	}
	same := NewTarget(Cosine, []float32{1e-18, 3e-18})
	if d := same.Distance([]float32{2e18, 6e18}); d > 1e-12 {
		t.Errorf("parallel vectors of very different lengths are %v apart", d)
	}
}

func FuzzRecordDecode(f *testing.F) {
	l := NewRecordLayout(4, 8, 8)
	buf := make([]byte, l.Bytes)
	l.Encode(buf, 1, 0, []byte("key"), []byte(`{}`), []float32{1, 2, 3, 4})
	f.Add(buf, uint32(1))
	f.Add([]byte{}, uint32(0))
	f.Fuzz(func(t *testing.T, b []byte, slot uint32) {
		if len(b) >= l.Bytes { // reach the checks behind the checksum
			binary.LittleEndian.PutUint32(b, slotChecksum(slot, b[4:l.Bytes]))
		}
		r, err := l.Decode(b, slot)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("error %v is not ErrCorrupt", err)
			}
			return
		}
		r.Vector(make([]float32, l.Dim))
	})
}

func FuzzRefineEstimate(f *testing.F) {
	l := mustRefine(f, 16)
	buf := make([]byte, l.Bytes)
	var ws rq.Workspace
	v := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	l.Encode(buf, 1, v, &ws)
	f.Add(buf)
	var q rq.Query
	q.Reset(v)
	var r Refiner
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= l.Bytes {
			binary.LittleEndian.PutUint32(b, slotChecksum(1, b[4:l.Bytes]))
		}
		if _, _, err := r.Estimate(&l, b, 1, &q); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("error %v is not ErrCorrupt", err)
		}
	})
}
