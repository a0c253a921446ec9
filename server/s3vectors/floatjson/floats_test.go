package floatjson

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// one reads a text that is one number.
func one(t interface{ Fatalf(string, ...any) }, text string) float32 {
	s, err := NewScanner([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	x, err := s.Float32()
	if err == nil {
		err = s.End()
	}
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return x
}

func same(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

func TestFloat32(t *testing.T) {
	for text, want := range map[string]float32{
		"0": 0, "-0": float32(math.Copysign(0, -1)), "-0.0e5": float32(math.Copysign(0, -1)), "1": 1, "1.0": 1,
		"-2.5e-09": -2.5e-09, "3.4e+38": 3.4e38, "0.4": 0.4, "0.4000000059604645": 0.4, "1E2": 100,
		"3.4028235e38": math.MaxFloat32, "3.40282357e38": float32(math.Inf(1)), "1e39": float32(math.Inf(1)), "-1e999999999999": float32(math.Inf(-1)),
		"1.5e-45": math.SmallestNonzeroFloat32, "1e-46": 0, "-1e-46": float32(math.Copysign(0, -1)), "1e-999999999999": 0,
		"1.17549435e-38": 0x1p-126, "16777217": 16777216, "16777219": 16777220,
		// Just above the middle between two float32: by way of a float64 it is a tie.
		"1.00000005960464477540": 1.0000001, "1.000000059604644775390625": 1, "1.0000000596046447753906251": 1.0000001,
		"9007199791611905": 9007200328482816, "9007199791611904": 9007199254740992,
		"0.00000000000000000000000000000000000000000000000000000000000000000001e68": 1,
		"100000000000000000000000000000000000000000000000000000000000e-59":          1,
		`"NaN"`: float32(math.NaN()), `"Infinity"`: float32(math.Inf(1)), `"-Infinity"`: float32(math.Inf(-1)),
	} {
		if got := one(t, text); !same(got, want) && !(got != got && want != want) {
			t.Errorf("%s: got %v (%08x), want %v", text, got, math.Float32bits(got), want)
		}
	}
	for _, text := range []string{"", "-", "+1", "01", "-01", ".5", "1.", "1.e3", "1e", "1e+", "NaN", "Infinity", "-Infinity", "0x1p3", "1_0", `"nan"`, `"1"`, "null", "true"} {
		s, err := NewScanner([]byte(text))
		if err == nil {
			_, err = s.Float32()
		}
		if err == nil {
			err = s.End()
		}
		if err == nil {
			t.Errorf("%q was read as a number", text)
		}
	}
}

// TestRoundTrip: what either printer writes, every reader reads as the same bits.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
		if x != x || math.IsInf(float64(x), 0) {
			x = 0
		}
		for _, wide := range []bool{false, true} {
			text := string(AppendFloat32s(nil, []float32{x}, wide))
			var theirs []float64
			if err := json.Unmarshal([]byte(text), &theirs); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			number := strings.Trim(text, "[]")
			if got := one(t, number); !same(got, x) || !same(float32(theirs[0]), x) {
				t.Fatalf("%s (wide %v): read %v and %v, written %v", text, wide, got, theirs[0], x)
			}
			if wide && theirs[0] != float64(x) {
				t.Fatalf("%s is not the float32 as a float64, %v", text, float64(x))
			}
			if !strings.ContainsAny(number, ".e") {
				t.Fatalf("%s looks like an integer", number)
			}
		}
	})
}

func TestAppendFloat(t *testing.T) {
	for x, want := range map[float32][2]string{
		0:                           {"0.0", "0.0"},
		1:                           {"1.0", "1.0"},
		0.4:                         {"0.4", "0.4000000059604645"},
		-16777216:                   {"-16777216.0", "-16777216.0"},
		1e-7:                        {"1e-07", "1.0000000116860974e-07"},
		math.MaxFloat32:             {"3.4028235e+38", "3.4028234663852886e+38"},
		math.SmallestNonzeroFloat32: {"1e-45", "1.401298464324817e-45"},
		float32(math.Inf(1)):        {"null", "null"},
	} {
		if got := [2]string{string(AppendFloat32(nil, x)), string(AppendWide(nil, x))}; got != want {
			t.Errorf("%v: got %q, want %q", x, got, want)
		}
	}
	if got := string(AppendWide(nil, float32(math.Copysign(0, -1)))); got != "-0.0" {
		t.Errorf("-0 is written as %s", got)
	}
}

// TestNearest: decimals of all lengths become the float32 that strconv finds.
func TestNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,24})?(e-?[0-9]{1,2})?`).Draw(t, "text")
		agree(t, text)
	})
	rapid.Check(t, func(t *rapid.T) {
		// Around the middle between two neighbours.
		x := rapid.Float32Range(-1e10, 1e10).Draw(t, "x")
		middle := (float64(x) + float64(math.Nextafter32(x, math.MaxFloat32))) / 2
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			middle = math.Nextafter(middle, math.Inf(1))
		}
		agree(t, strconv.FormatFloat(middle, 'g', rapid.IntRange(15, 24).Draw(t, "digits"), 64))
	})
}

func agree(t *rapid.T, text string) {
	theirs, _ := strconv.ParseFloat(text, 32)
	if got := one(t, text); !same(got, float32(theirs)) {
		t.Fatalf("%s: got %v, want %v", text, got, theirs)
	}
}

func TestFloat32s(t *testing.T) {
	s, _ := NewScanner([]byte(` [ 1 , 2.5,-3e0 ,"NaN", 5 ] `))
	out, n, err := s.Float32s(nil, 3)
	if err != nil || n != 5 || len(out) != 3 || out[2] != -3 {
		t.Fatalf("%v, %d, %v", out, n, err)
	}
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"[1,,2]", "[1,]", "[,1]", "[1", "[", "[1 2]", "[null]", "[[1]]", "{}", "1"} {
		s, _ := NewScanner([]byte(bad))
		if _, _, err := s.Float32s(nil, 10); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func FuzzFloat32(f *testing.F) {
	for _, seed := range []string{"0", "-1.5e10", "1.00000005960464477540", "9007199791611905", "1e-46", `"NaN"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := NewScanner([]byte(text))
		if err != nil || s.Peek() != Number {
			return
		}
		x, err := s.Float32()
		ours := err == nil && s.End() == nil
		if trimmed := strings.Trim(text, " \t\r\n"); ours != json.Valid([]byte(text)) {
			t.Fatalf("%q: read %v, valid %v", text, ours, !ours)
		} else if theirs, _ := strconv.ParseFloat(trimmed, 32); ours && !same(x, float32(theirs)) {
			t.Fatalf("%q: got %v, want %v", text, x, theirs)
		}
	})
}

func BenchmarkFloat32s(b *testing.B) {
	xs := make([]float32, 384)
	for i := range xs {
		xs[i] = float32(math.Sin(float64(i)))
	}
	for name, wide := range map[string]bool{"short": false, "wide": true} {
		text := AppendFloat32s(nil, xs, wide)
		b.Run("read/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var out []float32
			for b.Loop() {
				s := Scanner{data: text}
				var err error
				if out, _, err = s.Float32s(out[:0], len(xs)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("write/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				text = AppendFloat32s(text[:0], xs, wide)
			}
		})
	}
}
