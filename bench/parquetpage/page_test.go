package parquetpage

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// zigzag appends a number of the compact Thrift protocol.
func zigzag(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

// fields appends i32 fields 1, 2, ... of a structure, without its stop.
func fields(b []byte, values ...int64) []byte {
	for _, v := range values {
		b = zigzag(append(b, 1<<4|thriftI32), v)
	}
	return b
}

// page makes a page: type, expanded size, then the structure at field number at
// with its numbers, then the payload.
func page(typ pageType, expanded int, at byte, inner []int64, payload []byte) []byte {
	b := fields(nil, int64(typ), int64(expanded), int64(len(payload)))
	b = append(b, (at-3)<<4|thriftStruct)
	b = append(fields(b, inner...), thriftStop, thriftStop)
	return append(b, payload...)
}

// v1 is a data page of version 1, without compression.
func v1(values, encoding int64, payload []byte) []byte {
	return page(pageData, len(payload), fieldDataV1, []int64{values, encoding, encHybrid, encHybrid}, payload)
}

// dictionary is a dictionary page without compression.
func dictionary(values int64, payload []byte) []byte {
	return page(pageDictionary, len(payload), fieldDictionary, []int64{values, encPlain}, payload)
}

// le encodes values one after another.
func le(values ...any) (b []byte) {
	for _, v := range values {
		b, _ = binary.Append(b, binary.LittleEndian, v)
	}
	return b
}

// levels encodes levels behind their length, as one packed run.
func levels(width int, ls ...byte) []byte {
	packed := pack(width, ls)
	b := binary.AppendUvarint(nil, uint64((len(ls)+7)/8)<<1|1)
	b = append(b, packed...)
	return append(le(uint32(len(b))), b...)
}

// pack packs values in groups of eight.
func pack[T byte | uint32](width int, values []T) []byte {
	b := make([]byte, (len(values)+7)/8*width)
	for i, v := range values {
		for k := range width {
			if v>>k&1 != 0 {
				b[(i*width+k)/8] |= 1 << ((i*width + k) % 8)
			}
		}
	}
	return b
}

// read decodes all pages of data as one column.
func read(data []byte, col Column) (pages []Page, err error) {
	r := NewReader(bytes.NewReader(data))
	defer r.Close()
	col.End = int64(len(data))
	if col.Limit == 0 {
		col.Limit = 64 * col.End
	}
	if err := r.Reset(col); err != nil {
		return nil, err
	}
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return pages, nil
		}
		if err != nil {
			return pages, err
		}
		q := Page{N: p.N, Rep: slices.Clone(p.Rep), Def: slices.Clone(p.Def), Raw: slices.Clone(p.Raw)}
		for _, t := range p.Texts {
			q.Texts = append(q.Texts, slices.Clone(t))
		}
		pages = append(pages, q)
	}
}

func TestEncodings(t *testing.T) {
	floats := le([]float32{1, 2, 3})
	texts := append(append(le(uint32(1)), 'a'), append(le(uint32(2)), "bc"...)...)
	for name, c := range map[string]struct {
		data  []byte
		col   Column
		raw   []byte
		texts string
	}{
		"plain":  {v1(3, encPlain, floats), Column{Kind: Float}, floats, ""},
		"split":  {v1(2, encSplit, []byte{1, 2, 3, 4, 5, 6, 7, 8}), Column{Kind: Float}, []byte{1, 3, 5, 7, 2, 4, 6, 8}, ""},
		"texts":  {v1(2, encPlain, texts), Column{Kind: Text}, nil, "a,bc"},
		"lookup": {append(dictionary(2, texts), v1(3, encDictionary, []byte{1, 3, 0b101})...), Column{Kind: Text}, nil, "bc,a,bc"},
		"numbers": {append(dictionary(3, floats), v1(2, encPlainDictionary, []byte{2, 4, 2})...),
			Column{Kind: Float}, append(slices.Clone(floats[8:12]), floats[8:12]...), ""},
		"delta": {v1(3, encDelta, append([]byte{8, 1, 3, 2, 1, 8}, 0, 3, 0, 0, 0, 0, 0, 0)),
			Column{Kind: Int32}, le(int32(1), int32(0), int32(2)), ""},
		"lengths": {v1(2, encDeltaLength, append([]byte{8, 1, 2, 2, 2, 0}, "abc"...)), Column{Kind: Text}, nil, "a,bc"},
		"levels": {v1(4, encPlain, slices.Concat(levels(1, 0, 1, 1, 0), levels(2, 3, 3, 3, 1), floats)),
			Column{Kind: Float, MaxRep: 1, MaxDef: 3}, floats, ""},
		"no values":           {v1(0, encPlain, nil), Column{Kind: Float}, nil, ""},
		"an index page first": {append(page(1, 0, 6, nil, []byte("xyz")), v1(3, encPlain, floats)...), Column{Kind: Float}, floats, ""},
	} {
		pages, err := read(c.data, c.col)
		if err != nil || len(pages) != 1 {
			t.Errorf("%s: %d pages, %v", name, len(pages), err)
			continue
		}
		p := pages[0]
		if !bytes.Equal(p.Raw, c.raw) || string(bytes.Join(p.Texts, []byte(","))) != c.texts {
			t.Errorf("%s: raw %v, texts %q, want %v, %q", name, p.Raw, p.Texts, c.raw, c.texts)
		}
		if (p.Rep != nil) != (c.col.MaxRep > 0) || (p.Def != nil) != (c.col.MaxDef > 0) {
			t.Errorf("%s: levels %v and %v", name, p.Rep, p.Def)
		}
	}
}

