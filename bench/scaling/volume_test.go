package scaling

import (
	"slices"
	"strings"
	"testing"
)

func TestParseVolumes(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Volume
	}{
		{"3000/125", []Volume{{3000, 125}}},
		{"3000/125, 16000/1000,as-is", []Volume{{3000, 125}, {16000, 1000}, {}}},
		{"as-is", []Volume{{}}},
	} {
		got, err := ParseVolumes(c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", c.text, got, err)
		}
	}
	for _, text := range []string{"", ",", "3000", "3000/", "/125", "0/125", "3000/0", "-1/5", "+1/5", "3000/125/1", "1e3/5", "as is", "gp3",
		"3000/125,3000/125", "as-is,as-is", "99999999999999999999/1", "100000001/1", "5/1000001"} {
		if got, err := ParseVolumes(text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}

// FuzzParseVolumes: what is read can be written and is read again as the same.
func FuzzParseVolumes(f *testing.F) {
	for _, seed := range []string{"3000/125,16000/1000,80000/2000,as-is", "as-is", "1/1", "x", "3000/125,", "00003000/125"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseVolumes(text)
		if err != nil {
			return
		}
		var parts []string
		for _, v := range got {
			if v != (Volume{}) && (v.IOPS < 1 || v.MiBps < 1) {
				t.Fatalf("%q gives %v", text, v)
			}
			parts = append(parts, v.String())
		}
		again, err := ParseVolumes(strings.Join(parts, ","))
		if err != nil || !slices.Equal(got, again) {
			t.Fatalf("%q is %v, then %v (%v)", text, got, again, err)
		}
	})
}
