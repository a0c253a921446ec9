//go:build !amd64 || noasm

package simd

func dotF32(a, b []float32) float32                  { return dotF32Generic(a, b) }
func l2F32(a, b []float32) float32                   { return l2F32Generic(a, b) }
func dotRowsF32(dst, q, rows []float32)              { dotRowsF32Generic(dst, q, rows) }
func l2F64(a, b []float32) float64                   { return l2F64Generic(a, b) }
func dotF64(a, b []float32) float64                  { return dotF64Generic(a, b) }
func dotU8S8(dst []int32, q []int8, codes []byte)    { dotU8S8Generic(dst, q, codes) }
func absMax(a []float32) float32                     { return absMaxGeneric(a) }
func absMaxDiff(a, b []float32) float32              { return absMaxDiffGeneric(a, b) }
func scale(dst, a []float32, s float32)              { scaleGeneric(dst, a, s) }
func subScale(dst, a, b []float32, s float32)        { subScaleGeneric(dst, a, b, s) }
func hadamard(x []float32)                           { hadamardGeneric(x) }
func butterfly(a, b []float32)                       { butterflyGeneric(a, b) }
func mul(dst, a, b []float32)                        { mulGeneric(dst, a, b) }
func packPlanes(dst, u []byte, nbits, stride int)    { packPlanesGeneric(dst, u, nbits, stride) }
func decodeU8(dst []float32, u []byte, s, m float32) { decodeU8Generic(dst, u, s, m) }
func decodeU4(dst []float32, c []byte, s, m float32) { decodeU4Generic(dst, c, s, m) }

func dotU4S8(dst []int32, qlo, qhi []int8, codes []byte) {
	dotU4S8Generic(dst, qlo, qhi, codes)
}

func dotPlanes(dst []int32, q []uint64, codes []byte, nbits, planeBytes int) {
	dotPlanesGeneric(dst, q, codes, nbits, planeBytes)
}

func combine(dst []float32, hi, lo []int32, add, mul []float32, c Combination) {
	combineGeneric(dst, hi, lo, add, mul, c)
}

func packQuery(dst []uint64, q []int8) { packQueryGeneric(dst, q) }

func fitCode(r []float32, t, top float32) (xr, xx float32) {
	return fitCodeGeneric(r, t, top)
}

func roundCode(u []byte, x, r []float32, t, top float32) {
	roundCodeGeneric(u, x, r, t, top)
}

func roundS8(dst []int8, rest, v []float32, inv, delta float32) int32 {
	return roundS8Generic(dst, rest, v, inv, delta)
}
