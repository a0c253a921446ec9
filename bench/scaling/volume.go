package scaling

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Volume is a setting of the volume: what its reads are throttled to. The zero
// value is the volume as it is.
type Volume struct {
	IOPS  int64 `json:"iops"`  // operations a second
	MiBps int64 `json:"mibps"` // MiB a second
}

// asIs names the zero Volume.
const asIs = "as-is"

// The settings that are measured by default: EBS gp3 as it comes, what it took
// until 2025, and what it takes at most.
var defaultVolumes = []Volume{{3_000, 125}, {16_000, 1_000}, {80_000, 2_000}}

const (
	maxIOPS  = 100_000_000
	maxMiBps = 1_000_000
)

// String is the setting as [ParseVolumes] reads it, like "3000/125".
func (v Volume) String() string {
	if v == (Volume{}) {
		return asIs
	}
	return fmt.Sprintf("%d/%d", v.IOPS, v.MiBps)
}

// words is the setting with units.
func (v Volume) words() string {
	if v == (Volume{}) {
		return "as it is"
	}
	return fmt.Sprintf("%s IOPS, %s MiB/s", thousands(v.IOPS), thousands(v.MiBps))
}

// ParseVolumes reads settings like "3000/125,16000/1000,as-is": IOPS and MiB/s, or
// the volume as it is. None is an error, and so is one that comes twice.
func ParseVolumes(s string) ([]Volume, error) {
	var out []Volume
	for item := range strings.SplitSeq(s, ",") {
		v, err := parseVolume(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, v) {
			return nil, fmt.Errorf("the setting %s comes twice", v)
		}
		out = append(out, v)
	}
	return out, nil
}

func parseVolume(s string) (v Volume, err error) {
	if s == asIs {
		return v, nil
	}
	iops, mibps, ok := strings.Cut(s, "/")
	if ok {
		v.IOPS, ok = whole(iops, maxIOPS)
	}
	if ok {
		v.MiBps, ok = whole(mibps, maxMiBps)
	}
	if !ok {
		return Volume{}, fmt.Errorf("want IOPS/MiBps like 3000/125, or %s, got %.40q", asIs, s)
	}
	return v, nil
}

// whole reads digits of a number from 1 to most.
func whole(s string, most int64) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 1 && n <= most && s[0] != '+'
}
