package simd

// AbsMaxDiff returns max |a[i]-b[i]|, or max |a[i]| when b is nil; 0 for an empty a.
func AbsMaxDiff(a, b []float32) float32 {
	if b == nil {
		return absMax(a)
	}
	return absMaxDiff(a, first(b, len(a)))
}

// SubScale sets dst[i] = (a[i]-b[i])·s, or a[i]·s when b is nil, for len(dst)
// elements. dst may be a.
func SubScale(dst, a, b []float32, s float32) {
	if b == nil {
		scale(dst, first(a, len(dst)), s)
		return
	}
	subScale(dst, first(a, len(dst)), first(b, len(dst)), s)
}

// FitCode is one trial of a scalar quantizer on r with step 1/t: each |r[i]|
// becomes x[i] = m+½ with m = min(floor(|r[i]|·t), top). It returns
// xr = Σ x[i]·|r[i]| and xx = Σ x[i]².
func FitCode(r []float32, t, top float32) (xr, xx float32) {
	return fitCode(r, t, top)
}

// RoundCode quantizes as [FitCode] does and writes the result, len(u) elements:
// x[i] = ±(m+½), positive where r[i] > 0, and the unsigned code
// u[i] = x[i] + top + ½, which lies in 0..2·top+1. top is at most 127.
func RoundCode(u []byte, x, r []float32, t, top float32) {
	roundCode(u, first(x, len(u)), first(r, len(u)), t, top)
}

// RoundS8 rounds v[i]·inv to the nearest integer (ties to even) within -127..127
// and writes it to dst[i] and what is left, v[i] - delta·dst[i], to rest[i], for
// len(dst) elements. It returns Σ dst[i]. rest may be v; inv is 1/delta.
func RoundS8(dst []int8, rest, v []float32, inv, delta float32) int32 {
	return roundS8(dst, first(rest, len(dst)), first(v, len(dst)), inv, delta)
}

// DecodeU8 sets dst[i] = s·(u[i]-mid) for len(dst) elements.
func DecodeU8(dst []float32, u []byte, s, mid float32) {
	decodeU8(dst, first(u, len(dst)), s, mid)
}

// DecodeU4 is DecodeU8 for two 4-bit codes a byte: with h = len(code),
// dst[i] = s·(code[i]&15 - mid) and dst[h+i] = s·(code[i]>>4 - mid).
func DecodeU4(dst []float32, code []byte, s, mid float32) {
	decodeU4(first(dst, 2*len(code)), code, s, mid)
}
