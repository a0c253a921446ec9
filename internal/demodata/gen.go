//go:build ignore

// This program makes the files in data/ from the full GloVe set:
//
//	go run internal/demodata/gen.go -keys keys.txt -base base.fbin [-out internal/demodata/data]
//
// keys.txt holds one word a line, the most frequent first; base.fbin holds the
// vector of line i as row i (uint32 rows, uint32 dim, float32 elements, little
// endian). The same input gives the same content.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spratdb/sprat/internal/vecbin"
)

const (
	baseWords  = 20_000 // the base: the first plain words
	queryPool  = 20_000 // the plain words after them, from which queries are chosen
	queryWords = 200
)

var plain = regexp.MustCompile(`^[a-z]{2,}$`)

func main() {
	log.SetFlags(0)
	keys := flag.String("keys", "", "file of words, one a line, the most frequent first")
	base := flag.String("base", "", "their vectors (.fbin)")
	out := flag.String("out", "internal/demodata/data", "folder to write into")
	flag.Parse()
	if err := run(*keys, *base, *out); err != nil {
		log.Fatal(err)
	}
}

func run(keys, base, out string) error {
	words, rows, err := plainWords(keys, baseWords+queryPool)
	if err != nil {
		return err
	}
	file, err := os.Open(base)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	baseIndex := make([]int, baseWords)
	for i := range baseIndex {
		baseIndex[i] = i
	}
	if err := write(out, "words", words, rows, baseIndex, file); err != nil {
		return err
	}
	return write(out, "queries", words, rows, chooseQueries(words), file)
}

// plainWords returns the first n plain words of the file and their line numbers
// from 0, which are the rows of their vectors.
func plainWords(path string, n int) (words []string, rows []int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	for row := 0; scanner.Scan() && len(words) < n; row++ {
		if plain.MatchString(scanner.Text()) {
			words = append(words, scanner.Text())
			rows = append(rows, row)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, nil, err
	}
	if len(words) < n {
		return nil, nil, fmt.Errorf("%s holds %d plain words, %d are needed", path, len(words), n)
	}
	return words, rows, nil
}

// chooseQueries returns indexes into words, in order: the words of the pool
// whose hashes are the lowest. A word's choice depends on nothing but the pool.
func chooseQueries(words []string) []int {
	hash := func(i int) [sha256.Size]byte { return sha256.Sum256([]byte("sprat demo " + words[i])) }
	var pool []int
	for i := baseWords; i < baseWords+queryPool; i++ {
		pool = append(pool, i)
	}
	slices.SortFunc(pool, func(a, b int) int {
		ha, hb := hash(a), hash(b)
		return bytes.Compare(ha[:], hb[:])
	})
	chosen := pool[:queryWords]
	slices.Sort(chosen)
	return chosen
}

// write writes NAME.txt and NAME.f16bin.gz for the words at the indexes.
func write(out, name string, words []string, rows, indexes []int, vectors io.ReaderAt) error {
	var header [8]byte
	if _, err := vectors.ReadAt(header[:], 0); err != nil {
		return fmt.Errorf("header of the vectors: %w", err)
	}
	dim := int(binary.LittleEndian.Uint32(header[4:]))
	m := vecbin.Matrix{Rows: len(indexes), Dim: dim}
	var text strings.Builder
	raw := make([]byte, 4*dim)
	for _, i := range indexes {
		fmt.Fprintln(&text, words[i])
		if _, err := vectors.ReadAt(raw, 8+int64(rows[i])*int64(len(raw))); err != nil {
			return fmt.Errorf("vector of %q: %w", words[i], err)
		}
		for j := range dim {
			m.Data = append(m.Data, math.Float32frombits(binary.LittleEndian.Uint32(raw[4*j:])))
		}
	}
	var packed bytes.Buffer
	if err := vecbin.Encode(&packed, m, vecbin.HalfFloat); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, name+".txt"), []byte(text.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, name+".f16bin.gz"), packed.Bytes(), 0o644)
}
