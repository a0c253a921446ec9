package centroids

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/spratdb/sprat/rq"
)

func zzfbin(path string, max int) ([]float32, int, int) {
	f, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	var h [8]byte
	f.Read(h[:])
	n, d := int(binary.LittleEndian.Uint32(h[:])), int(binary.LittleEndian.Uint32(h[4:]))
	if max > 0 && n > max {
		n = max
	}
	out := make([]float32, n*d)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), len(out)*4)
	for len(b) > 0 {
		m, err := f.Read(b)
		if err != nil {
			panic(err)
		}
		b = b[m:]
	}
	return out, n, d
}

func TestZZ(t *testing.T) {
	for _, c := range strings.Split(os.Getenv("ZZ"), " ") {
		var set string
		var n, k, bits int
		fmt.Sscanf(strings.ReplaceAll(c, ",", " "), "%s %d %d %d", &set, &n, &k, &bits)
		x, n, d := zzfbin("/work/data/"+set+"/base.fbin", n)
		q, nq, _ := zzfbin("/work/data/"+set+"/query.fbin", 200)
		rot, _ := rq.NewRotation(d, 1)
		D := rot.D()
		prep := func(x []float32) []float32 {
			out := make([]float32, len(x)/d*D)
			for i := 0; i*d < len(x); i++ {
				v := x[i*d:][:d]
				if set != "sift128" && set != "gist960" {
					s := 0.0
					for _, a := range v {
						s += float64(a) * float64(a)
					}
					for j := range v {
						v[j] /= float32(math.Sqrt(s) + 1e-30)
					}
				}
				rot.Apply(out[i*D:][:D], v)
			}
			return out
		}
		X, Q := prep(x), prep(q)
		cents := X
		st := time.Now()
		if k > 0 {
			cf := fmt.Sprintf("/tmp/cents_%s_%d_%d", set, n, k)
			if raw, err := os.ReadFile(cf); err == nil {
				cents = unsafe.Slice((*float32)(unsafe.Pointer(&raw[0])), len(raw)/4)
			} else {
				cents, _ = Train(context.Background(), X, TrainConfig{Dim: D, K: k})
				os.WriteFile(cf, unsafe.Slice((*byte)(unsafe.Pointer(&cents[0])), len(cents)*4), 0o644)
			}
		}
		t1 := time.Since(st)
		b, _ := NewBuilder(D, bits)
		for i := 0; i*D < len(cents); i++ {
			b.Add(uint32(i), cents[i*D:][:D])
		}
		flat := b.flat()
		st = time.Now()
		fmt.Sscan(os.Getenv("GR"), &groupRows)
		fmt.Sscan(os.Getenv("GS"), &groupSample)
		gs, err := group(flat)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s n %d D %d rows %d groups %d train %.1fs group %.1fs", set, n, D, flat.Len(), len(gs.blocks), t1.Seconds(), time.Since(st).Seconds())
		mx := 0
		for _, b := range gs.blocks {
			mx = max(mx, len(b.ids))
		}
		fmt.Println(" max group", mx)
		var ws Workspace
		// mix of queries and base rows
		for _, src := range []string{"base"} {
			for _, want := range []int{1,32, 256} {
				line := fmt.Sprintf("  %s n=%d:", src, want)
				for _, scan := range []int{2000, 4000, 6000, 8000, 10000, 15000, 20000, 30000} {
					hit, tot := 0, 0
					for i := range nq {
						v := Q[i*D:][:D]
						if src == "base" {
							v = X[(i*7919%n)*D:][:D]
						}
						var qq rq.Query
						qq.Reset(v)
						ex := flat.Nearest(nil, &qq, want, &ws)
						ws.groups = gs.supers.Nearest(ws.groups, &qq, len(gs.blocks), &ws)
						gs.scanGroups(&qq, want, scan, &ws)
						ap := ws.sel.appendSorted(nil)
						in := map[uint32]bool{}
						for _, a := range ap {
							in[a.ID] = true
						}
						for _, e := range ex {
							tot++
							if in[e.ID] {
								hit++
							}
						}
					}
					line += fmt.Sprintf(" %d:%.4f", scan, float64(hit)/float64(tot))
				}
				fmt.Println(line)
			}
		}
	}
}
