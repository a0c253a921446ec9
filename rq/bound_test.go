package rq

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// exceedance counts how often an estimate is off by more than eps sigmas.
type exceedance struct {
	n     int
	above map[float64]int
	sumSq float64 // of the error in sigmas
}

var sigmas = []float64{1.5, 2, 3}

// normalShare is the chance that a normal variable is off by more than eps.
func normalShare(eps float64) float64 { return math.Erfc(eps / math.Sqrt2) }

func (e *exceedance) add(p *posting, q []float32) {
	if e.above == nil {
		e.above = map[float64]int{}
	}
	est, exact, qc2 := p.estimates(q)
	for i := range est {
		z := math.Abs(float64(est[i])-exact[i]) / (float64(p.sigma[i]) * math.Sqrt(qc2))
		for _, eps := range sigmas {
			if z > eps {
				e.above[eps]++
			}
		}
		e.sumSq += z * z
		e.n++
	}
}

// check fails where the bound is exceeded more often than for a normal variable
// (times slack), or, for a tight bound, less often than half of that.
func (e *exceedance) check(t *testing.T, slack float64, tight bool) {
	t.Helper()
	t.Logf("%d estimates, error %.3f sigma, above 1.5: %.2f %%, 2: %.2f %%, 3: %.3f %%", e.n, math.Sqrt(e.sumSq/float64(e.n)),
		100*e.share(1.5), 100*e.share(2), 100*e.share(3))
	for _, eps := range sigmas {
		want := normalShare(eps)
		// Six times the counting error, doubled as one code meets many queries.
		noise := 12 * math.Sqrt(want/float64(e.n))
		if got := e.share(eps); got > slack*want+noise {
			t.Errorf("%.3f %% of the estimates are off by more than %v sigma, want %.3f %%", 100*got, eps, 100*want)
		} else if tight && got < want/2-noise {
			t.Errorf("only %.3f %% of the estimates are off by more than %v sigma, want %.3f %%", 100*got, eps, 100*want)
		}
	}
}

func (e *exceedance) share(eps float64) float64 { return float64(e.above[eps]) / float64(e.n) }

func TestBoundOnGaussianResiduals(t *testing.T) {
	for _, d := range []int{104, 384, 768} {
		for _, bits := range []int{1, 2, 4, 5, 8} {
			t.Run(fmt.Sprintf("%dx%d", d, bits), func(t *testing.T) {
				var e exceedance
				p := newPosting(t, gaussianPosting(d, 400, 31), bits)
				for _, q := range gaussianPosting(d, 40, 32).rows {
					e.add(p, q)
				}
				e.check(t, 1.1, true)
			})
		}
	}
}

// TestBoundFarCenter moves everything far from the origin, as no mean would be
// subtracted: the rounding of the query must not spoil the bound.
func TestBoundFarCenter(t *testing.T) {
	for _, bits := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) {
			data, queries := gaussianPosting(256, 300, 41), gaussianPosting(256, 20, 42)
			shift := gaussianPosting(256, 1, 43).rows[0]
			for _, v := range append(append([][]float32{data.center}, data.rows...), queries.rows...) {
				for j := range v {
					v[j] += 20 * shift[j]
				}
			}
			var e exceedance
			p := newPosting(t, data, bits)
			for _, q := range queries.rows {
				e.add(p, q)
			}
			e.check(t, 1.1, true)
		})
	}
}

// TestBoundOnRealData builds postings of real vectors around the mean of near ones
// and asks with their neighbours. Residual and query are then not independent, which
// only makes the bound wider than it need be.
func TestBoundOnRealData(t *testing.T) {
	for _, set := range []string{"minilm384", "glove100"} {
		raw := readUnitVectors(t, set)
		for _, bits := range []int{1, 2, 4, 8} {
			t.Run(fmt.Sprintf("%s/%d", set, bits), func(t *testing.T) {
				var e exceedance
				for seed := range uint64(4) {
					r := rotation(t, len(raw[0]), seed)
					rotated := make([][]float32, len(raw))
					for i, v := range raw {
						rotated[i] = rotate(r, v)
					}
					for first := 0; first < len(raw); first += 60 {
						p, queries := realPosting(t, rotated, first, bits)
						for _, q := range queries {
							e.add(p, q)
						}
					}
				}
				e.check(t, 1.25, false)
			})
		}
	}
}

// realPosting takes the 60 vectors nearest to one of the set as members and the 40
// that follow as queries.
func realPosting(t *testing.T, set [][]float32, first, bits int) (p *posting, queries [][]float32) {
	near := slices.Clone(set)
	slices.SortFunc(near, func(a, b []float32) int {
		return int(math.Copysign(1, distance(a, set[first])-distance(b, set[first])))
	})
	const members = 60
	center := make([]float32, len(set[0]))
	for _, v := range near[:members] {
		for j, x := range v {
			center[j] += x / members
		}
	}
	return newPosting(t, vectors{center: center, rows: near[:members]}, bits), near[members : members+40]
}

// readUnitVectors reads testdata/name.fbin, takes the mean off and scales each
// vector to length 1.
func readUnitVectors(t *testing.T, name string) [][]float32 {
	data, err := os.ReadFile(filepath.Join("testdata", name+".fbin"))
	if err != nil {
		t.Fatal(err)
	}
	n, d := int(binary.LittleEndian.Uint32(data)), int(binary.LittleEndian.Uint32(data[4:]))
	rows, mean := make([][]float32, n), make([]float32, d)
	for i := range rows {
		rows[i] = make([]float32, d)
		for j := range rows[i] {
			rows[i][j] = math.Float32frombits(binary.LittleEndian.Uint32(data[8+4*(i*d+j):]))
			mean[j] += rows[i][j] / float32(n)
		}
	}
	for _, v := range rows {
		norm := math.Sqrt(distance(v, mean))
		for j := range v {
			v[j] = float32(float64(v[j]-mean[j]) / norm)
		}
	}
	return rows
}
