//go:build !noasm

package simd

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/cpuid/v2"
)

// encodings are the features that an instruction needs in its VEX form and in its
// EVEX form; zero where the assembly has no such form.
type encodings struct{ vex, evex cpuid.FeatureID }

// baseline is every amd64 processor's.
var baseline = strings.Fields(`MOVQ MOVL MOVSS MOVSD LEAQ ADDQ SUBQ NEGQ IMULQ ANDQ SHLQ SHRQ
	CMPQ TESTQ JMP JL JGE JG JE JZ RET`)

// instructions lists what the assembly uses, by the features that the manual of the
// architecture gives. One that is missing here fails the test: look it up and add it.
var instructions = map[string]encodings{
	"BZHIQ":      {vex: cpuid.BMI2},
	"KMOVW":      {evex: cpuid.AVX512F},
	"KNOTW":      {evex: cpuid.AVX512F},
	"KMOVQ":      {evex: cpuid.AVX512BW},
	"VZEROUPPER": {vex: cpuid.AVX},
}

func init() {
	for list, e := range map[string]encodings{
		`VADDPS VSUBPS VMULPS VMAXPS VMINPS VADDPD VSUBPD VMULPD VADDSD VCMPPS
		 VMOVUPS VMOVAPS VMOVSS VMOVD VMOVQ VMOVHLPS VMOVLHPS VMOVSHDUP
		 VUNPCKLPS VUNPCKHPS VUNPCKHPD VPERMILPS
		 VCVTPS2PD VCVTDQ2PS VCVTPS2DQ VCVTTPS2DQ`: {cpuid.AVX, cpuid.AVX512F},
		`VROUNDPS VMASKMOVPS VMOVDQU VEXTRACTF128 VPERM2F128`: {vex: cpuid.AVX},
		`VANDPS VANDNPS VXORPS`:                               {cpuid.AVX, cpuid.AVX512DQ},
		`VBROADCASTSS VPBROADCASTD VPADDD VPSUBD VPSHUFD VPSLLD VPSRLD VPMOVZXBD
		 VPUNPCKLDQ VPUNPCKHDQ VPUNPCKLQDQ VPUNPCKHQDQ`: {cpuid.AVX2, cpuid.AVX512F},
		`VPADDB VPADDW VPSHUFB VPSLLW VPSRLW VPMADDWD VPMADDUBSW VPMOVZXBW VPMOVSXBW
		 VPACKUSDW VPACKUSWB VPACKSSDW VPACKSSWB`: {cpuid.AVX2, cpuid.AVX512BW},
		`VPAND VPMASKMOVD VPMOVMSKB VEXTRACTI128`: {vex: cpuid.AVX2},
		`VPXORD VPANDD VPANDQ VMOVDQA64 VRNDSCALEPS VSHUFF32X4 VPMOVDB
		 VEXTRACTF64X4 VEXTRACTI64X4 VEXTRACTF32X4 VEXTRACTI32X4`: {evex: cpuid.AVX512F},
		`VMOVDQU8 VPTESTMB`: {evex: cpuid.AVX512BW},
		`VPDPBUSD`:          {evex: cpuid.AVX512VNNI},
		`VPOPCNTB`:          {evex: cpuid.AVX512BITALG},
	} {
		for _, name := range strings.Fields(list) {
			instructions[name] = e
		}
	}
}

var (
	instructionLine = regexp.MustCompile(`^\t([A-Z][A-Z0-9]*)((?:\.[A-Z.]+)?)(?:\s+(.*))?$`)
	wideRegister    = regexp.MustCompile(`\bZ[0-9]+\b`)
	maskRegister    = regexp.MustCompile(`\bK[0-7]\b`)
	highRegister    = regexp.MustCompile(`\b[XY](1[6-9]|2[0-9]|3[01])\b`)
	narrowRegister  = regexp.MustCompile(`\b[XY][0-9]+\b`)
)

