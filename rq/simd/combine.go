package simd

// Combination holds the scalars of [Combine].
type Combination struct {
	Base               float32 // added to every row
	ScaleHi, ScaleLo   float32 // what one unit of the dot products is worth
	OffsetHi, OffsetLo int32   // subtracted from twice the dot products
	Min                float32 // lower limit of the results
}

// Combine turns the integer dot products of rows with a query in two parts into
// distances: with x = ScaleHi·(2·hi[i]-OffsetHi) + ScaleLo·(2·lo[i]-OffsetLo),
//
//	dst[i] = Base + add[i] + mul[i]·x
//
// limited to Min..math.MaxFloat32, for len(dst) rows. The integers stay within 32
// bits; all else is finite, though the product may overflow.
func Combine(dst []float32, hi, lo []int32, add, mul []float32, c Combination) {
	n := len(dst)
	hi, lo, add, mul = first(hi, n), first(lo, n), first(add, n), first(mul, n)
	combine(dst, hi, lo, add, mul, c)
}
