package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rows is a matrix of bytes walked four rows at a time, then one by one.
type rows struct {
	ptr             reg.Register // first of the rows in work, moved on by the sums
	stride, stride3 reg.Register // bytes of one row, and of three
}

func (g *gen) newRows(ptr, stride reg.Register) rows {
	r := rows{ptr: ptr, stride: stride, stride3: g.GP64()}
	g.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, r.stride3)
	return r
}

// at is the memory off bytes into row i of those in work.
func (r rows) at(i, off int) operand.Mem {
	return rowAt(r.ptr, r.stride, r.stride3, i).Offset(off)
}

// eachRow writes the loop over the `left` rows: sums returns vectors of int32 whose
// lanes add up to the results of the next count rows and moves r.ptr past the
// first of them.
func (g *gen) eachRow(dst, left reg.Register, r rows, sums func(count int) []reg.VecVirtual) {
	g.while(left, 4, func() {
		v := g.addAcross4(sums(4))
		g.VMOVDQU(v, at(dst, 0))
		g.ADDQ(r.stride3, r.ptr)
		g.advance(16, dst)
	})
	g.while(left, 1, func() {
		g.VMOVD(g.addAcross(sums(1)[0]), at(dst, 0))
		g.advance(4, dst)
	})
	g.ret()
}

// addAcross4 adds up the int32 lanes of each of four vectors: it transposes within
// 128 bits, then folds.
func (g *gen) addAcross4(v []reg.VecVirtual) reg.Register {
	t := g.vec()
	pair := func(a, b reg.VecVirtual) {
		g.VPUNPCKHDQ(b, a, t)
		g.VPUNPCKLDQ(b, a, a)
		g.VPADDD(t, a, a)
	}
	pair(v[0], v[1])
	pair(v[2], v[3])
	g.VPUNPCKHQDQ(v[2], v[0], t)
	g.VPUNPCKLQDQ(v[2], v[0], v[0])
	g.VPADDD(t, v[0], v[0])
	return g.foldInt(v[0])
}

// foldInt folds the 128-bit parts of v into its lowest.
func (g *gen) foldInt(v reg.VecVirtual) reg.Register {
	high := g.XMM()
	if g.wide {
		half := g.YMM()
		g.VEXTRACTI64X4(operand.Imm(1), v, half)
		g.VPADDD(half, v.AsY(), v.AsY())
		g.VEXTRACTI32X4(operand.Imm(1), v.AsY(), high)
	} else {
		g.VEXTRACTI128(operand.Imm(1), v.AsY(), high)
	}
	g.VPADDD(high, v.AsX(), v.AsX())
	return v.AsX()
}

// addAcross adds up the int32 lanes of v into the lowest.
func (g *gen) addAcross(v reg.VecVirtual) reg.Register {
	x, t := g.foldInt(v), g.XMM()
	g.VPSHUFD(operand.Imm(0x4e), x, t)
	g.VPADDD(t, x, x)
	g.VPSHUFD(operand.Imm(0xb1), x, t)
	g.VPADDD(t, x, x)
	return x
}

func writeCodes(g *gen) {
	g.declareMaskTable()

	g.fn("dotU8S8", "func(dst []int32, q []int8, codes []byte)",
		"Dot products of byte codes with q. AVX2: len(q) is a multiple of 4.")
	dst, left, q, stride := g.base("dst"), g.len("dst"), g.base("q"), g.len("q")
	r := g.newRows(g.base("codes"), stride)
	g.eachRow(dst, left, r, func(count int) []reg.VecVirtual {
		acc := g.vecs(count)
		g.zero(acc...)
		g.bytesU8(r, q, acc)
		return acc
	})

	g.fn("dotU4S8", "func(dst []int32, qlo, qhi []int8, codes []byte)",
		"Dot products of 4-bit codes, two a byte. AVX2: len(qlo) is a multiple of 4.")
	dst, left, stride = g.base("dst"), g.len("dst"), g.len("qlo")
	qlo, qhi := g.base("qlo"), g.base("qhi")
	r = g.newRows(g.base("codes"), stride)
	k := g.nibbles()
	g.eachRow(dst, left, r, func(count int) []reg.VecVirtual {
		acc := g.vecs(count)
		g.zero(acc...)
		g.bytesU4(r, qlo, qhi, k, acc)
		return acc
	})
}

