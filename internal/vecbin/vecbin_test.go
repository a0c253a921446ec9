package vecbin

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestHalfKnownValues(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		float float32
		half  uint16
	}{
		{0, 0x0000},
		{float32(math.Copysign(0, -1)), 0x8000},
		{1, 0x3c00},
		{-2, 0xc000},
		{65504, 0x7bff},                    // largest finite half
		{65519.996, 0x7bff},                // just below the midpoint to infinity
		{65520, 0x7c00},                    // the midpoint itself
		{inf, 0x7c00},                      // infinities stay
		{-inf, 0xfc00},                     // with their sign
		{0x1p-14, 0x0400},                  // smallest normal
		{0x1p-24, 0x0001},                  // smallest subnormal
		{0x1p-25, 0x0000},                  // tie to even: zero
		{0x1.8p-24, 0x0002},                // tie to even: two units
		{0x1.ff8p-15, 0x03ff},              // largest subnormal
		{0x1.ffcp-15, 0x0400},              // tie to even: up, into the normals
		{1 + 0x1p-11, 0x3c00},              // tie to even, down
		{1 + 3*0x1p-11, 0x3c02},            // tie to even, up
		{1 + 0x1p-11 + 0x1p-20, 0x3c01},    // above the tie
		{2 - 0x1p-12, 0x4000},              // carry into the exponent
		{math.SmallestNonzeroFloat32, 0x0}, // a float32 subnormal is far below any half
	} {
		if got := ToHalf(c.float); got != c.half {
			t.Errorf("ToHalf(%v) = %#04x, want %#04x", c.float, got, c.half)
		}
	}
}

// Every half must survive the way through float32; 65,536 cases are few enough
// to try all.
func TestHalfRoundTrip(t *testing.T) {
	for h := range 1 << 16 {
		f := FromHalf(uint16(h))
		if f != f {
			if back := FromHalf(ToHalf(f)); back == back {
				t.Fatalf("half %#04x is a NaN and came back as %v", h, back)
			}
			continue
		}
		if back := ToHalf(f); back != uint16(h) {
			t.Fatalf("half %#04x became %v and came back as %#04x", h, f, back)
		}
	}
}

// ToHalf must pick the nearest half: no neighbour of its answer may be closer.
func TestHalfIsNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float32Range(-65504, 65504).Draw(t, "f")
		h := ToHalf(f)
		off := math.Abs(float64(FromHalf(h)) - float64(f))
		for _, other := range []uint16{h - 1, h + 1} {
			g := float64(FromHalf(other))
			if d := math.Abs(g - float64(f)); d < off {
				t.Fatalf("ToHalf(%v) = %#04x, %v away, but %#04x is only %v away", f, h, off, other, d)
			}
		}
	})
}

