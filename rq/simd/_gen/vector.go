package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// blocks writes the loop over n float32 elements, one vector a step. The last
// step of AVX-512 has a mask of what is left; AVX2 takes a multiple of 8 elements
// and leaves the rest to the caller. body moves the pointers itself.
func (g *gen) blocks(n reg.Register, body func(mask reg.Register)) {
	g.while(n, g.width()/4, func() { body(nil) })
	if g.wide {
		g.ifAny(n, func() { body(g.tailMasks(n, 1, 16)(0)) })
	}
}

// each writes an elementwise kernel: body turns a vector of each input into a
// vector of each output.
func (g *gen) each(n reg.Register, in, out []reg.Register, body func(x []reg.VecVirtual) []reg.VecVirtual) {
	g.blocks(n, func(mask reg.Register) {
		x := g.vecs(len(in))
		for i, p := range in {
			g.load(at(p, 0), mask, x[i])
		}
		for i, y := range body(x) {
			g.store(y, mask, at(out[i], 0))
		}
		moved := map[reg.Register]bool{}
		for _, p := range append(append([]reg.Register{}, in...), out...) {
			if !moved[p] {
				g.advance(g.width(), p)
			}
			moved[p] = true
		}
	})
	g.ret()
}

func writeVector(g *gen) {
	g.declareMaskTable()
	g.writeAbsMax()

	g.fn("scale", "func(dst, a []float32, s float32)", "dst = a*s. AVX2: len(dst) is a multiple of 8.")
	s := g.splat("s")
	g.each(g.len("dst"), []reg.Register{g.base("a")}, []reg.Register{g.base("dst")},
		func(x []reg.VecVirtual) []reg.VecVirtual {
			g.VMULPS(s, x[0], x[0])
			return x
		})

	g.fn("subScale", "func(dst, a, b []float32, s float32)", "dst = (a-b)*s. AVX2: len(dst) is a multiple of 8.")
	s = g.splat("s")
	g.each(g.len("dst"), []reg.Register{g.base("a"), g.base("b")}, []reg.Register{g.base("dst")},
		func(x []reg.VecVirtual) []reg.VecVirtual {
			g.VSUBPS(x[1], x[0], x[0])
			g.VMULPS(s, x[0], x[0])
			return x[:1]
		})

	g.writeDecode()
}

func (g *gen) writeAbsMax() {
	g.fn("absMax", "func(a []float32) float32", "The greatest |a|.")
	abs := g.splatBits(bitsNoSign)
	t := g.reduce(reduction{
		ptrs: []reg.Register{g.base("a")}, n: g.len("a"), sums: 1, join: g.VMAXPS,
		step: func(x, acc []reg.VecVirtual, _ func(reg.VecVirtual)) {
			g.VANDPS(abs, x[0], x[0])
			g.VMAXPS(x[0], acc[0], acc[0])
		},
	})
	g.ret(t[0].AsX())

	g.fn("absMaxDiff", "func(a, b []float32) float32", "The greatest |a-b|.")
	abs = g.splatBits(bitsNoSign)
	t = g.reduce(reduction{
		ptrs: []reg.Register{g.base("a"), g.base("b")}, n: g.len("a"), sums: 1, join: g.VMAXPS,
		step: func(x, acc []reg.VecVirtual, _ func(reg.VecVirtual)) {
			g.VSUBPS(x[1], x[0], x[0])
			g.VANDPS(abs, x[0], x[0])
			g.VMAXPS(x[0], acc[0], acc[0])
		},
	})
	g.ret(t[0].AsX())
}

func (g *gen) writeDecode() {
	g.fn("decodeU8", "func(dst []float32, u []byte, s, mid float32)",
		"dst = (u-mid)*s. AVX2: len(dst) is a multiple of 8.")
	s, mid := g.splat("s"), g.splat("mid")
	dst, u := g.base("dst"), g.base("u")
	g.blocks(g.len("dst"), func(mask reg.Register) {
		v := g.vec()
		if g.wide && mask != nil {
			g.VMOVDQU8_Z(at(u, 0), mask, v.AsX())
			g.VPMOVZXBD(v.AsX(), v)
		} else {
			g.VPMOVZXBD(at(u, 0), v)
		}
		g.decode(v, s, mid, mask, at(dst, 0))
		g.advance(g.width(), dst)
		g.advance(g.width()/4, u)
	})
	g.ret()

	g.fn("decodeU4", "func(dst []float32, code []byte, s, mid float32)",
		"dst = (nibble-mid)*s, low nibbles first. AVX2: len(code) is a multiple of 8.")
	s, mid = g.splat("s"), g.splat("mid")
	dst, code, n := g.base("dst"), g.base("code"), g.len("code")
	high := g.GP64()
	g.LEAQ(operand.Mem{Base: dst, Index: n, Scale: 4}, high)
	nibble := g.splatBits(15)
	g.blocks(n, func(mask reg.Register) {
		v, w := g.vec(), g.vec()
		if g.wide && mask != nil {
			g.VMOVDQU8_Z(at(code, 0), mask, v.AsX())
			g.VPMOVZXBD(v.AsX(), v)
		} else {
			g.VPMOVZXBD(at(code, 0), v)
		}
		g.VPSRLD(operand.Imm(4), v, w)
		if g.wide {
			g.VPANDD(nibble, v, v)
		} else {
			g.VPAND(nibble, v, v)
		}
		g.decode(v, s, mid, mask, at(dst, 0))
		g.decode(w, s, mid, mask, at(high, 0))
		g.advance(g.width(), dst, high)
		g.advance(g.width()/4, code)
	})
	g.ret()
}

// decode stores (v-mid)·s for the integers v.
func (g *gen) decode(v, s, mid reg.VecVirtual, mask reg.Register, m operand.Mem) {
	g.VCVTDQ2PS(v, v)
	g.VSUBPS(mid, v, v)
	g.VMULPS(s, v, v)
	g.store(v, mask, m)
}
