package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// group64 is the number of strided lanes of a float64 sum, see lanes64.
const group64 = 8

func writeFloat64(g *gen) {
	g.declareMaskTable()

	g.fn("dotF64", "func(a, b []float32) float64", "Sums a*b in 8 lanes of float64.")
	g.reduce64(func(x, y, acc reg.VecVirtual) {
		g.VMULPD(y, x, x)
		g.VADDPD(x, acc, acc)
	})

	g.fn("l2F64", "func(a, b []float32) float64", "Sums (a-b)^2 in 8 lanes of float64.")
	g.reduce64(func(x, y, acc reg.VecVirtual) {
		g.VSUBPD(y, x, x)
		g.VMULPD(x, x, x)
		g.VADDPD(x, acc, acc)
	})
}

// reduce64 writes a sum over the widened elements of the parameters a and b. step
// adds a vector of each to acc.
func (g *gen) reduce64(step func(x, y, acc reg.VecVirtual)) {
	a, b, n := g.base("a"), g.base("b"), g.len("a")
	perGroup := group64 * 8 / g.width()
	lanes := group64 / perGroup
	acc := g.vecs(perGroup)
	g.zero(acc...)
	g.while(n, group64, func() {
		for j := range acc {
			x, y := g.vec(), g.vec()
			g.VCVTPS2PD(at(a, 4*lanes*j), x)
			g.VCVTPS2PD(at(b, 4*lanes*j), y)
			step(x, y, acc[j])
		}
		g.advance(4*group64, a, b)
	})
	g.ifAny(n, func() {
		maskOf := g.tailMasks(n, perGroup, lanes)
		for j := range acc {
			mask, x, y := maskOf(j), g.vec(), g.vec()
			g.widenMasked(at(a, 4*lanes*j), mask, x)
			g.widenMasked(at(b, 4*lanes*j), mask, y)
			step(x, y, acc[j])
		}
	})
	v, t := acc[0], g.XMM()
	if g.wide {
		half := g.YMM()
		g.VEXTRACTF64X4(operand.Imm(1), v, half)
		g.VADDPD(half, v.AsY(), v.AsY())
		g.VEXTRACTF32X4(operand.Imm(1), v.AsY(), t)
	} else {
		g.VADDPD(acc[1], v, v)
		g.VEXTRACTF128(operand.Imm(1), v.AsY(), t)
	}
	g.VADDPD(t, v.AsX(), v.AsX())
	g.VUNPCKHPD(v.AsX(), v.AsX(), t)
	g.VADDSD(t, v.AsX(), v.AsX())
	g.ret(v.AsX())
}

// widenMasked loads half a vector of float32 under mask and widens it.
func (g *gen) widenMasked(m operand.Mem, mask reg.Register, v reg.VecVirtual) {
	if g.wide {
		t := g.YMM()
		g.VMOVUPS_Z(m, mask, t)
		g.VCVTPS2PD(t, v)
		return
	}
	t := g.XMM()
	g.VMASKMOVPS(m, mask, t)
	g.VCVTPS2PD(t, v)
}
