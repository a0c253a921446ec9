package centroids

import (
	"math"
	"slices"

	"github.com/spratdb/sprat/rq/simd"
)

// treeOrder returns the vectors cents [k][dim] ordered so that near ones stand
// near each other. It halves them along their main axis, then each half likewise,
// down to single vectors. Each cut turns its axis so that the half that comes
// first is the one nearer to what stands in front of it.
func treeOrder(cents []float32, dim int) []float32 {
	k := len(cents) / dim
	o := orderer{dim: dim, cents: cents, key: make([]float32, k), diff: make([]float32, dim)}
	order := make([]int32, k)
	for i := range order {
		order[i] = int32(i)
	}
	o.halve(order, nil, nil)
	sorted := make([]float32, 0, len(cents))
	for _, i := range order {
		sorted = append(sorted, cents[int(i)*dim:][:dim]...)
	}
	return sorted
}

// orderer holds the memory of one treeOrder.
type orderer struct {
	dim   int
	cents []float32
	key   []float32 // position on the axis of the cut, by vector
	diff  []float32
}

func (o *orderer) vec(i int32) []float32 { return o.cents[int(i)*o.dim:][:o.dim] }

// halve orders list; before and after are the means of its neighbours, or nil.
func (o *orderer) halve(list []int32, before, after []float32) {
	if len(list) < 2 {
		return
	}
	mean := o.mean(list)
	axis := o.axis(list, mean)
	for _, i := range list {
		sub(o.diff, o.vec(i), mean)
		o.key[i] = simd.DotF32(o.diff, axis)
	}
	slices.SortFunc(list, func(a, b int32) int {
		switch ka, kb := o.key[a], o.key[b]; {
		case ka < kb:
			return -1
		case ka > kb:
			return 1
		default:
			return int(a) - int(b)
		}
	})
	if o.facesBack(mean, axis, before, after) {
		slices.Reverse(list)
	}
	left, right := list[:len(list)/2], list[len(list)/2:]
	leftMean, rightMean := o.mean(left), o.mean(right)
	o.halve(left, before, rightMean)
	o.halve(right, leftMean, after)
}

// facesBack tells whether the axis points from what comes after to what comes
// before.
func (o *orderer) facesBack(mean, axis, before, after []float32) bool {
	pull := float32(0)
	if before != nil {
		sub(o.diff, before, mean)
		pull += simd.DotF32(o.diff, axis)
	}
	if after != nil {
		sub(o.diff, after, mean)
		pull -= simd.DotF32(o.diff, axis)
	}
	return pull > 0
}

// mean returns the mean of the vectors of list.
func (o *orderer) mean(list []int32) []float32 {
	sum := make([]float64, o.dim)
	for _, i := range list {
		addTo(sum, o.vec(i))
	}
	mean := make([]float32, o.dim)
	for j, x := range sum {
		mean[j] = float32(x / float64(len(list)))
	}
	return mean
}

// axis estimates the main axis of the vectors of list around mean by power
// iteration, started at the vector furthest from it. Its length is about 1, or 0
// when all vectors are equal.
func (o *orderer) axis(list []int32, mean []float32) []float32 {
	axis, far := make([]float32, o.dim), float32(-1)
	for _, i := range list {
		if d := simd.L2F32(o.vec(i), mean); d > far {
			far = d
			sub(axis, o.vec(i), mean)
		}
	}
	sum := make([]float64, o.dim)
	addTo(sum, axis)
	normalise(axis, sum)
	for range 3 {
		clear(sum)
		for _, i := range list {
			sub(o.diff, o.vec(i), mean)
			w := float64(simd.DotF32(o.diff, axis))
			for j, x := range o.diff {
				sum[j] += float64(w * float64(x)) // converted, so that it is not fused
			}
		}
		normalise(axis, sum)
	}
	return axis
}

// normalise sets dst to the unit vector along v, or to 0 when v is 0.
func normalise(dst []float32, v []float64) {
	square := 0.0
	for _, x := range v {
		square += float64(x * x)
	}
	scale := 0.0
	if square > 0 {
		scale = 1 / math.Sqrt(square)
	}
	for j, x := range v {
		dst[j] = float32(x * scale)
	}
}

// sub sets dst = a - b; the three have one length.
func sub(dst, a, b []float32) { simd.SubScale(dst, a, b, 1) }
