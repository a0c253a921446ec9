package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// planeArgs are the parameters of dotPlanes. Those used once a plane stay on the
// stack: the general registers are few.
type planeArgs struct {
	q, bits, planeBytes operand.Mem
	s, s3               reg.Register // bytes of one query plane, and of three
}

// planePos is a position within a code plane and the eight query planes.
type planePos struct {
	p      reg.Register // in the code plane
	q0, q4 reg.Register // in the query planes 0 and 4
	n      reg.Register // bytes left
}

func (g *gen) newPlanePos(a planeArgs, plane reg.Register) planePos {
	pos := planePos{g.GP64(), g.GP64(), g.GP64(), g.GP64()}
	g.MOVQ(plane, pos.p)
	g.MOVQ(a.q, pos.q0)
	g.LEAQ(operand.Mem{Base: pos.q0, Index: a.s, Scale: 4}, pos.q4)
	g.MOVQ(a.planeBytes, pos.n)
	return pos
}

// query is the memory of query plane w.
func (pos planePos) query(a planeArgs, w int) operand.Mem {
	base := pos.q0
	if w >= 4 {
		base = pos.q4
	}
	return rowAt(base, a.s, a.s3, w%4)
}

func writePlanes(g *gen) {
	g.declareMaskTable()
	g.fn("dotPlanes", "func(dst []int32, q []uint64, codes []byte, bits, planeBytes int)",
		"Dot products of bit planes. AVX2: may read 3 bytes past the last row.")
	a := planeArgs{
		q: g.param(g.Param("q").Base()), bits: g.param(g.Param("bits")), planeBytes: g.param(g.Param("planeBytes")),
		s: g.GP64(), s3: g.GP64(),
	}
	g.MOVQ(a.planeBytes, a.s)
	g.ADDQ(operand.Imm(7), a.s)
	g.ANDQ(operand.I32(-8), a.s)
	g.LEAQ(operand.Mem{Base: a.s, Index: a.s, Scale: 2}, a.s3)
	dst, left := g.base("dst"), g.len("dst")
	stride := g.GP64()
	g.MOVQ(a.bits, stride)
	g.IMULQ(a.planeBytes, stride)
	if g.wide {
		g.dotPlanesWide(a, dst, left, g.newRows(g.base("codes"), stride))
	} else {
		g.dotPlanesNarrow(a, dst, left, g.base("codes"), stride)
	}
}

// eachPlane walks the planes of the row (or rows) at ptr from the most significant
// down: body gets the start of the plane.
func (g *gen) eachPlane(a planeArgs, ptr, stride reg.Register, body func(plane reg.Register)) {
	plane := g.GP64()
	g.LEAQ(operand.Mem{Base: ptr, Index: stride, Scale: 1}, plane)
	left := g.GP64()
	g.MOVQ(a.bits, left)
	g.while(left, 1, func() {
		g.SUBQ(a.planeBytes, plane)
		body(plane)
	})
}

// dotPlanesWide counts the bits of code AND query plane by bytes (VPOPCNTB) and
// multiplies the counts by the weight of the query plane while adding them up
// (VPDPBUSD). Code planes are taken from the most significant down, doubling the
// sums in between (Horner). Two sums a row hide the latency.
func (g *gen) dotPlanesWide(a planeArgs, dst, left reg.Register, r rows) {
	weight := g.vecs(8)
	for p := range weight {
		w := uint32(1) << p // in each byte; as a signed byte the last is -128
		weight[p] = g.splatBits(w * 0x01010101)
	}
	g.eachRow(dst, left, r, func(count int) []reg.VecVirtual {
		even, odd := g.vecs(count), g.vecs(count)
		g.zero(even...)
		g.zero(odd...)
		g.eachPlane(a, r.ptr, r.stride, func(plane reg.Register) {
			for i := range even {
				g.VPSLLD(operand.Imm(1), even[i], even[i])
				g.VPSLLD(operand.Imm(1), odd[i], odd[i])
			}
			g.planeWide(a, rows{plane, r.stride, r.stride3}, weight, even, odd)
		})
		for i := range even {
			g.VPADDD(odd[i], even[i], even[i])
		}
		g.ADDQ(r.stride, r.ptr)
		return even
	})
}

// planeWide adds the products of one plane of each row.
func (g *gen) planeWide(a planeArgs, r rows, weight, even, odd []reg.VecVirtual) {
	pos := g.newPlanePos(a, r.ptr)
	at4 := rows{pos.p, r.stride, r.stride3}
	round := func(load func(m operand.Mem, v reg.VecVirtual)) {
		c := g.vecs(len(even))
		for i := range c {
			load(at4.at(i, 0), c[i])
		}
		for w := range weight {
			x := g.vec()
			load(pos.query(a, w), x)
			for i := range c {
				acc := even[i]
				if w%2 == 1 {
					acc = odd[i]
				}
				t := g.vec()
				g.VPANDQ(x, c[i], t)
				g.VPOPCNTB(t, t)
				g.VPDPBUSD(weight[w], t, acc)
			}
		}
	}
	g.while(pos.n, 64, func() {
		round(func(m operand.Mem, v reg.VecVirtual) { g.VMOVDQU8(m, v) })
		g.advance(64, pos.p, pos.q0, pos.q4)
	})
	g.ifAny(pos.n, func() {
		mask := g.byteMask(pos.n)
		round(func(m operand.Mem, v reg.VecVirtual) { g.VMOVDQU8_Z(m, mask, v) })
	})
}