// compress returns src by each codec.
func compress(t *testing.T, src []byte) map[Codec][]byte {
	t.Helper()
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(src); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), enc.Close()); err != nil {
		t.Fatal(err)
	}
	return map[Codec][]byte{None: src, Snappy: snappy.Encode(nil, src), Gzip: gz.Bytes(), Zstd: enc.EncodeAll(src, nil)}
}

// Both versions of pages, twice with each codec, so that its state is used again;
// and a header that says another size than the stream has.
func TestCodecs(t *testing.T) {
	floats := le([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	def := levels(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
	body := slices.Concat(def, floats)
	col := Column{Kind: Float, MaxDef: 1}
	for codec, packed := range compress(t, body) {
		col.Codec = codec
		one := page(pageData, len(body), fieldDataV1, []int64{10, encPlain, encHybrid, encHybrid}, packed)
		pages, err := read(slices.Concat(one, one), col)
		if err != nil || len(pages) != 2 || !bytes.Equal(pages[1].Raw, floats) {
			t.Errorf("codec %d, version 1: %d pages, %v", codec, len(pages), err)
		}
		for _, wrong := range []int{-1, 1} {
			bad := page(pageData, len(body)+wrong, fieldDataV1, []int64{10, encPlain, encHybrid, encHybrid}, packed)
			if _, err := read(bad, col); !errors.Is(err, ErrFormat) {
				t.Errorf("codec %d, %+d bytes: %v, want ErrFormat", codec, wrong, err)
			}
		}
		if _, err := read(page(pageData, len(body), fieldDataV1, []int64{10, encPlain, encHybrid, encHybrid}, packed[:len(packed)-3]), col); !errors.Is(err, ErrFormat) {
			t.Errorf("codec %d, cut: %v, want ErrFormat", codec, err)
		}
	}
	for codec, packed := range compress(t, floats) {
		col.Codec = codec
		def := def[4:] // the length is in the header
		one := page(pageDataV2, len(def)+len(floats), fieldDataV2,
			[]int64{10, 0, 10, encPlain, int64(len(def)), 0}, slices.Concat(def, packed))
		pages, err := read(one, col)
		if err != nil || len(pages) != 1 || !bytes.Equal(pages[0].Raw, floats) {
			t.Errorf("codec %d, version 2: %d pages, %v", codec, len(pages), err)
		}
	}
}

// A page of version 2 may say that its values are not compressed.
func TestV2Plain(t *testing.T) {
	b := fields(nil, int64(pageDataV2), 4, 4)
	b = fields(append(b, (fieldDataV2-3)<<4|thriftStruct), 1, 0, 1, encPlain, 0, 0)
	b = append(b, 1<<4|thriftFalse, thriftStop, thriftStop)
	pages, err := read(append(b, 1, 2, 3, 4), Column{Kind: Float, Codec: Zstd})
	if err != nil || len(pages) != 1 || !bytes.Equal(pages[0].Raw, []byte{1, 2, 3, 4}) {
		t.Errorf("%+v, %v", pages, err)
	}
}

func TestPageFaults(t *testing.T) {
	four := []byte{1, 2, 3, 4}
	deltaHead := func(b ...byte) []byte { return v1(3, encDelta, b) }
	for name, c := range map[string]struct {
		data []byte
		col  Column
		want string
	}{
		"codec":             {nil, Column{Kind: Float, Codec: 7}, "want codec"},
		"kind":              {nil, Column{}, "want numbers or texts"},
		"header":            {[]byte{0x15, 0x80}, Column{Kind: Float}, "want a page header"},
		"type":              {[]byte{0x1f, 0}, Column{Kind: Float}, "unknown Thrift type"},
		"cut":               {v1(1, encPlain, four)[:8], Column{Kind: Float}, "want a page"},
		"stored":            {v1(1, encPlain, four)[:17], Column{Kind: Float}, "want a page of at most"},
		"expanded":          {page(pageData, 1<<30, fieldDataV1, []int64{1, 0, 3, 3}, four), Column{Kind: Float}, "want pages of at most"},
		"negative":          {page(pageData, -1, fieldDataV1, []int64{1, 0, 3, 3}, four), Column{Kind: Float}, "one of -1 bytes"},
		"values":            {v1(1<<30, encPlain, four), Column{Kind: Float}, "1073741824 values"},
		"too few":           {v1(2, encPlain, four), Column{Kind: Float}, "fewer bytes"},
		"split":             {v1(2, encSplit, four), Column{Kind: Float}, "fewer bytes"},
		"split text":        {v1(2, encSplit, four), Column{Kind: Text}, "encoding 9"},
		"delta float":       {v1(1, encDelta, four), Column{Kind: Float}, "encoding 5"},
		"text":              {v1(1, encPlain, le(uint32(9), uint32(1))), Column{Kind: Text}, "fewer bytes"},
		"no dictionary":     {v1(1, encDictionary, []byte{1, 2, 0}), Column{Kind: Float}, "without one before it"},
		"two dictionaries":  {append(dictionary(1, four), dictionary(1, four)...), Column{Kind: Float}, "second dictionary"},
		"short dictionary":  {dictionary(2, four), Column{Kind: Float}, "fewer bytes"},
		"dictionary coding": {page(pageDictionary, 4, fieldDictionary, []int64{1, encDelta}, four), Column{Kind: Float}, "encoding 5"},
		"index":             {append(dictionary(1, four), v1(1, encDictionary, []byte{1, 2, 1})...), Column{Kind: Float}, "index beyond"},
		"index width":       {append(dictionary(1, four), v1(1, encDictionary, []byte{33, 2, 1})...), Column{Kind: Float}, "width of values"},
		"empty indexes":     {append(dictionary(1, four), v1(1, encDictionary, nil)...), Column{Kind: Float}, "fewer bytes"},
		"no levels":         {v1(1, encPlain, four[:2]), Column{Kind: Float, MaxDef: 1}, "fewer bytes"},
		"level":             {v1(1, encPlain, append(levels(2, 3), four...)), Column{Kind: Float, MaxDef: 2}, "level beyond"},
		"level encoding":    {page(pageData, 4, fieldDataV1, []int64{1, 0, 4, 4}, four), Column{Kind: Float, MaxRep: 1}, "levels of encodings 4 and 4"},
		"v2 levels":         {page(pageDataV2, 4, fieldDataV2, []int64{1, 0, 1, 0, 5, 0}, four), Column{Kind: Float, MaxDef: 1}, "fewer bytes"},
		"v2 negative":       {page(pageDataV2, 4, fieldDataV2, []int64{1, 0, 1, 0, -5, 6}, four), Column{Kind: Float, MaxDef: 1}, "fewer bytes"},
		"delta cut":         {deltaHead(8, 1), Column{Kind: Int64}, "fewer bytes"},
		"delta block":       {deltaHead(8, 3, 3, 0), Column{Kind: Int64}, "blocks of a size"},
		"delta minis":       {deltaHead(12, 1, 3, 0), Column{Kind: Int64}, "blocks of a size"},
		"delta zero":        {deltaHead(8, 0, 3, 0), Column{Kind: Int64}, "blocks of a size"},
		"delta count":       {deltaHead(8, 1, 4, 0), Column{Kind: Int64}, "another number of values"},
		"delta width":       {deltaHead(8, 1, 3, 0, 0, 65), Column{Kind: Int64}, "width of values"},
		"delta miniblock":   {deltaHead(8, 1, 3, 0, 0, 8, 1), Column{Kind: Int64}, "fewer bytes"},
		"delta no block":    {deltaHead(8, 1, 3, 0), Column{Kind: Int64}, "fewer bytes"},
		"length":            {v1(1, encDeltaLength, []byte{8, 1, 1, 4, 'a'}), Column{Kind: Text}, "fewer bytes"},
		"negative length":   {v1(1, encDeltaLength, []byte{8, 1, 1, 1, 'a'}), Column{Kind: Text}, "fewer bytes"},
	} {
		_, err := read(c.data, c.col)
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want ErrFormat with %q", name, err, c.want)
		}
	}
}

// The limits hold for all pages together.
func TestLimit(t *testing.T) {
	two := slices.Repeat(v1(1, encPlain, []byte{1, 2, 3, 4}), 2)
	if pages, err := read(two, Column{Kind: Float, Limit: 8}); err != nil || len(pages) != 2 {
		t.Errorf("at the limit: %d pages, %v", len(pages), err)
	}
	if pages, err := read(two, Column{Kind: Float, Limit: 7}); !errors.Is(err, ErrFormat) || len(pages) != 1 {
		t.Errorf("beyond the limit: %d pages, %v", len(pages), err)
	}
}

// hybrid decodes what a straightforward encoder writes.
func TestHybridRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(0, 32).Draw(t, "width")
		value := rapid.Uint32Range(0, uint32(1<<width-1))
		var want []uint32
		var src []byte
		for range rapid.IntRange(0, 6).Draw(t, "runs") {
			if rapid.Bool().Draw(t, "packed") {
				groups := rapid.IntRange(1, 5).Draw(t, "groups")
				vs := rapid.SliceOfN(value, 8*groups, 8*groups).Draw(t, "values")
				src = append(binary.AppendUvarint(src, uint64(groups)<<1|1), pack(width, vs)...)
				want = append(want, vs...)
				continue
			}
			n, v := rapid.IntRange(1, 40).Draw(t, "count"), value.Draw(t, "value")
			src = append(binary.AppendUvarint(src, uint64(n)<<1), le(v)[:(width+7)/8]...)
			want = append(want, slices.Repeat([]uint32{v}, n)...)
		}
		drop := rapid.IntRange(0, min(7, len(want))).Draw(t, "padding")
		want = want[:len(want)-drop]
		got := make([]uint32, len(want))
		if err := hybrid(got, src, width); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
		if err := hybrid(make([]uint32, len(want)+drop+1), src, width); err == nil {
			t.Fatal("more values than there are")
		}
	})
}

