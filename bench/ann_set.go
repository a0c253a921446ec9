package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ANNSet is a folder with a set of vectors, queries and their exact nearest
// neighbours.
type ANNSet struct {
	Name    string // of the set, from info.json
	Metric  string // Cosine, Euclidean or Dot
	Dim     int
	Base    string // the file of the vectors
	Queries [][]float32
	Truth   *Matrix // distances of the nearest, [len(Queries)][k], as [Truth] gives them
}

// annInfo is what is read of info.json.
type annInfo struct {
	Name   string `json:"name"`
	Metric string `json:"metric"` // cos, l2 or ip, or the engine's names
}

var annMetrics = map[string]string{
	"cos": Cosine, "l2": Euclidean, "ip": Dot,
	Cosine: Cosine, Euclidean: Euclidean, Dot: Dot,
}

// OpenANNSet reads a folder with the files
//
//	info.json      an object with "name" and "metric": cos, l2 or ip
//	base.*         the vectors, in a format that [Open] reads
//	query.*        the queries, at least one
//	gtdist.fbin    the distances of their nearest rows, as [Truth] gives them
//
// The vectors themselves stay in their file. Errors: [ErrFormat], [ErrMetric],
// those of the file system.
func OpenANNSet(dir string) (*ANNSet, error) {
	info, err := readANNInfo(filepath.Join(dir, "info.json"))
	if err != nil {
		return nil, err
	}
	set := &ANNSet{Name: info.Name, Metric: annMetrics[info.Metric]}
	if set.Name == "" {
		set.Name = filepath.Base(dir)
	}
	if set.Base, err = theFile(dir, "base"); err != nil {
		return nil, err
	}
	query, err := theFile(dir, "query")
	if err != nil {
		return nil, err
	}
	if set.Queries, err = ReadVectors(query, Options{Dataset: "test"}); err != nil {
		return nil, err
	}
	if len(set.Queries) == 0 {
		return nil, &FormatError{Path: query, Offset: -1, Want: "at least one query", Got: "none"}
	}
	set.Dim = len(set.Queries[0])
	truth := filepath.Join(dir, "gtdist.fbin")
	if set.Truth, err = ReadFloats(truth); err != nil {
		return nil, err
	}
	if set.Truth.Rows != len(set.Queries) {
		return nil, &FormatError{Path: truth, Offset: 0,
			Want: fmt.Sprintf("%d rows, one for each query", len(set.Queries)), Got: fmt.Sprint(set.Truth.Rows)}
	}
	return set, nil
}

func readANNInfo(path string) (annInfo, error) {
	var info annInfo
	text, err := os.ReadFile(path)
	if err != nil {
		return info, fmt.Errorf("bench: %w", err)
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return info, &FormatError{Path: path, Offset: -1, Want: `an object with "name" and "metric"`, Err: err}
	}
	if annMetrics[info.Metric] == "" {
		return info, fmt.Errorf("bench: %s: %w %q, want cos, l2 or ip", path, ErrMetric, info.Metric)
	}
	return info, nil
}

// theFile is the one file of a folder that has this name, whatever its ending,
// and a format of vectors.
func theFile(dir, name string) (string, error) {
	all, err := filepath.Glob(filepath.Join(dir, name+".*"))
	if err != nil {
		return "", fmt.Errorf("bench: %s: %w", dir, err)
	}
	var found []string
	for _, path := range all {
		if _, ok := extensions[strings.ToLower(filepath.Ext(path))]; ok {
			found = append(found, path)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("bench: %s: no file %s.* of vectors: %w", dir, name, os.ErrNotExist)
	}
	return "", fmt.Errorf("bench: %s: want one file %s.* of vectors, got %s", dir, name, strings.Join(found, ", "))
}
