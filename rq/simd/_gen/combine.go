package main

import (
	"github.com/mmcloughlin/avo/reg"
)

// bitsMaxFloat is math.MaxFloat32.
const bitsMaxFloat = 0x7f7fffff

func writeCombine(g *gen) {
	g.fn("combine", "func(dst []float32, hi, lo []int32, add, mul []float32, base, scaleHi, scaleLo, low float32, offsetHi, offsetLo int32)",
		"Distances from dot products. AVX2: len(dst) is a multiple of 8.")
	base, low, high := g.splat("base"), g.splat("low"), g.splatBits(bitsMaxFloat)
	scaleHi, scaleLo := g.splat("scaleHi"), g.splat("scaleLo")
	offsetHi, offsetLo := g.splat("offsetHi"), g.splat("offsetLo")
	// part is scale·(2·dot - offset).
	part := func(dot, offset, scale reg.VecVirtual) {
		g.VPADDD(dot, dot, dot)
		g.VPSUBD(offset, dot, dot)
		g.VCVTDQ2PS(dot, dot)
		g.VMULPS(scale, dot, dot)
	}
	g.each(g.len("dst"),
		[]reg.Register{g.base("hi"), g.base("lo"), g.base("add"), g.base("mul")}, []reg.Register{g.base("dst")},
		func(x []reg.VecVirtual) []reg.VecVirtual {
			hi, lo, add, mul := x[0], x[1], x[2], x[3]
			part(hi, offsetHi, scaleHi)
			part(lo, offsetLo, scaleLo)
			g.VADDPS(lo, hi, hi)
			g.VMULPS(hi, mul, mul)
			g.VADDPS(base, add, add)
			g.VADDPS(mul, add, add)
			g.VMINPS(high, add, add)
			g.VMAXPS(low, add, add)
			return []reg.VecVirtual{add}
		})
}