// narrowPlanes are the constants and sums of dotPlanesNarrow.
type narrowPlanes struct {
	low, high reg.VecVirtual // 0x0f and 0xf0 in each byte
	counts    [5]operand.Mem // bits of a nibble, times 1, 2, 4, 8 and -8
	ones      reg.VecVirtual // 1 in each word and
	sixteens  reg.VecVirtual // 16 in each byte
	acc       reg.VecVirtual
}

// dotPlanesNarrow counts bits by table lookup of nibbles (VPSHUFB). The tables hold
// the counts times 1, 2, 4, 8 and -8, so that the query planes 0-3 and 4-7 add up
// within a byte each (8·15 = 120, 8·7 = 56 and -8·8 = -64); the upper four then
// count 16-fold.
func (g *gen) dotPlanesNarrow(a planeArgs, dst, left, codes, stride reg.Register) {
	tables := g.countTables()
	k := narrowPlanes{low: g.splatBits(0x0f0f0f0f), high: g.splatBits(0xf0f0f0f0),
		ones: g.splatBits(0x00010001), sixteens: g.splatBits(0x10101010)}
	k.counts = tables
	g.while(left, 1, func() {
		k.acc = g.vec()
		g.zero(k.acc)
		g.eachPlane(a, codes, stride, func(plane reg.Register) {
			g.VPADDD(k.acc, k.acc, k.acc)
			g.planeNarrow(a, plane, k)
		})
		g.VMOVD(g.addAcross(k.acc), at(dst, 0))
		g.ADDQ(stride, codes)
		g.advance(4, dst)
	})
	g.ret()
}

// planeNarrow adds the products of one plane to k.acc.
func (g *gen) planeNarrow(a planeArgs, plane reg.Register, k narrowPlanes) {
	pos := g.newPlanePos(a, plane)
	round := func(load func(m operand.Mem, v reg.VecVirtual)) {
		cl, ch := g.vec(), g.vec()
		load(at(pos.p, 0), ch)
		g.VPAND(k.low, ch, cl)
		g.VPAND(k.high, ch, ch)
		sum := g.vecs(2)
		g.zero(sum...)
		for w := range 8 {
			table := g.vec()
			if w == 7 {
				g.VMOVDQU(k.counts[4], table)
			} else {
				g.VMOVDQU(k.counts[w%4], table)
			}
			x, t := g.vec(), g.vec()
			load(pos.query(a, w), x)
			g.VPAND(cl, x, t)
			g.VPSHUFB(t, table, t)
			g.VPADDB(t, sum[w/4], sum[w/4])
			g.VPAND(ch, x, x)
			g.VPSRLW(operand.Imm(4), x, x)
			g.VPSHUFB(x, table, x)
			g.VPADDB(x, sum[w/4], sum[w/4])
		}
		// Bytes to words: the lower sums are unsigned, the upper signed.
		one := g.vec()
		g.VPSRLW(operand.Imm(4), k.sixteens, one)
		g.VPMADDUBSW(one, sum[0], sum[0])
		g.VPMADDUBSW(sum[1], k.sixteens, sum[1])
		g.VPADDW(sum[1], sum[0], sum[0])
		g.VPMADDWD(k.ones, sum[0], sum[0])
		g.VPADDD(sum[0], k.acc, k.acc)
	}
	g.while(pos.n, 32, func() {
		round(func(m operand.Mem, v reg.VecVirtual) { g.VMOVDQU(m, v) })
		g.advance(32, pos.p, pos.q0, pos.q4)
	})
	g.ifAny(pos.n, func() {
		// Whole double words: the bits past the plane meet zeros of the query.
		g.ADDQ(operand.Imm(3), pos.n)
		mask := g.wordTail(pos.n)
		round(func(m operand.Mem, v reg.VecVirtual) { g.VPMASKMOVD(m, mask, v) })
	})
}

// countTables declares the lookup tables of dotPlanesNarrow.
func (g *gen) countTables() (tables [5]operand.Mem) {
	m := g.StaticGlobal("nibbleCounts")
	g.DataAttributes(attrReadOnly)
	for i, weight := range []int{1, 2, 4, 8, -8} {
		for j := range 32 {
			count := 0
			for b := j % 16; b != 0; b &= b - 1 {
				count++
			}
			g.AddDatum(32*i+j, operand.U8(uint8(weight*count)))
		}
		tables[i] = m.Offset(32 * i)
	}
	return tables
}
