package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The types in this file are kinds of flag values (pflag.Value). Set refuses what
// is out of range, so that it is bad usage and names the flag.

// byteUnits are the units of sizes, longest name first.
var byteUnits = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// parseSize reads a number of bytes: digits, a decimal fraction if need be, and a
// unit. Without a unit it is plain bytes.
func parseSize(s string) (int64, error) {
	number, unit := strings.TrimSpace(s), int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n >= 0 && n*float64(unit) < math.MaxInt64) || strings.ContainsAny(number, "xXpPeE_+-") {
		return 0, fmt.Errorf("want a size like 512MiB, 2GiB or plain bytes")
	}
	return int64(n * float64(unit)), nil
}

// formatSize writes bytes in the largest binary unit that leaves a whole number.
func formatSize(n int64) string {
	for i := 3; i >= 0; i-- {
		if u := byteUnits[i]; n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// sizeFlag is a number of bytes above 0; 0 when it was not given.
type sizeFlag int64

func (f *sizeFlag) Type() string { return "size" }

func (f *sizeFlag) String() string {
	if *f == 0 {
		return ""
	}
	return formatSize(int64(*f))
}

func (f *sizeFlag) Set(s string) error {
	n, err := parseSize(s)
	if err == nil && n == 0 {
		err = fmt.Errorf("want more than 0 bytes")
	}
	*f = sizeFlag(n)
	return err
}

// cacheFlag is "auto", which leaves the choice to the store, or a number of bytes.
type cacheFlag struct {
	set   bool
	bytes int64
}

func (f *cacheFlag) Type() string { return "size" }

// option is the flag as sprat.Options has it: 0 is auto, negative none.
func (f *cacheFlag) option() int64 {
	if f.set && f.bytes == 0 {
		return -1
	}
	return f.bytes
}

func (f *cacheFlag) String() string {
	if !f.set {
		return "auto"
	}
	return formatSize(f.bytes)
}

func (f *cacheFlag) Set(s string) (err error) {
	if s == "auto" {
		*f = cacheFlag{}
		return nil
	}
	f.set = true
	if f.bytes, err = parseSize(s); err != nil {
		return fmt.Errorf("want auto, 0 or a size like 64MiB")
	}
	return nil
}

// countFlag is a whole number of at least 1; 0 when it was not given.
type countFlag int

func (f *countFlag) Type() string   { return "n" }
func (f *countFlag) String() string { return strconv.Itoa(int(*f)) }

func (f *countFlag) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 1 {
		return fmt.Errorf("want a whole number from 1 to %d", math.MaxInt32)
	}
	*f = countFlag(n)
	return nil
}

// rowFlag is a whole number of at least 0.
type rowFlag int

func (f *rowFlag) Type() string   { return "n" }
func (f *rowFlag) String() string { return strconv.Itoa(int(*f)) }

func (f *rowFlag) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("want a whole number from 0 to %d", math.MaxInt32)
	}
	*f = rowFlag(n)
	return nil
}

// shareFlag is a number above 0 and below 1; 0 when it was not given.
type shareFlag float64

func (f *shareFlag) Type() string   { return "share" }
func (f *shareFlag) String() string { return strconv.FormatFloat(float64(*f), 'g', -1, 64) }

func (f *shareFlag) Set(s string) error {
	v, err := parseShare(s)
	*f = shareFlag(v)
	return err
}

func parseShare(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(v > 0 && v < 1) {
		return 0, fmt.Errorf("want a number above 0 and below 1, like 0.95")
	}
	return v, nil
}

// sharesFlag is a list of shares with commas between.
type sharesFlag []float64

func (f *sharesFlag) Type() string { return "shares" }

func (f *sharesFlag) String() string {
	text := make([]string, len(*f))
	for i, v := range *f {
		text[i] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strings.Join(text, ",")
}

func (f *sharesFlag) Set(s string) error {
	*f = nil
	for item := range strings.SplitSeq(s, ",") {
		v, err := parseShare(item)
		if err != nil {
			return err
		}
		*f = append(*f, v)
	}
	slices.Sort(*f)
	*f = slices.Compact(*f)
	return nil
}

// spanFlag is a time above 0; 0 when it was not given.
type spanFlag time.Duration

func (f *spanFlag) Type() string { return "duration" }

func (f *spanFlag) String() string {
	if *f == 0 {
		return ""
	}
	return time.Duration(*f).String()
}

func (f *spanFlag) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return fmt.Errorf("want a time above 0 like 50ms, 10s or 2m")
	}
	*f = spanFlag(d)
	return nil
}

// choiceFlag is one of a few words.
type choiceFlag struct {
	value string
	of    []string
}

// oneOf is a choice with a default, which may be "".
func oneOf(value string, of ...string) choiceFlag { return choiceFlag{value, of} }

func (f *choiceFlag) Type() string   { return strings.Join(f.of, "|") }
func (f *choiceFlag) String() string { return f.value }

func (f *choiceFlag) Set(s string) error {
	if !slices.Contains(f.of, s) {
		return fmt.Errorf("want one of %s", strings.Join(f.of, ", "))
	}
	f.value = s
	return nil
}

// indexFlag names an index as bucket/index.
type indexFlag struct{ bucket, name string }

func (f *indexFlag) Type() string { return "bucket/index" }

func (f *indexFlag) String() string {
	if *f == (indexFlag{}) {
		return ""
	}
	return f.bucket + "/" + f.name
}

func (f *indexFlag) Set(s string) error {
	bucket, name, ok := strings.Cut(s, "/")
	if !ok || bucket == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("want the names of a bucket and an index with a slash between")
	}
	*f = indexFlag{bucket, name}
	return nil
}
