package diskfile

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite golden files")

var sample = Header{Kind: Records, IndexID: 7, Stride: 3136, PerBlock: 0, Dim: 768, KeyCap: 16, MetaCap: 32, Align: 512}

func TestRoundTripAndGolden(t *testing.T) {
	b := sample.Encode()
	if got, err := Decode(b); err != nil || got != sample {
		t.Errorf("comes back as %+v, %v", got, err)
	}
	path := filepath.Join("testdata", "header.v1.hex")
	dump := hex.Dump(b[:64])
	if *rewrite {
		if err := os.WriteFile(path, []byte(dump), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if dump != string(want) || !bytes.Equal(b[64:], make([]byte, HeaderBytes-64)) {
		t.Errorf("the header of version %d changed:\n%s", Version, dump)
	}
}

func TestReadRefusesDamage(t *testing.T) {
	newer := sample.Encode()
	newer[8]++
	binary.LittleEndian.PutUint32(newer[4:], crc32.Checksum(newer[8:covered], castagnoli))
	flipped := sample.Encode()
	flipped[17] ^= 4
	for name, c := range map[string]struct {
		bytes []byte
		want  error
	}{
		"empty":   {nil, ErrCorrupt},
		"short":   {sample.Encode()[:100], ErrCorrupt},
		"zeros":   {make([]byte, HeaderBytes), ErrCorrupt},
		"flipped": {flipped, ErrCorrupt},
		"newer":   {newer, ErrVersion},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, c.bytes, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Read(path)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %v with the path", name, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sample.Encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= HeaderBytes { // reach the checks behind the checksum
			binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:covered], castagnoli))
		}
		h, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if got, err := Decode(h.Encode()); err != nil || got != h {
			t.Fatalf("%+v comes back as %+v, %v", h, got, err)
		}
	})
}
