package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func writeHadamard(g *gen) {
	signs := g.signTable()
	g.fn("hadamard", "func(x []float32)",
		"Walsh-Hadamard transform; len(x) is a power of two and fills a vector.")
	x, bytes := g.base("x"), g.len("x")
	g.SHLQ(operand.Imm(2), bytes)
	g.Comment("Within vectors.")
	g.hadamardInner(x, bytes, signs)
	g.Comment("Across vectors.")
	g.hadamardOuter(x, bytes)
	g.ret()

	g.fn("butterfly", "func(a, b []float32)", "a, b = a+b, a-b. AVX2: len(a) is a multiple of 8.")
	a, b := g.base("a"), g.base("b")
	g.each(g.len("a"), []reg.Register{a, b}, []reg.Register{a, b},
		func(x []reg.VecVirtual) []reg.VecVirtual {
			g.swapAdd(x[0], x[1])
			return x
		})

	g.fn("mul", "func(dst, a, b []float32)", "dst = a*b. AVX2: len(dst) is a multiple of 8.")
	g.each(g.len("dst"), []reg.Register{g.base("a"), g.base("b")}, []reg.Register{g.base("dst")},
		func(x []reg.VecVirtual) []reg.VecVirtual {
			g.VMULPS(x[1], x[0], x[0])
			return x[:1]
		})
}

// swapAdd replaces a, b by a+b, a-b.
func (g *gen) swapAdd(a, b reg.VecVirtual) {
	t := g.vec()
	g.VSUBPS(b, a, t)
	g.VADDPS(b, a, a)
	g.VMOVAPS(t, b)
}

// signTable declares the sign flips of the stages within an AVX2 vector: stage s
// negates the lanes whose bit s is set.
func (g *gen) signTable() operand.Mem {
	if g.wide {
		return operand.Mem{}
	}
	m := g.StaticGlobal("stageSigns")
	g.DataAttributes(attrReadOnly)
	for s := range 3 {
		for lane := range 8 {
			g.AddDatum(32*s+4*lane, operand.U32(uint32(lane>>s&1)<<31))
		}
	}
	return m
}

// hadamardInner does the stages that stay within a vector. In each, t is x with
// the partners swapped; the lower partner becomes x+t, the upper t-x.
func (g *gen) hadamardInner(x, bytes reg.Register, signs operand.Mem) {
	p, n := g.GP64(), g.GP64()
	g.MOVQ(x, p)
	g.MOVQ(bytes, n)
	flips := make([]reg.Register, 3)
	if g.wide {
		flips = make([]reg.Register, 4)
	}
	for s := range flips {
		if g.wide {
			lanes, k := g.GP32(), g.K()
			g.MOVL(operand.U32([]uint32{0xaaaa, 0xcccc, 0xf0f0, 0xff00}[s]), lanes)
			g.KMOVW(lanes, k)
			flips[s] = k
			continue
		}
		v := g.vec()
		g.VMOVDQU(signs.Offset(32*s), v)
		flips[s] = v
	}
	g.while(n, g.width(), func() {
		v := g.vec()
		g.VMOVUPS(at(p, 0), v)
		for s, flip := range flips {
			t := g.vec()
			g.swapPartners(s, v, t)
			if g.wide {
				sum := g.vec()
				g.VADDPS(t, v, sum)
				g.VSUBPS(v, t, flip, sum)
				v = sum
				continue
			}
			g.VXORPS(flip, v, v)
			g.VADDPS(v, t, v)
		}
		g.VMOVUPS(v, at(p, 0))
		g.advance(g.width(), p)
	})
}

// swapPartners sets t to v with the lanes 2^s apart exchanged.
func (g *gen) swapPartners(s int, v, t reg.VecVirtual) {
	switch {
	case s == 0:
		g.VPERMILPS(operand.Imm(0xb1), v, t)
	case s == 1:
		g.VPERMILPS(operand.Imm(0x4e), v, t)
	case !g.wide:
		g.VPERM2F128(operand.Imm(1), v, v, t)
	case s == 2:
		g.VSHUFF32X4(operand.Imm(0xb1), v, v, t)
	default:
		g.VSHUFF32X4(operand.Imm(0x4e), v, v, t)
	}
}

// hadamardOuter does the stages across vectors, two at a time while two are left:
// that halves the passes over memory.
func (g *gen) hadamardOuter(x, bytes reg.Register) {
	h, end := g.GP64(), g.GP64()
	g.MOVQ(operand.I32(g.width()), h)
	g.LEAQ(operand.Mem{Base: x, Index: bytes, Scale: 1}, end)

	next, single, done := g.label("next"), g.label("single"), g.label("done")
	g.Label(next)
	h2 := g.GP64()
	g.LEAQ(operand.Mem{Base: h, Index: h, Scale: 1}, h2)
	g.CMPQ(h2, bytes)
	g.JG(operand.LabelRef(done))
	g.JE(operand.LabelRef(single))
	g.stage(x, end, h, 4)
	g.SHLQ(operand.Imm(2), h)
	g.JMP(operand.LabelRef(next))
	g.Label(single)
	g.stage(x, end, h, 2)
	g.Label(done)
}

// stage combines blocks of h bytes: pairs of them in one stage (radix 2), or
// quadruples in two (radix 4).
func (g *gen) stage(x, end, h reg.Register, radix int) {
	p, h3 := g.GP64(), g.GP64()
	g.MOVQ(x, p)
	g.LEAQ(operand.Mem{Base: h, Index: h, Scale: 2}, h3)
	block := g.label("block")
	g.Label(block)
	left := g.GP64()
	g.MOVQ(h, left)
	g.while(left, g.width(), func() {
		v := g.vecs(radix)
		for i := range v {
			g.VMOVUPS(rowAt(p, h, h3, i), v[i])
		}
		if radix == 4 {
			g.swapAdd(v[0], v[1])
			g.swapAdd(v[2], v[3])
			g.swapAdd(v[0], v[2])
			g.swapAdd(v[1], v[3])
		} else {
			g.swapAdd(v[0], v[1])
		}
		for i := range v {
			g.VMOVUPS(v[i], rowAt(p, h, h3, i))
		}
		g.advance(g.width(), p)
	})
	if radix == 4 {
		g.ADDQ(h3, p)
	} else {
		g.ADDQ(h, p)
	}
	g.CMPQ(p, end)
	g.JL(operand.LabelRef(block))
}
