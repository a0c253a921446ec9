package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// writePack writes packPlanes: one bit of every byte makes a mask.
func writePack(g *gen) {
	g.fn("packPlanes", "func(dst, u []byte, bits, stride int)",
		"Splits byte codes into bit planes. AVX2: len(u) is a multiple of 32.")
	dst, u, n := g.base("dst"), g.base("u"), g.len("u")
	bits, stride := g.int("bits"), g.int("stride")
	if !g.wide {
		shift, x := g.GP64(), g.XMM()
		g.MOVQ(operand.I32(8), shift)
		g.SUBQ(bits, shift)
		g.VMOVQ(shift, x)
		g.while(n, 32, func() { g.packNarrow(dst, u, bits, stride, x) })
		g.ret()
		return
	}
	first := g.splatBits(0x01010101)
	pack := func(c reg.VecVirtual, store func(k, at reg.Register)) {
		left, p, bit := g.GP64(), g.GP64(), g.vec()
		g.MOVQ(bits, left)
		g.MOVQ(dst, p)
		g.VMOVDQA64(first, bit)
		g.while(left, 1, func() {
			k := g.K()
			g.VPTESTMB(bit, c, k)
			g.VPADDB(bit, bit, bit)
			store(k, p)
			g.ADDQ(stride, p)
		})
	}
	g.while(n, 64, func() {
		c := g.vec()
		g.VMOVDQU8(at(u, 0), c)
		pack(c, func(k, p reg.Register) { g.KMOVQ(k, at(p, 0)) })
		g.advance(64, u)
		g.advance(8, dst)
	})
	g.ifAny(n, func() {
		c := g.vec()
		g.VMOVDQU8_Z(at(u, 0), g.byteMask(n), c)
		g.ADDQ(operand.Imm(7), n)
		g.SHRQ(operand.Imm(3), n)
		bytes := g.byteMask(n)
		pack(c, func(k, p reg.Register) {
			word, x := g.GP64(), g.XMM()
			g.KMOVQ(k, word)
			g.VMOVQ(word, x)
			g.VMOVDQU8(x, bytes, at(p, 0))
		})
	})
	g.ret()
}

// packNarrow packs 32 codes. VPMOVMSKB takes the top bit of each byte, so the codes
// are shifted left step by step, the top plane first.
func (g *gen) packNarrow(dst, u, bits, stride, shift reg.Register) {
	c, p, left := g.YMM(), g.GP64(), g.GP64()
	g.VMOVDQU(at(u, 0), c)
	g.VPSLLW(shift, c, c) // bits that cross into the next byte land below its top plane
	g.MOVQ(bits, left)
	g.MOVQ(stride, p)
	g.IMULQ(bits, p)
	g.ADDQ(dst, p)
	g.while(left, 1, func() {
		mask := g.GP32()
		g.SUBQ(stride, p)
		g.VPMOVMSKB(c, mask)
		g.MOVL(mask, at(p, 0))
		g.VPADDB(c, c, c)
	})
	g.advance(32, u)
	g.advance(4, dst)
}