// bytesU8 adds the products of the next rows with q to acc.
//
// AVX-512 multiplies bytes directly (VPDPBUSD, which does not saturate). The byte
// multiply of AVX2 saturates at 16 bits, so bytes are widened to words first.
func (g *gen) bytesU8(r rows, q reg.Register, acc []reg.VecVirtual) {
	p, n := g.GP64(), g.GP64()
	g.MOVQ(q, p)
	g.MOVQ(r.stride, n)
	step := g.width()
	if !g.wide {
		step = 16
	}
	g.while(n, step, func() {
		x := g.vec()
		if g.wide {
			g.VMOVDQU8(at(p, 0), x)
		} else {
			g.VPMOVSXBW(at(p, 0), x)
		}
		for i := range acc {
			c := g.vec()
			if g.wide {
				g.VMOVDQU8(r.at(i, 0), c)
				g.VPDPBUSD(x, c, acc[i])
				continue
			}
			g.VPMOVZXBW(r.at(i, 0), c)
			g.VPMADDWD(x, c, c)
			g.VPADDD(c, acc[i], acc[i])
		}
		g.advance(step, p, r.ptr)
	})
	g.ifAny(n, func() {
		mask := g.byteTail(n)
		x := g.vec()
		if g.wide {
			g.VMOVDQU8_Z(at(p, 0), mask, x)
		} else {
			g.VPMASKMOVD(at(p, 0), mask, x.AsX())
			g.VPMOVSXBW(x.AsX(), x)
		}
		for i := range acc {
			c := g.vec()
			if g.wide {
				g.VMOVDQU8_Z(r.at(i, 0), mask, c)
				g.VPDPBUSD(x, c, acc[i])
				continue
			}
			g.VPMASKMOVD(r.at(i, 0), mask, c.AsX())
			g.VPMOVZXBW(c.AsX(), c)
			g.VPMADDWD(x, c, c)
			g.VPADDD(c, acc[i], acc[i])
		}
		g.ADDQ(n, r.ptr)
	})
}

// byteTail returns the mask of the n lowest bytes of a vector; with AVX2 it is made
// of double words, for n < 16 (in the X part) a multiple of 4.
func (g *gen) byteTail(n reg.Register) reg.Register {
	if g.wide {
		return g.byteMask(n)
	}
	words := g.GP64()
	g.MOVQ(n, words)
	g.SHRQ(operand.Imm(2), words)
	return g.tailMasks(words, 1, 4)(0)
}

// nibbleConsts are the constants of bytesU4.
type nibbleConsts struct {
	low  reg.VecVirtual // 0x0f in each byte
	ones reg.VecVirtual // AVX2: 1 in each word
}

func (g *gen) nibbles() nibbleConsts {
	k := nibbleConsts{low: g.splatBits(0x0f0f0f0f)}
	if !g.wide {
		k.ones = g.splatBits(0x00010001)
	}
	return k
}

// bytesU4 adds the products of the next rows with qlo (low nibbles) and qhi (high
// nibbles) to acc. A pair of products of 15·127 fits 16 bits even with AVX2.
func (g *gen) bytesU4(r rows, qlo, qhi reg.Register, k nibbleConsts, acc []reg.VecVirtual) {
	pl, ph, n := g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(qlo, pl)
	g.MOVQ(qhi, ph)
	g.MOVQ(r.stride, n)
	step := g.width()
	round := func(load func(m operand.Mem, v reg.VecVirtual)) {
		xl, xh := g.vec(), g.vec()
		load(at(pl, 0), xl)
		load(at(ph, 0), xh)
		for i := range acc {
			c, h := g.vec(), g.vec()
			load(r.at(i, 0), c)
			g.VPSRLW(operand.Imm(4), c, h)
			if g.wide {
				g.VPANDD(k.low, c, c)
				g.VPANDD(k.low, h, h)
				g.VPDPBUSD(xl, c, acc[i])
				g.VPDPBUSD(xh, h, acc[i])
				continue
			}
			g.VPAND(k.low, c, c)
			g.VPAND(k.low, h, h)
			g.VPMADDUBSW(xl, c, c)
			g.VPMADDUBSW(xh, h, h)
			g.VPADDW(h, c, c)
			g.VPMADDWD(k.ones, c, c)
			g.VPADDD(c, acc[i], acc[i])
		}
	}
	g.while(n, step, func() {
		round(func(m operand.Mem, v reg.VecVirtual) {
			if g.wide {
				g.VMOVDQU8(m, v)
			} else {
				g.VMOVDQU(m, v)
			}
		})
		g.advance(step, pl, ph, r.ptr)
	})
	g.ifAny(n, func() {
		mask := g.wordTail(n)
		round(func(m operand.Mem, v reg.VecVirtual) {
			if g.wide {
				g.VMOVDQU8_Z(m, mask, v)
			} else {
				g.VPMASKMOVD(m, mask, v)
			}
		})
		g.ADDQ(n, r.ptr)
	})
}

// wordTail is byteTail for a full vector: with AVX2, n < 32.
func (g *gen) wordTail(n reg.Register) reg.Register {
	if g.wide {
		return g.byteMask(n)
	}
	words := g.GP64()
	g.MOVQ(n, words)
	g.SHRQ(operand.Imm(2), words)
	return g.tailMasks(words, 1, 8)(0)
}
