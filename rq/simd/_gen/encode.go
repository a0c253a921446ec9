package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	bitsHalf    = 0x3f000000 // 0.5
	bits127     = 0x42fe0000 // 127
	bitsSign    = 0x80000000
	bitsNoSign  = 0x7fffffff
	truncate    = 3    // rounding mode of VROUNDPS and VRNDSCALEPS
	greaterThan = 0x1e // predicate of VCMPPS: ordered, quiet
)

func writeEncode(g *gen) {
	g.declareMaskTable()
	g.writeFitCode()
	g.writeRoundCode()
	g.writeRoundS8()
}

// levelConsts are the constants of level.
type levelConsts struct{ abs, half, t, top reg.VecVirtual }

func (g *gen) levelConsts() levelConsts {
	return levelConsts{g.splatBits(bitsNoSign), g.splatBits(bitsHalf), g.splat("t"), g.splat("top")}
}

// level returns |r| and its quantized magnitude, as the Go function of that name.
func (g *gen) level(r reg.VecVirtual, k levelConsts) (abs, x reg.VecVirtual) {
	abs, x = g.vec(), g.vec()
	g.VANDPS(k.abs, r, abs)
	g.VMULPS(k.t, abs, x)
	g.VMINPS(k.top, x, x)
	if g.wide {
		g.VRNDSCALEPS(operand.Imm(truncate), x, x)
	} else {
		g.VROUNDPS(operand.Imm(truncate), x, x)
	}
	g.VADDPS(k.half, x, x)
	return abs, x
}

func (g *gen) writeFitCode() {
	g.fn("fitCode", "func(r []float32, t, top float32) (xr, xx float32)",
		"Sums x*|r| and x*x in 32 lanes, x the quantized |r|.")
	k := g.levelConsts()
	t := g.reduce(reduction{
		ptrs: []reg.Register{g.base("r")}, n: g.len("r"), sums: 2,
		step: func(x, acc []reg.VecVirtual, keep func(reg.VecVirtual)) {
			abs, level := g.level(x[0], k)
			keep(level)
			g.VMULPS(level, abs, abs)
			g.VADDPS(abs, acc[0], acc[0])
			g.VMULPS(level, level, level)
			g.VADDPS(level, acc[1], acc[1])
		},
	})
	g.ret(t[0].AsX(), t[1].AsX())
}

func (g *gen) writeRoundCode() {
	g.fn("roundCode", "func(u []byte, x, r []float32, t, top float32)",
		"x = the quantized r, u = x+top+1/2. AVX2: len(u) is a multiple of 8.")
	k := g.levelConsts()
	sign, lift := g.splatBits(bitsSign), g.vec()
	g.VADDPS(k.top, k.half, lift)
	u, x, r := g.base("u"), g.base("x"), g.base("r")
	g.blocks(g.len("u"), func(mask reg.Register) {
		v := g.vec()
		g.load(at(r, 0), mask, v)
		_, level := g.level(v, k)
		g.negateUnlessPositive(level, v, sign)
		g.store(level, mask, at(x, 0))
		g.VADDPS(lift, level, level)
		g.VCVTTPS2DQ(level, level)
		g.storeBytes(level, mask, at(u, 0), g.VPACKUSDW, g.VPACKUSWB)
		g.advance(g.width(), x, r)
		g.advance(g.width()/4, u)
	})
	g.ret()
}

// negateUnlessPositive flips the sign of x where v > 0 does not hold.
func (g *gen) negateUnlessPositive(x, v, sign reg.VecVirtual) {
	zero := g.vec()
	g.zero(zero)
	if g.wide {
		k := g.K()
		g.VCMPPS(operand.Imm(greaterThan), zero, v, k)
		g.KNOTW(k, k)
		g.VPXORD(sign, x, k, x)
		return
	}
	g.VCMPPS(operand.Imm(greaterThan), zero, v, v)
	g.VANDNPS(sign, v, v)
	g.VXORPS(v, x, x)
}

// storeBytes stores the int32 lanes of v as bytes. The lanes are in range, so how
// the packs of AVX2 saturate only has to suit their sign.
func (g *gen) storeBytes(v reg.VecVirtual, mask reg.Register, m operand.Mem, toWords, toBytes op) {
	if g.wide {
		if mask == nil {
			g.VPMOVDB(v, m)
		} else {
			g.VPMOVDB(v, mask, m)
		}
		return
	}
	high := g.XMM()
	g.VEXTRACTI128(operand.Imm(1), v, high)
	toWords(high, v.AsX(), high)
	toBytes(high, high, high)
	g.VMOVQ(high, m)
}

func (g *gen) writeRoundS8() {
	g.fn("roundS8", "func(dst []int8, rest, v []float32, inv, delta float32) int32",
		"dst = v*inv rounded, rest = v-delta*dst; sums dst. AVX2: len(dst) is a multiple of 8.")
	top, bottom, sign := g.splatBits(bits127), g.vec(), g.splatBits(bitsSign)
	g.VXORPS(sign, top, bottom)
	inv, delta, sum := g.splat("inv"), g.splat("delta"), g.vec()
	g.zero(sum)
	dst, rest, p := g.base("dst"), g.base("rest"), g.base("v")
	g.blocks(g.len("dst"), func(mask reg.Register) {
		v, n, h := g.vec(), g.vec(), g.vec()
		g.load(at(p, 0), mask, v)
		g.VMULPS(inv, v, h)
		g.VMINPS(top, h, h)
		g.VMAXPS(bottom, h, h)
		g.VCVTPS2DQ(h, n)
		g.VPADDD(n, sum, sum)
		g.VCVTDQ2PS(n, h)
		g.VMULPS(delta, h, h)
		g.VSUBPS(h, v, v)
		g.store(v, mask, at(rest, 0))
		g.storeBytes(n, mask, at(dst, 0), g.VPACKSSDW, g.VPACKSSWB)
		g.advance(g.width(), rest, p)
		g.advance(g.width()/4, dst)
	})
	g.addAcross(sum)
	total := g.GP32()
	g.VMOVD(sum.AsX(), total)
	g.ret(total)
}
