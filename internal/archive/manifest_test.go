package archive

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "rewrite golden files")

const sampleID = "20260102T150405.678Z-0123abcd"

var sample = Manifest{
	ID: sampleID, Created: time.Date(2026, 1, 2, 15, 4, 5, 678e6, time.UTC),
	Label: "before <upgrade>", Meta: map[string]string{"rows": "3", "a": "b"}, ChunkBytes: 4, Bytes: 10,
	Files: []Entry{
		{Path: "catalog/000001.sst", Size: 0, Mode: 0o644, Chunks: []string{}},
		{Path: "data", Size: 10, Mode: 0o600, Version: "7", Chunks: []string{digest([]byte("1111")), "", digest([]byte("22"))}},
	},
}

func TestGoldenManifest(t *testing.T) {
	data, err := sample.encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "manifest.v1.json")
	if *rewrite {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, want) {
		t.Errorf("the manifest of format %d changed:\n%s", manifestFormat, data)
	}
	if got, err := decode(sampleID, want); err != nil || !reflect.DeepEqual(got, sample) {
		t.Errorf("comes back as %+v, %v", got, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, err := sample.encode()
	if err != nil {
		t.Fatal(err)
	}
	object, _ := unseal(good)
	for name, c := range map[string]struct {
		old, new string
		want     error
	}{
		"newer":             {`"format":1`, `"format":2`, ErrFormat},
		"no format":         {`"format":1,`, ``, ErrFormat},
		"other id":          {`0123abcd`, `0123abce`, ErrDamaged},
		"no piece size":     {`"chunkBytes":4`, `"chunkBytes":0`, ErrDamaged},
		"large pieces":      {`"chunkBytes":4`, `"chunkBytes":67108865`, ErrDamaged},
		"total":             {`"bytes":10`, `"bytes":11`, ErrDamaged},
		"size":              {`"size":10`, `"size":14`, ErrDamaged},
		"negative size":     {`"size":0`, `"size":-1`, ErrDamaged},
		"overflowing sizes": {`"size":0`, `"size":9223372036854775807`, ErrDamaged},
		"size is no number": {`"size":10`, `"size":"10"`, ErrDamaged},
		"mode":              {`"mode":384`, `"mode":2147484032`, ErrDamaged},
		"piece is no sum":   {`["`, `["x`, ErrDamaged},
		"piece in capitals": {digest([]byte("1111")), strings.ToUpper(digest([]byte("1111"))), ErrDamaged},
		"order":             {`"path":"data"`, `"path":"abc"`, ErrDamaged},
		"twice":             {`"path":"data"`, `"path":"catalog/000001.sst"`, ErrDamaged},
		"file is a folder":  {`"path":"data"`, `"path":"catalog/000001.sst/x"`, ErrDamaged},
		"more after it":     {`}]}`, `}]}{}`, ErrDamaged},
		"a list":            {`"files":[{`, `"files":[[{`, ErrDamaged},
	} {
		bad := bytes.Replace(object, []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(bad, object) {
			t.Fatalf("%s: nothing to replace", name)
		}
		if _, err := decode(sampleID, seal(bad)); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}

func FuzzManifest(f *testing.F) {
	good, err := sample.encode()
	if err != nil {
		f.Fatal(err)
	}
	object, _ := unseal(good)
	f.Add(good, false)
	f.Add(object, true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, data []byte, sealed bool) {
		if sealed && len(data) > 0 { // reach what is behind the checksum
			data = seal(data)
		}
		m, err := decode(sampleID, data)
		if err != nil {
			if !unusable(err) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		for _, e := range m.Files {
			if !filepath.IsLocal(filepath.FromSlash(e.Path)) {
				t.Fatalf("path %q is accepted", e.Path)
			}
		}
		again, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(sampleID, again)
		if err != nil || !reflect.DeepEqual(got.Files, m.Files) || got.Label != m.Label {
			t.Fatalf("%+v comes back as %+v, %v", m, got, err)
		}
	})
}

func TestIDs(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 678912e3, time.FixedZone("", 3600))
	first := newID(now, "")
	if !strings.HasPrefix(first, "20260102T140405.678Z-") {
		t.Errorf("id %s", first)
	}
	last := first
	for _, step := range []time.Duration{0, time.Microsecond, -time.Hour, time.Hour} {
		id := newID(now.Add(step), last)
		if _, ok := parseID(id); !ok || id <= last {
			t.Errorf("id %s after %s", id, last)
		}
		last = id
	}
	for _, id := range []string{"", "-", "20260102T140405.678Z", "20260102T140405.678Z-", "20260102T140405.678Z-0123abcg",
		"20260102T140405.678Z-0123abcd0", "20260132T140405.678Z-0123abcd", "20260102T140405,678Z-0123abcd",
		"20260102T140405.678Z-0123abcd/x", "../20260102T140405.678Z-0123abcd"} {
		if _, ok := parseID(id); ok {
			t.Errorf("%q is taken for an id", id)
		}
	}
}
