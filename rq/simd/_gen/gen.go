package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gen writes one file. Its methods are the vocabulary that the kernels share; most
// hide whether a vector is 32 bytes (AVX2) or 64 (AVX-512).
type gen struct {
	*build.Context
	wide   bool
	labels int
	masks  operand.Mem // AVX2: the table of tail masks, where declared
}

func (g *gen) isa() string {
	if g.wide {
		return "avx512"
	}
	return "avx2"
}

// fn starts a function. Its name gets the instruction set as a suffix; doc says what
// it does, inside the function, where the printer keeps it.
func (g *gen) fn(name, signature, doc string) {
	suffix := "AVX2"
	if g.wide {
		suffix = "AVX512"
	}
	g.Function(name + suffix)
	g.Attributes(attr.NOSPLIT)
	g.SignatureExpr(signature)
	g.Comment(doc)
}

// ret ends a function. The upper halves are cleared first, as the code around
// expects and as the plain SSE moves of the results need.
func (g *gen) ret(results ...reg.Register) {
	g.VZEROUPPER()
	for i, r := range results {
		g.Store(r, g.ReturnIndex(i))
	}
	g.RET()
}

// width is the bytes of a vector.
func (g *gen) width() int {
	if g.wide {
		return 64
	}
	return 32
}

func (g *gen) vec() reg.VecVirtual {
	if g.wide {
		return g.ZMM()
	}
	return g.YMM()
}

func (g *gen) vecs(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = g.vec()
	}
	return v
}

// zero clears vectors.
func (g *gen) zero(vs ...reg.VecVirtual) {
	for _, v := range vs {
		if g.wide {
			g.VPXORD(v, v, v)
		} else {
			g.VXORPS(v, v, v)
		}
	}
}

func (g *gen) base(param string) reg.GPVirtual {
	r := g.GP64()
	g.Load(g.Param(param).Base(), r)
	return r
}

func (g *gen) len(param string) reg.GPVirtual {
	r := g.GP64()
	g.Load(g.Param(param).Len(), r)
	return r
}

// int loads an integer parameter.
func (g *gen) int(param string) reg.GPVirtual {
	r := g.GP64()
	g.Load(g.Param(param), r)
	return r
}

// splat loads a float32 parameter into all lanes.
func (g *gen) splat(param string) reg.VecVirtual {
	v := g.vec()
	g.VBROADCASTSS(g.param(g.Param(param)), v)
	return v
}

// param is the place of a parameter on the stack.
func (g *gen) param(c gotypes.Component) operand.Mem {
	b, err := c.Resolve()
	if err != nil {
		panic(err) // a slip in the generator
	}
	return b.Addr
}

// splatBits fills all lanes with a 32-bit constant.
func (g *gen) splatBits(bits uint32) reg.VecVirtual {
	r, x, v := g.GP32(), g.XMM(), g.vec()
	g.MOVL(operand.U32(bits), r)
	g.VMOVD(r, x)
	if g.wide {
		g.VPBROADCASTD(x, v)
	} else {
		g.VBROADCASTSS(x, v)
	}
	return v
}

// at is the memory off bytes after the pointer p.
func at(p reg.Register, off int) operand.Mem { return operand.Mem{Base: p, Disp: off} }

func (g *gen) label(name string) string {
	g.labels++
	return fmt.Sprintf("%s%d", name, g.labels)
}

// while runs body as long as n >= step, subtracting step after each run.
func (g *gen) while(n reg.Register, step int, body func()) {
	loop, done := g.label("loop"), g.label("done")
	g.CMPQ(n, operand.Imm(uint64(step)))
	g.JL(operand.LabelRef(done))
	g.Label(loop)
	body()
	g.SUBQ(operand.Imm(uint64(step)), n)
	g.CMPQ(n, operand.Imm(uint64(step)))
	g.JGE(operand.LabelRef(loop))
	g.Label(done)
}

