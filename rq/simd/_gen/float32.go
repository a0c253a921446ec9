package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// group is the number of strided lanes of a float32 sum, see lanes32.
const group = 32

// op is a vector instruction with two sources and a destination.
type op func(...operand.Op)

// reduction describes a sum over the elements of one or two slices.
type reduction struct {
	ptrs []reg.Register
	n    reg.Register
	sums int // number of results
	join op  // how partial results meet: nil adds
	// step adds one vector of each slice to acc, one accumulator for each result.
	// keep zeroes the dead lanes of a vector that step derived from constants.
	step func(x, acc []reg.VecVirtual, keep func(reg.VecVirtual))
}

// reduce writes the loop of r and returns the totals in the lowest lanes.
func (g *gen) reduce(r reduction) []reg.VecVirtual {
	if r.join == nil {
		r.join = g.VADDPS
	}
	perGroup := group * 4 / g.width()
	acc := make([][]reg.VecVirtual, perGroup)
	for j := range acc {
		acc[j] = g.vecs(r.sums)
		g.zero(acc[j]...)
	}
	round := func(maskOf func(j int) reg.Register) {
		for j := range acc {
			mask := maskOf(j)
			x := g.vecs(len(r.ptrs))
			for i, p := range r.ptrs {
				g.load(at(p, j*g.width()), mask, x[i])
			}
			r.step(x, acc[j], func(v reg.VecVirtual) { g.keep(v, mask) })
		}
	}
	g.while(r.n, group, func() {
		round(noMask)
		g.advance(group*4, r.ptrs...)
	})
	g.ifAny(r.n, func() { round(g.tailMasks(r.n, perGroup, g.width()/4)) })
	totals := make([]reg.VecVirtual, r.sums)
	for s := range totals {
		parts := make([]reg.VecVirtual, perGroup)
		for j := range parts {
			parts[j] = acc[j][s]
		}
		totals[s] = g.fold(parts, r.join)
	}
	return totals
}

// keep zeroes the lanes of v that mask, if there is one, does not select.
func (g *gen) keep(v, mask reg.Register) {
	switch {
	case mask == nil:
	case g.wide:
		g.VMOVAPS_Z(v, mask, v)
	default:
		g.VANDPS(v, mask, v)
	}
}

// fold4 folds 32 lanes by halves down to four, left in the lower X register.
func (g *gen) fold4(parts []reg.VecVirtual, join op) reg.VecVirtual {
	for h := len(parts) / 2; h > 0; h /= 2 {
		for j := range h {
			join(parts[j+h], parts[j], parts[j])
		}
	}
	v := parts[0]
	high := g.XMM()
	if g.wide {
		half := g.YMM()
		g.VEXTRACTF64X4(operand.Imm(1), v, half)
		join(half, v.AsY(), v.AsY())
		g.VEXTRACTF32X4(operand.Imm(1), v.AsY(), high)
	} else {
		g.VEXTRACTF128(operand.Imm(1), v.AsY(), high)
	}
	join(high, v.AsX(), v.AsX())
	return v
}

// fold folds 32 lanes to one, the lowest.
func (g *gen) fold(parts []reg.VecVirtual, join op) reg.VecVirtual {
	v := g.fold4(parts, join)
	g.foldX(v.AsX(), join)
	return v
}

// foldX folds four lanes to one, the lowest.
func (g *gen) foldX(v reg.Register, join op) {
	t := g.XMM()
	g.VMOVHLPS(v, v, t)
	join(t, v, v)
	g.VMOVSHDUP(v, t)
	join(t, v, v)
}

func writeFloat32(g *gen) {
	g.declareMaskTable()

	g.fn("dotF32", "func(a, b []float32) float32", "Sums a*b in 32 lanes.")
	t := g.reduce(reduction{
		ptrs: []reg.Register{g.base("a"), g.base("b")}, n: g.len("a"), sums: 1,
		step: func(x, acc []reg.VecVirtual, _ func(reg.VecVirtual)) {
			g.VMULPS(x[1], x[0], x[0])
			g.VADDPS(x[0], acc[0], acc[0])
		},
	})
	g.ret(t[0].AsX())

	g.fn("l2F32", "func(a, b []float32) float32", "Sums (a-b)^2 in 32 lanes.")
	t = g.reduce(reduction{
		ptrs: []reg.Register{g.base("a"), g.base("b")}, n: g.len("a"), sums: 1,
		step: func(x, acc []reg.VecVirtual, _ func(reg.VecVirtual)) {
			g.VSUBPS(x[1], x[0], x[0])
			g.VMULPS(x[0], x[0], x[0])
			g.VADDPS(x[0], acc[0], acc[0])
		},
	})
	g.ret(t[0].AsX())

	g.fn("dotRowsF32", "func(dst, q, rows []float32)", "dotF32 of q with each row.")
	writeDotRowsF32(g)
}

