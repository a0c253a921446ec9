package centroids

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenSets are sets of plain numbers, made without any rounding of vectors.
func goldenSets(tb testing.TB) map[string]*Set {
	tb.Helper()
	flat := func(bits, rows int) *Set {
		b, err := NewBuilder(8, bits)
		if err != nil {
			tb.Fatal(err)
		}
		code := make([]byte, bits)
		for i := range rows {
			for j := range code {
				code[j] = byte(16*i + j)
			}
			if err := b.AddCode(uint32(100+i), code, float32(i)/4, float32(i)/2); err != nil {
				tb.Fatal(err)
			}
		}
		return b.flat()
	}
	rows, centres := flat(4, 5), flat(8, 2)
	g, err := newGrouper(rows.coder)
	if err != nil {
		tb.Fatal(err)
	}
	for i, part := range rows.blocks[0].split([]uint32{2, 3}, rows.coder.CodeSize()) {
		g.keep(part, centres, i)
	}
	return map[string]*Set{"empty": flat(8, 0), "flat8": flat(8, 3), "grouped4": g.set()}
}

func TestGoldenFiles(t *testing.T) {
	for name, s := range goldenSets(t) {
		path := filepath.Join("testdata", name+".centroids")
		got := encode(t, s)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: stored form changed:\n%x\nwant\n%x", name, got, want)
		}
		back, err := Decode(want)
		if err != nil || !equalContents(back, s) || (back.supers == nil) != (s.supers == nil) {
			t.Errorf("%s: read back %v, %v", name, back, err)
		}
	}
}

func TestStoredSetRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 16
		b, err := NewBuilder(dim, rapid.SampledFrom([]int{4, 8}).Draw(t, "bits"))
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.SampledFrom([]int{0, 1, 7, 500, blockRows, blockRows + 1, 2500}).Draw(t, "n")
		for i, v := 0, gaussians(n, dim, rapid.Uint64().Draw(t, "seed")); i < n; i++ {
			if err := b.Add(uint32(i*3), v[i*dim:][:dim]); err != nil {
				t.Fatal(err)
			}
		}
		s, err := b.Set()
		if err == nil && n > 0 && rapid.Bool().Draw(t, "grouped") {
			s, err = group(s)
		}
		if err != nil {
			t.Fatal(err)
		}
		prefix := []byte("before")
		data, err := s.AppendBinary(prefix)
		if err != nil || !bytes.HasPrefix(data, prefix) {
			t.Fatalf("prefix lost, error %v", err)
		}
		back, err := Decode(data[len(prefix):])
		if err != nil {
			t.Fatal(err)
		}
		if back.MemoryBytes() != s.MemoryBytes() {
			t.Fatalf("%d bytes of memory, %d before", back.MemoryBytes(), s.MemoryBytes())
		}
		q, ws := query(gaussians(1, dim, 7)), new(Workspace)
		want, got := s.Nearest(nil, q, n, ws), back.Nearest(nil, q, n, ws)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("place %d: %v, before %v", i, got[i], want[i])
			}
		}
	})
}

// seal puts the right checksum on data.
func seal(data []byte) []byte {
	binary.LittleEndian.PutUint32(data[4:], crc32.Checksum(data[8:], castagnoli))
	return data
}

func TestDecodeRefusesDamage(t *testing.T) {
	for name, s := range goldenSets(t) {
		good := encode(t, s)
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 0x40
			if _, err := Decode(bad); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: bit of byte %d flipped: %v", name, i, err)
			}
			if _, err := Decode(good[:i]); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: cut at %d: %v", name, i, err)
			}
		}
		if _, err := Decode(append(bytes.Clone(good), 0)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: a byte more: %v", name, err)
		}
	}
}

func TestDecodeRefusesForgery(t *testing.T) {
	le := binary.LittleEndian
	for _, c := range []struct {
		name  string
		forge func(b []byte) []byte // of grouped4: 5 rows from 64, sizes from 124
		want  error
	}{
		{"newer version", func(b []byte) []byte { b[8] = 2; return b }, ErrVersion},
		{"3 bits", func(b []byte) []byte { b[10] = 3; return b }, ErrCorrupt},
		{"8 bits", func(b []byte) []byte { b[10] = 8; return b }, ErrCorrupt},
		{"dimension 0", func(b []byte) []byte { le.PutUint32(b[12:], 0); return b }, ErrCorrupt},
		{"dimension huge", func(b []byte) []byte { le.PutUint32(b[12:], 0xfffffff8); return b }, ErrCorrupt},
		{"rows huge", func(b []byte) []byte { le.PutUint32(b[16:], 0xffffffff); return b }, ErrCorrupt},
		{"one row more", func(b []byte) []byte { le.PutUint32(b[16:], 6); return b }, ErrCorrupt},
		{"groups huge", func(b []byte) []byte { le.PutUint32(b[20:], 0xffffffff); return b }, ErrCorrupt},
		{"no groups", func(b []byte) []byte { le.PutUint32(b[20:], 0); return b }, ErrCorrupt},
		{"length wrong", func(b []byte) []byte { le.PutUint64(b[24:], 1<<63); return b }, ErrCorrupt},
		{"reserved byte", func(b []byte) []byte { b[11] = 1; return b }, ErrCorrupt},
		{"reserved tail", func(b []byte) []byte { b[63] = 1; return b }, ErrCorrupt},
		{"one id twice", func(b []byte) []byte { copy(b[64:68], b[68:72]); return b }, ErrCorrupt},
		{"one id twice, which", func(b []byte) []byte { copy(b[64:68], b[68:72]); return b }, ErrDuplicateID},
		{"NaN scale", func(b []byte) []byte { le.PutUint32(b[84:], 0x7fc00000); return b }, ErrCorrupt},
		{"negative norm", func(b []byte) []byte { le.PutUint32(b[104:], 0xbf800000); return b }, ErrCorrupt},
		{"empty group", func(b []byte) []byte { le.PutUint32(b[124:], 0); le.PutUint32(b[128:], 5); return b }, ErrCorrupt},
		{"group too large", func(b []byte) []byte { le.PutUint32(b[124:], 3); return b }, ErrCorrupt},
		{"group sizes overflow", func(b []byte) []byte {
			le.PutUint32(b[124:], 0xffffffff)
			le.PutUint32(b[128:], 6)
			return b
		}, ErrCorrupt},
		{"Inf scale of a centre", func(b []byte) []byte { le.PutUint32(b[132:], 0x7f800000); return b }, ErrCorrupt},
	} {
		data := seal(c.forge(encode(t, goldenSets(t)["grouped4"])))
		if s, err := Decode(data); !errors.Is(err, c.want) || s != nil {
			t.Errorf("%s: %v, error %v, want %v", c.name, s, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range goldenSets(f) {
		f.Add(encode(f, s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 8 {
			data = seal(bytes.Clone(data)) // so that the fuzzer gets past the checksum
		}
		s, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if again := encode(t, s); !bytes.Equal(again, data) {
			t.Fatalf("%x was read and stored as %x", data, again)
		}
		ws := new(Workspace)
		near := s.Nearest(nil, query(make([]float32, s.Dim())), 8, ws)
		s.Route(nil, make([]float32, s.Dim()), near, 4, RouteLambda, ws)
		for _, n := range near {
			if s.ID(n.Row) != n.ID {
				t.Fatalf("row %d has id %d, not %d", n.Row, s.ID(n.Row), n.ID)
			}
		}
	})
}
