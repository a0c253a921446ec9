//go:build ignore

// This program makes the files in data/ from two published sets:
//
//	go run internal/realdata/gen.go -text DIR -fashion DIR [-out internal/realdata/data]
//
// The text folder holds base.f16bin, query.f16bin, keys.txt, query_keys.txt and
// meta.tsv (a header line, then a line a row, the section in the third column);
// the fashion folder holds base.u8bin, query.u8bin and meta.tsv (a header line,
// then the class of each row). The same input gives the same content.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spratdb/sprat/internal/vecbin"
)

func main() {
	log.SetFlags(0)
	text := flag.String("text", "", "folder of the text-lsa384 set")
	fashion := flag.String("fashion", "", "folder of the fashion784 set")
	out := flag.String("out", "internal/realdata/data", "folder to write into")
	flag.Parse()
	if err := os.MkdirAll(*out, 0o755); err != nil {
		log.Fatal(err)
	}
	if err := makeText(*text, filepath.Join(*out, "text")); err != nil {
		log.Fatal(err)
	}
	if err := makeFashion(*fashion, filepath.Join(*out, "fashion")); err != nil {
		log.Fatal(err)
	}
}

func makeText(in, out string) error {
	keys, err := readLines(filepath.Join(in, "keys.txt"))
	if err != nil {
		return err
	}
	queryKeys, err := readLines(filepath.Join(in, "query_keys.txt"))
	if err != nil {
		return err
	}
	sections, err := column(filepath.Join(in, "meta.tsv"), 2)
	if err != nil {
		return err
	}
	rows := choose(len(keys), 3000, "text row")
	queries := choose(len(queryKeys), 100, "text query")
	return firstError(
		matrix(in+"/base.f16bin", out+".base.f16bin.gz", rows, vecbin.HalfFloat),
		matrix(in+"/query.f16bin", out+".query.f16bin.gz", queries, vecbin.HalfFloat),
		writeLines(out+".keys.txt.gz", pick(keys, rows)),
		writeLines(out+".labels.txt.gz", pick(sections, rows)),
		writeLines(out+".querykeys.txt.gz", pick(queryKeys, queries)),
	)
}

func makeFashion(in, out string) error {
	classes, err := column(filepath.Join(in, "meta.tsv"), 0)
	if err != nil {
		return err
	}
	rows := choose(len(classes), 2000, "fashion row")
	queries := choose(1000, 50, "fashion query")
	return firstError(
		matrix(in+"/base.u8bin", out+".base.u8bin.gz", rows, vecbin.Byte),
		matrix(in+"/query.u8bin", out+".query.u8bin.gz", queries, vecbin.Byte),
		writeLines(out+".keys.txt.gz", number("image-%d", rows)),
		writeLines(out+".labels.txt.gz", pick(classes, rows)),
		writeLines(out+".querykeys.txt.gz", number("test-image-%d", queries)),
	)
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// choose returns n of the numbers 0..total-1 in order: those whose hashes are
// the lowest.
func choose(total, n int, salt string) []int {
	hash := func(i int) [sha256.Size]byte { return sha256.Sum256(fmt.Appendf(nil, "sprat %s %d", salt, i)) }
	all := make([]int, total)
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(a, b int) int {
		ha, hb := hash(a), hash(b)
		return bytes.Compare(ha[:], hb[:])
	})
	chosen := all[:n]
	slices.Sort(chosen)
	return chosen
}

// matrix writes the chosen rows of a file of vectors.
func matrix(in, out string, rows []int, element vecbin.Element) error {
	raw, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	dim := int(binary.LittleEndian.Uint32(raw[4:]))
	elements := raw[8:]
	m := vecbin.Matrix{Rows: len(rows), Dim: dim}
	for _, r := range rows {
		for i := r * dim; i < (r+1)*dim; i++ {
			if element == vecbin.Byte {
				m.Data = append(m.Data, float32(elements[i]))
			} else {
				m.Data = append(m.Data, vecbin.FromHalf(binary.LittleEndian.Uint16(elements[2*i:])))
			}
		}
	}
	var packed bytes.Buffer
	if err := vecbin.Encode(&packed, m, element); err != nil {
		return err
	}
	return os.WriteFile(out, packed.Bytes(), 0o644)
}

func readLines(path string) ([]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n"), nil
}

// column returns a column, from 0, of a tab-separated file without its header.
func column(path string, n int) ([]string, error) {
	lines, err := readLines(path)
	if err != nil {
		return nil, err
	}
	var values []string
	for _, line := range lines[1:] {
		values = append(values, strings.Split(line, "\t")[n])
	}
	return values, nil
}

func pick(all []string, rows []int) []string {
	var some []string
	for _, r := range rows {
		some = append(some, all[r])
	}
	return some
}

func number(format string, rows []int) []string {
	var names []string
	for _, r := range rows {
		names = append(names, fmt.Sprintf(format, r))
	}
	return names
}

func writeLines(path string, lines []string) error {
	var packed bytes.Buffer
	zw, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := zw.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		return err
	}
	if err := zw.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, packed.Bytes(), 0o644)
}
