package main

import (
	"bytes"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spratdb/sprat/internal/demodata"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "4096": 4096, "12B": 12, "512MiB": 512 << 20, "1GiB": 1 << 30, "1.5KiB": 1536, "2 TiB": 2 << 40,
		"3KB": 3000, "1MB": 1e6, "1GB": 1e9, " 7 ": 7,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%q: %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "+1", "1e3", "0x10", "1_000", "NaN", "Inf", "1 MiB MiB", "1mib", "9e18", "9000000TiB", "512M"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}

func TestSizeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<53).Draw(t, "bytes")
		if got, err := parseSize(formatSize(n)); err != nil || got != n {
			t.Fatalf("%d is written %q and read %d (%v)", n, formatSize(n), got, err)
		}
	})
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"512MiB", "1.5 GiB", "0", "-1", "1e9", "9223372036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := parseSize(s); err == nil && (n < 0 || n == math.MaxInt64) {
			t.Errorf("%q is %d", s, n)
		}
	})
}

// The store takes 0 for its own choice and a negative size for none.
func TestCacheFlag(t *testing.T) {
	for text, want := range map[string]int64{"auto": 0, "0": -1, "64MiB": 64 << 20} {
		var f cacheFlag
		if err := f.Set(text); err != nil || f.option() != want {
			t.Errorf("--cache %s: option %d (%v), want %d", text, f.option(), err, want)
		}
	}
}

func TestParseConfig(t *testing.T) {
	got, err := parseConfig([]byte("# comment\n\n clients = 4 \ndata=\"a = b\"\r\nempty =\n"))
	want := []setting{{3, "clients", "4"}, {4, "data", "a = b"}, {5, "empty", ""}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	for _, text := range []string{"clients", "= 4", "two words = 4", "ok = 1\n\"quoted\" = 2"} {
		if got, err := parseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v (%v), want an error that names the line", text, got, err)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("# comment\nclients = 4\ndata = \"x\"\n"))
	f.Add([]byte("a=\"\nb"))
	f.Fuzz(func(t *testing.T, content []byte) {
		settings, err := parseConfig(content)
		if err != nil {
			return
		}
		for _, s := range settings {
			if s.flag == "" || s.line < 1 || s.line > bytes.Count(content, []byte("\n"))+1 {
				t.Errorf("%q gives %+v", content, s)
			}
		}
	})
}

// Flags of the command line win over the file, and a file serves all commands.
func TestConfig(t *testing.T) {
	dir := t.TempDir()
	store, other := filepath.Join(dir, "store"), filepath.Join(dir, "other")
	rows := put(t, "rows.fbin", fbin([]float32{1, 2}, []float32{3, 4}))
	config := put(t, "sprat.conf", []byte("data = "+store+"\nindex = b/i\nmetric = dot\nk = 2\nclients = 3\njson = true\n"))
	if text := must(t, "build", "--config", config, "--input", rows); !strings.Contains(text, `"metric":"dot"`) {
		t.Errorf("build says %s", text)
	}
	if text := must(t, "query", "--config", config, "--queries", rows, "-k", "1"); !strings.Contains(text, `"k":1,"clients":3`) {
		t.Errorf("query says %s", text)
	}
	if o := execute("stats", "--config", config, "--data", other); o.code != exitFailed || !strings.Contains(o.stderr, other) {
		t.Errorf("stats of another store: exit %d: %s", o.code, o.stderr)
	}
	for text, want := range map[string]string{
		"frobnicate = 1\n":         "line 1: no command has a flag --frobnicate",
		"\nk = 0\n":                "line 2: ",
		"index = b/i\nclients 3\n": "line 2: want \"flag = value\"",
	} {
		o := execute("query", "--config", put(t, "bad.conf", []byte(text)), "--data", store, "--queries", rows)
		if o.code != exitUsage || !strings.Contains(o.stderr, "bad.conf") || !strings.Contains(o.stderr, want) {
			t.Errorf("%q: exit %d, want 2 with %q: %s", text, o.code, want, o.stderr)
		}
	}
}

func TestProgressLines(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	p := &progress{out: &out, now: func() time.Time { return now }, said: now}
	for _, second := range []int64{1, 4, 5, 6, 9, 10, 14, 16} {
		now = time.Unix(second, 0)
		p.update("read", 1000*second, 0)
		p.update("train", second, 20)
	}
	p.done()
	if got, want := out.String(), "read: 5,000\nread: 10,000\nread: 16,000\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	now = time.Unix(60, 0)
	p.update("train", 5, 20)
	now = time.Unix(70, 0)
	p.update("commit", 0, 0)
	if !strings.HasSuffix(out.String(), "train: 5 of 20 (25 %)\ncommit\n") {
		t.Errorf("got %q", out.String())
	}
}

func TestProgressBar(t *testing.T) {
	var out strings.Builder
	p := &progress{out: &out, terminal: true, now: time.Now}
	p.update("read", 1, 0)
	p.update("train", 1, 4)
	p.update("train", 4, 4)
	p.done()
	for _, want := range []string{"read", "train", "\r"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out.String())
		}
	}
}

func TestPage(t *testing.T) {
	var out strings.Builder
	p := newPage(&out)
	p.line("first %d", 1)
	p.row("a", "bb", "c")
	p.row("aaa", "b", "c")
	p.line("next")
	p.row("aaaaaaaa", "b")
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	if want := "first 1\n  a    bb  c\n  aaa  b   c\nnext\n  aaaaaaaa  b\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	full := newPage(failing{})
	full.line("x")
	full.row("y")
	if err := full.flush(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a closed pipe: %v", err)
	}
}

// failing is a writer to nowhere.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536 << 10: "1.5 MiB", 5 << 40: "5.0 TiB", 2000 << 40: "2000.0 TiB"} {
		if got := size(n); got != want {
			t.Errorf("%d bytes: got %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -123456: "-123,456", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := oneLine(errors.Join(errors.New("a"), errors.New("b\r\nc"))); got != "a; b; c" {
		t.Errorf("got %q", got)
	}
}

func TestDemoWordsAreHeldOut(t *testing.T) {
	held, _ := demodata.Queries()
	for _, word := range demoWords {
		if !slices.Contains(held, word) {
			t.Errorf("%q is not among the words held out", word)
		}
	}
}