// ifAny runs body when n is not zero.
func (g *gen) ifAny(n reg.Register, body func()) {
	none := g.label("none")
	g.TESTQ(n, n)
	g.JZ(operand.LabelRef(none))
	body()
	g.Label(none)
}

// advance moves pointers on by n bytes.
func (g *gen) advance(n int, ps ...reg.Register) {
	for _, p := range ps {
		g.ADDQ(operand.Imm(uint64(n)), p)
	}
}

// lowBits returns a register with the n lowest bits set; n is at most 63.
func (g *gen) lowBits(n reg.Register) reg.GPVirtual {
	ones := g.GP64()
	g.MOVQ(operand.I32(-1), ones)
	g.BZHIQ(n, ones, ones)
	return ones
}

// byteMask returns the AVX-512 mask of the n lowest bytes of a vector.
func (g *gen) byteMask(n reg.Register) reg.OpmaskVirtual {
	k := g.K()
	g.KMOVQ(g.lowBits(n), k)
	return k
}

// tailMasks gives the masks of 32-bit lanes for `count` vectors of `lanes` lanes
// each that together hold n < count*lanes live lanes: opmasks with AVX-512, vectors
// of all-ones lanes with AVX2 (an X register for 4 lanes). The function returned
// writes what is needed for the mask of vector j; AVX2 has no registers to keep
// them all.
func (g *gen) tailMasks(n reg.Register, count, lanes int) func(j int) reg.Register {
	if g.wide {
		masks := make([]reg.Register, count)
		bits := g.lowBits(n)
		for j := range masks {
			k := g.K()
			g.KMOVW(bits.As32(), k)
			if j+1 < count {
				g.SHRQ(operand.Imm(uint64(lanes)), bits)
			}
			masks[j] = k
		}
		return func(j int) reg.Register { return masks[j] }
	}
	// Entry i of the table is live for i < tableOnes, so a window that starts at
	// tableOnes-n has n live lanes.
	p, start := g.GP64(), g.GP64()
	g.LEAQ(g.masks, p)
	g.MOVQ(n, start)
	g.NEGQ(start)
	return func(j int) reg.Register {
		m := operand.Mem{Base: p, Index: start, Scale: 4, Disp: 4 * (tableOnes + j*lanes)}
		var v reg.Register = g.YMM()
		if lanes == 4 {
			v = g.XMM()
		}
		g.VMOVDQU(m, v)
		return v
	}
}

// attrReadOnly marks constants.
const attrReadOnly = attr.RODATA | attr.NOPTR

// tableOnes is the number of live, and then of dead, entries of the mask table.
const tableOnes = 32

// declareMaskTable writes the table; a file whose AVX2 kernels mask lanes calls it
// first.
func (g *gen) declareMaskTable() {
	if g.wide {
		return
	}
	g.masks = g.StaticGlobal("tailMasks")
	g.DataAttributes(attrReadOnly)
	for i := range 2 * tableOnes {
		v := uint32(0)
		if i < tableOnes {
			v = 1<<32 - 1
		}
		g.AddDatum(4*i, operand.U32(v))
	}
}

// noMask is the mask of a full vector.
func noMask(int) reg.Register { return nil }

// load loads a vector of float32, or only the lanes that mask, if there is one,
// selects: the others become zero and their memory is not touched.
func (g *gen) load(m operand.Mem, mask, v reg.Register) {
	switch {
	case mask == nil:
		g.VMOVUPS(m, v)
	case g.wide:
		g.VMOVUPS_Z(m, mask, v)
	default:
		g.VMASKMOVPS(m, mask, v)
	}
}

// store is the opposite of load.
func (g *gen) store(v, mask reg.Register, m operand.Mem) {
	switch {
	case mask == nil:
		g.VMOVUPS(v, m)
	case g.wide:
		g.VMOVUPS(v, mask, m)
	default:
		g.VMASKMOVPS(v, mask, m)
	}
}