func TestRoundTrip(t *testing.T) {
	for _, c := range []struct {
		name    string
		element Element
		matrix  Matrix
	}{
		{"half", HalfFloat, Matrix{Rows: 2, Dim: 3, Data: []float32{0, 1.5, -2, 65504, 0x1p-24, -0.25}}},
		{"byte", Byte, Matrix{Rows: 3, Dim: 1, Data: []float32{0, 128, 255}}},
		{"empty", Byte, Matrix{Rows: 0, Dim: 7, Data: []float32{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var buf bytes.Buffer
			if err := Encode(&buf, c.matrix, c.element); err != nil {
				t.Fatal(err)
			}
			got, err := Decode(buf.Bytes(), c.element)
			if err != nil {
				t.Fatal(err)
			}
			if got.Rows != c.matrix.Rows || got.Dim != c.matrix.Dim || !slices.Equal(got.Data, c.matrix.Data) {
				t.Errorf("got %+v, want %+v", got, c.matrix)
			}
		})
	}
}

func TestRow(t *testing.T) {
	m := Matrix{Rows: 2, Dim: 2, Data: []float32{1, 2, 3, 4}}
	row := m.Row(0)
	if !slices.Equal(row, []float32{1, 2}) {
		t.Errorf("row 0 is %v", row)
	}
	// A view that can grow would let an append write into the next row.
	if _ = append(row, 9); m.Data[2] != 3 {
		t.Error("an append to row 0 changed row 1")
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, m := range map[string]Matrix{
		"no dimension":     {Rows: 0, Dim: 0},
		"wide":             {Rows: 1, Dim: MaxDim + 1, Data: make([]float32, MaxDim+1)},
		"too few numbers":  {Rows: 2, Dim: 2, Data: make([]float32, 3)},
		"fraction":         {Rows: 1, Dim: 1, Data: []float32{1.5}},
		"negative":         {Rows: 1, Dim: 1, Data: []float32{-1}},
		"above a byte":     {Rows: 1, Dim: 1, Data: []float32{256}},
		"not a number":     {Rows: 1, Dim: 1, Data: []float32{float32(math.NaN())}},
		"negative of rows": {Rows: -1, Dim: 1},
	} {
		if err := Encode(&bytes.Buffer{}, m, Byte); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// zipped returns content as a gzip stream.
func zipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	if _, err := zw.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// content returns a header and that many bytes of elements.
func content(rows, dim uint32, elements int) []byte {
	c := binary.LittleEndian.AppendUint32(nil, rows)
	c = binary.LittleEndian.AppendUint32(c, dim)
	return append(c, make([]byte, elements)...)
}

func TestDecodeRefuses(t *testing.T) {
	whole := zipped(t, content(2, 3, 6))
	for name, src := range map[string][]byte{
		"nothing":            nil,
		"not gzip":           []byte("plain text, no matrix"),
		"short header":       zipped(t, []byte{1, 0, 0, 0, 1}),
		"no dimension":       zipped(t, content(1, 0, 0)),
		"dimension too high": zipped(t, content(1, MaxDim+1, MaxDim+1)),
		"too many rows":      zipped(t, content(MaxRows+1, 1, 0)),
		"too many elements":  zipped(t, content(MaxRows, MaxDim, 0)),
		"element missing":    zipped(t, content(2, 3, 5)),
		"element too many":   zipped(t, content(2, 3, 7)),
		"cut off":            whole[:len(whole)-9],
	} {
		if _, err := Decode(src, Byte); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error %v does not match ErrFormat", name, err)
		}
	}
	if _, err := Decode(whole, Byte); err != nil {
		t.Errorf("the undamaged stream: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(zipped(f, content(2, 3, 6)), true)
	f.Add(zipped(f, content(2, 3, 12)), false)
	f.Add(zipped(f, content(1<<31, 1<<31, 0)), false)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, src []byte, bytewise bool) {
		element := HalfFloat
		if bytewise {
			element = Byte
		}
		m, err := Decode(src, element)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("error %v does not match ErrFormat", err)
			}
			return
		}
		if len(m.Data) != m.Rows*m.Dim {
			t.Fatalf("%d rows of %d elements hold %d numbers", m.Rows, m.Dim, len(m.Data))
		}
		// What was read can be written, and reads back the same bits.
		var buf bytes.Buffer
		if err := Encode(&buf, m, element); err != nil {
			t.Fatal(err)
		}
		again, err := Decode(buf.Bytes(), element)
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.Data {
			if a, b := math.Float32bits(m.Data[i]), math.Float32bits(again.Data[i]); a != b && m.Data[i] == m.Data[i] {
				t.Fatalf("element %d: %#x came back as %#x", i, a, b)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	m := Matrix{Rows: 1000, Dim: 100, Data: make([]float32, 100_000)}
	for i := range m.Data {
		m.Data[i] = float32(i%977) / 977
	}
	var buf bytes.Buffer
	if err := Encode(&buf, m, HalfFloat); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(2 * len(m.Data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(buf.Bytes(), HalfFloat); err != nil {
			b.Fatal(err)
		}
	}
}