// writeDotRowsF32 takes the rows by four with AVX-512, which has the registers, so
// that one load of the query serves four rows; the rest, and all rows with AVX2,
// go one by one.
func writeDotRowsF32(g *gen) {
	dst, left := g.base("dst"), g.len("dst")
	q, rows := g.base("q"), g.base("rows")
	stride := g.len("q")
	g.SHLQ(operand.Imm(2), stride)
	stride3 := g.GP64()
	g.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	if g.wide {
		g.while(left, 4, func() {
			sums := g.dotRowsF32(4, q, rows, stride, stride3)
			g.ADDQ(stride3, rows)
			// Transpose the four folded rows and add across.
			a, b, c, d := sums[0].AsX(), sums[1].AsX(), sums[2].AsX(), sums[3].AsX()
			t, u := g.XMM(), g.XMM()
			g.VUNPCKHPS(b, a, t)
			g.VUNPCKLPS(b, a, a)
			g.VADDPS(t, a, a)
			g.VUNPCKHPS(d, c, u)
			g.VUNPCKLPS(d, c, c)
			g.VADDPS(u, c, c)
			g.VMOVLHPS(c, a, t)
			g.VMOVHLPS(a, c, u)
			g.VADDPS(u, t, t)
			g.VMOVUPS(t, at(dst, 0))
			g.advance(16, dst)
		})
	}
	g.while(left, 1, func() {
		v := g.dotRowsF32(1, q, rows, stride, stride3)[0].AsX()
		g.foldX(v, g.VADDPS)
		g.VMOVSS(v, at(dst, 0))
		g.advance(4, dst)
	})
	g.ret()
}

// dotRowsF32 returns the dot products of q with the next `count` rows, folded to
// four lanes each, and moves rows one row on.
func (g *gen) dotRowsF32(count int, q, rows, stride, stride3 reg.Register) []reg.VecVirtual {
	perGroup := group * 4 / g.width()
	acc := make([][]reg.VecVirtual, count)
	for r := range acc {
		acc[r] = g.vecs(perGroup)
		g.zero(acc[r]...)
	}
	p, n := g.GP64(), g.GP64()
	g.MOVQ(q, p)
	g.MOVQ(stride, n)
	g.SHRQ(operand.Imm(2), n)
	round := func(maskOf func(j int) reg.Register) {
		for j := range perGroup {
			mask, x := maskOf(j), g.vec()
			g.load(at(p, j*g.width()), mask, x)
			for r := range acc {
				y := g.vec()
				g.load(rowAt(rows, stride, stride3, r).Offset(j*g.width()), mask, y)
				g.VMULPS(x, y, y)
				g.VADDPS(y, acc[r][j], acc[r][j])
			}
		}
	}
	g.while(n, group, func() {
		round(noMask)
		g.advance(group*4, p, rows)
	})
	g.ifAny(n, func() {
		round(g.tailMasks(n, perGroup, g.width()/4))
		g.LEAQ(operand.Mem{Base: rows, Index: n, Scale: 4}, rows)
	})
	sums := make([]reg.VecVirtual, count)
	for r := range sums {
		sums[r] = g.fold4(acc[r], g.VADDPS)
	}
	return sums
}

// rowAt is the start of row r of four, stride bytes apart.
func rowAt(rows, stride, stride3 reg.Register, r int) operand.Mem {
	switch r {
	case 1:
		return operand.Mem{Base: rows, Index: stride, Scale: 1}
	case 2:
		return operand.Mem{Base: rows, Index: stride, Scale: 2}
	case 3:
		return operand.Mem{Base: rows, Index: stride3, Scale: 1}
	}
	return operand.Mem{Base: rows}
}