// putDelta encodes values with the least width of each miniblock.
func putDelta(values []int64, minis, size int) []byte {
	b := binary.AppendUvarint(nil, uint64(minis*size))
	b = binary.AppendUvarint(b, uint64(minis))
	b = binary.AppendUvarint(b, uint64(len(values)))
	if len(values) == 0 {
		return append(b, 0)
	}
	b = zigzag(b, values[0])
	var deltas []int64
	for i, v := range values[1:] {
		deltas = append(deltas, v-values[i])
	}
	for block := range slices.Chunk(deltas, minis*size) {
		least := slices.Min(block)
		b = zigzag(b, least)
		widths := make([]byte, minis)
		var packed []byte
		for m := range slices.Collect(slices.Chunk(block, size)) {
			part := block[m*size : min((m+1)*size, len(block))]
			bits := make([]byte, size*8)
			var any uint64
			for _, d := range part {
				any |= uint64(d - least)
			}
			for any>>widths[m] != 0 && widths[m] < 64 {
				widths[m]++
			}
			w := int(widths[m])
			for i, d := range part {
				for k := range w {
					if uint64(d-least)>>k&1 != 0 {
						bits[(i*w+k)/8] |= 1 << ((i*w + k) % 8)
					}
				}
			}
			packed = append(packed, bits[:size*w/8]...)
		}
		b = append(append(b, widths...), packed...)
	}
	return b
}

func TestDeltaRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.Int64Range(-300, 300)
		values := rapid.SliceOfN(rapid.OneOf(small, rapid.Int64(), rapid.Just(int64(math.MinInt64))), 0, 100).Draw(t, "values")
		src := putDelta(values, rapid.IntRange(1, 4).Draw(t, "minis"), 8*rapid.IntRange(1, 4).Draw(t, "size"))
		got := make([]int64, len(values))
		rest, err := deltaInts(got, append(src, "rest"...))
		if err != nil || !slices.Equal(got, values) || string(rest) != "rest" {
			t.Fatalf("%v and %q, %v, want %v", got, rest, err, values)
		}
	})
}
