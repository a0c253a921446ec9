//go:build !noasm

package simd

import (
	"os"

	"github.com/klauspost/cpuid/v2"
)

// What the files x_avx2_amd64.s and x_avx512_amd64.s need of the processor. A test
// derives the same lists from the instructions in them.
var (
	needAVX2   = []cpuid.FeatureID{cpuid.AVX, cpuid.AVX2}
	needAVX512 = []cpuid.FeatureID{
		cpuid.AVX, cpuid.AVX2, cpuid.BMI2,
		cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL,
		cpuid.AVX512VNNI, cpuid.AVX512BITALG,
	}
)

// active is the path in use. Kernels branch on it and call the assembly directly: a
// call through a variable would make their arguments escape to the heap.
var active = limit(best(), os.Getenv(envPath))

// best returns the highest path that the processor and the operating system offer.
func best() path {
	switch {
	case cpuid.CPU.Supports(needAVX512...):
		return avx512
	case cpuid.CPU.Supports(needAVX2...):
		return avx2
	}
	return generic
}
