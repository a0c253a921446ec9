package rq

import (
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// goldenVector is a fixed vector with components in -1..1.
func goldenVector(d int, seed uint64) []float32 {
	rng := splitmix{state: seed}
	v := make([]float32, d)
	for i := range v {
		v[i] = float32(int32(rng.next()>>32)) / (1 << 31)
	}
	return v
}

// TestGolden pins what stored bytes depend on. The commands:
//
//	rotate dim=N seed=N              the first components, and a checksum of all
//	encode d=N bits=N [center]       code and factors, as hexadecimal bits
//	centroid d=N bits=N              a stored centroid
func TestGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/formats", func(t *testing.T, d *datadriven.TestData) string {
		var dim, bits int
		var out strings.Builder
		switch d.Cmd {
		case "rotate":
			var seed uint64
			d.ScanArgs(t, "dim", &dim)
			d.ScanArgs(t, "seed", &seed)
			v := rotate(rotation(t, dim, seed), goldenVector(dim, 1))
			sum := crc32.NewIEEE()
			for i, x := range v {
				if i < 4 {
					fmt.Fprintf(&out, "%v ", x)
				}
				fmt.Fprintf(sum, "%08x", math.Float32bits(x))
			}
			fmt.Fprintf(&out, "... crc %08x\n", sum.Sum32())
		case "encode":
			d.ScanArgs(t, "d", &dim)
			d.ScanArgs(t, "bits", &bits)
			coder, err := NewCoder(dim, bits)
			if err != nil {
				return err.Error() + "\n"
			}
			var center []float32
			if d.HasArg("center") {
				center = goldenVector(dim, 2)
			}
			code := make([]byte, coder.CodeSize())
			f := coder.Encode(code, goldenVector(dim, 1), center, new(Workspace))
			fmt.Fprintf(&out, "%x\nadd %08x rescale %08x error %08x\n", code,
				math.Float32bits(f.Add), math.Float32bits(f.Rescale), math.Float32bits(f.Error))
		case "centroid":
			d.ScanArgs(t, "d", &dim)
			d.ScanArgs(t, "bits", &bits)
			coder, err := NewCentroidCoder(dim, bits)
			if err != nil {
				return err.Error() + "\n"
			}
			code := make([]byte, coder.Size())
			coder.Encode(code, goldenVector(dim, 1))
			fmt.Fprintf(&out, "%x\n", code)
		default:
			t.Fatalf("no command %q", d.Cmd)
		}
		return out.String()
	})
}