// required returns the features that one line of assembly needs.
func required(t *testing.T, line string) []cpuid.FeatureID {
	m := instructionLine.FindStringSubmatch(line)
	if m == nil || slices.Contains(baseline, m[1]) {
		return nil
	}
	name, suffix, operands := m[1], m[2], m[3]
	e, ok := instructions[name]
	if !ok {
		t.Fatalf("no features known for the instruction %q", line)
	}
	wide := wideRegister.MatchString(operands)
	evex := e.vex == 0 || suffix != "" || wide || maskRegister.MatchString(operands) || highRegister.MatchString(operands)
	if !evex {
		return []cpuid.FeatureID{e.vex}
	}
	if e.evex == 0 {
		t.Fatalf("no EVEX form known for the instruction %q", line)
	}
	need := []cpuid.FeatureID{e.evex}
	if vector := strings.HasPrefix(name, "V"); vector && !wide && narrowRegister.MatchString(operands) {
		need = append(need, cpuid.AVX512VL)
	}
	return need
}

// TestGate checks that a path is taken only on processors with every feature that
// its assembly needs, and on all of those: the gate lists exactly what the
// instructions in the files of the path require.
func TestGate(t *testing.T) {
	var below []cpuid.FeatureID // needs of the paths before
	for _, gate := range []struct {
		path path
		need []cpuid.FeatureID
	}{{avx2, needAVX2}, {avx512, needAVX512}} {
		files, err := filepath.Glob("*_" + gate.path.String() + "_amd64.s")
		if err != nil || len(files) == 0 {
			t.Fatalf("no assembly for %v (%v)", gate.path, err)
		}
		used := map[cpuid.FeatureID]string{}
		for _, name := range files {
			for _, line := range lines(t, name) {
				for _, f := range required(t, line) {
					used[f] = name + ": " + strings.TrimSpace(line)
				}
			}
		}
		for f, where := range used {
			if !slices.Contains(gate.need, f) {
				t.Errorf("the gate of %v does not test %v, which is needed by %s", gate.path, f, where)
			}
		}
		for _, f := range gate.need {
			if used[f] == "" && !slices.Contains(below, f) {
				t.Errorf("the gate of %v tests %v, which nothing needs", gate.path, f)
			}
		}
		below = append(below, gate.need...)
	}
}

// TestNoFusedMultiplyAdd keeps the promise of the same bits on every path.
func TestNoFusedMultiplyAdd(t *testing.T) {
	files, err := filepath.Glob("*_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		for _, line := range lines(t, name) {
			if strings.Contains(line, "VFM") || strings.Contains(line, "VFNM") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

func lines(t *testing.T, name string) []string {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		all = append(all, s.Text())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestGateSees shows that the test above can fail: an instruction of AVX-512 VL in an
// AVX2 file, and one of a set that no gate tests, are told apart from their like.
func TestGateSees(t *testing.T) {
	for line, want := range map[string][]cpuid.FeatureID{
		"\tVADDPS Y1, Y0, Y0":              {cpuid.AVX},
		"\tVADDPS Y1, Y16, Y0":             {cpuid.AVX512F, cpuid.AVX512VL},
		"\tVADDPS Z1, Z0, Z0":              {cpuid.AVX512F},
		"\tVXORPS Z1, Z0, Z0":              {cpuid.AVX512DQ},
		"\tVMOVDQU8.Z (AX), K1, X3":        {cpuid.AVX512BW, cpuid.AVX512VL},
		"\tVEXTRACTI32X4 $0x01, Y0, X1":    {cpuid.AVX512F, cpuid.AVX512VL},
		"\tVPOPCNTB Z1, Z1":                {cpuid.AVX512BITALG},
		"\tKMOVQ K1, (AX)":                 {cpuid.AVX512BW},
		"\tADDQ $0x80, AX":                 nil,
		"TEXT ·dotF32AVX2(SB), NOSPLIT, $": nil,
	} {
		if got := required(t, line); !slices.Equal(got, want) {
			t.Errorf("%q needs %v, want %v", line, got, want)
		}
	}
}
