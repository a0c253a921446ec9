package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"
)

// benchSet is the vectors that every benchmark reads: 2,000 of 768 dimensions.
func benchSet() [][]float32 {
	return table(2000, 768, func(r, c int) float32 { return float32((r*7919+c*104729)%20011-10005) / 10007 })
}

// benchRead reads data again and again and reports rows per second.
func benchRead(b *testing.B, name string, data []byte) {
	b.Helper()
	var row Row
	rows := 0
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := newReader(newSource(name, bytes.NewReader(data), int64(len(data)), nil), Options{}.withDefaults())
		for ; err == nil; rows++ {
			err = r.Next(&row)
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
		rows--
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkReadFBin(b *testing.B) {
	data := le(uint32(2000), uint32(768))
	for _, v := range benchSet() {
		data = append(data, le(v)...)
	}
	benchRead(b, "a.fbin", data)
}

func BenchmarkReadF16Bin(b *testing.B) {
	data := le(uint32(2000), uint32(768))
	for i := range 2000 * 768 {
		data = append(data, le(uint16(i%0x7c00))...)
	}
	benchRead(b, "a.f16bin", data)
}

// Numbers as JSON encoders print them: the shortest that round to the float32, and
// a float64 holding a float32, with 17 digits.
func BenchmarkReadJSONL(b *testing.B) {
	for _, bits := range []int{32, 64} {
		var text bytes.Buffer
		for i, v := range benchSet() {
			fmt.Fprintf(&text, `{"key":"row-%d","vector":[`, i)
			for j, x := range v {
				if j > 0 {
					text.WriteByte(',')
				}
				text.WriteString(strconv.FormatFloat(float64(x), 'g', -1, bits))
			}
			text.WriteString(`],"metadata":{"n":1}}` + "\n")
		}
		b.Run("float"+strconv.Itoa(bits), func(b *testing.B) { benchRead(b, "a.jsonl", text.Bytes()) })
	}
}

func BenchmarkReadParquet(b *testing.B) {
	rows := make([]parquetRow, 2000)
	for i, v := range benchSet() {
		rows[i] = parquetRow{ID: int64(i), Vector: v, Metadata: "{}"}
	}
	benchRead(b, "a.parquet", parquetFile(b, rows))
}

func BenchmarkTruth(b *testing.B) {
	rows := benchSet()
	for _, metric := range []string{Cosine, Euclidean, Dot} {
		b.Run(metric, func(b *testing.B) {
			cfg := config(rows, rows[:200], metric, 100)
			for b.Loop() {
				if _, _, err := Truth(context.Background(), cfg); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(rows)*200)*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}

func BenchmarkClustered(b *testing.B) {
	r := NewClustered(ClusteredSeed).Base(1 << 40)
	var row Row
	for b.Loop() {
		if err := r.Next(&row); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
