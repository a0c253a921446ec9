package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spratdb/sprat"
)

// Scorer judges the answer to the query in a row of the load: right is how many of
// its matches are true neighbours, of how many could be. A Scorer is safe for
// use by several goroutines at once.
type Scorer func(row int, matches []sprat.Match) (right, of int, err error)

// ErrKeysUnknown is returned by a scorer that meets a key which is no row number.
var ErrKeysUnknown = errors.New("recall cannot be computed by id")

// ScoreByDistance judges by [RecallRow] against the distances of [Truth] or of a
// file of theirs: a match is right when it is as near as the k-th true one.
// queries is the number of rows of the load. Errors: a truth of another number of
// queries, or of fewer than k neighbours.
func ScoreByDistance(truth *Matrix, metric string, queries, k int) (Scorer, error) {
	if err := errors.Join(checkRecall(queries, truth.Rows, truth.Cols, k), checkMetric(metric)); err != nil {
		return nil, err
	}
	return func(row int, matches []sprat.Match) (int, int, error) {
		got := make([]float64, len(matches))
		for i := range matches {
			got[i] = TruthDistance(metric, matches[i].Distance)
		}
		right, of := RecallRow(got, truth.Row(row), k)
		return right, of, nil
	}, nil
}

// ScoreByID judges by [RecallIDs]: a match is right when its row is one of the k
// true ones. Where rows are equal it is unfair, see [ScoreByDistance]. rows maps
// keys to row numbers; nil says that the keys are the row numbers, and the
// scorer then fails with ErrKeysUnknown at any other key. Errors as for
// ScoreByDistance.
func ScoreByID(truth *Neighbors, rows KeyRows, queries, k int) (Scorer, error) {
	if err := checkRecall(queries, truth.Rows, truth.K, k); err != nil {
		return nil, err
	}
	return func(row int, matches []sprat.Match) (right, of int, err error) {
		got := make(map[int32]bool, len(matches))
		for i := range matches {
			id, err := rows.row(matches[i].Key)
			if err != nil {
				return 0, 0, err
			}
			got[id] = true
		}
		for _, id := range truth.Row(row)[:k] {
			if id < 0 {
				break
			}
			if of++; got[id] {
				right++
			}
		}
		return right, of, nil
	}, nil
}

// KeyRows maps keys to their rows in a data set. It holds only the rows that
// [ReadKeyRows] was asked for.
type KeyRows map[string]int32

// row returns -1 for a key that is not held.
func (k KeyRows) row(key string) (int32, error) {
	if k != nil {
		if row, ok := k[key]; ok {
			return row, nil
		}
		return -1, nil
	}
	n, err := strconv.ParseInt(key, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != key {
		return 0, fmt.Errorf("%w: key %.80q is no row number", ErrKeysUnknown, key)
	}
	return int32(n), nil
}

// ReadKeyRows reads a file of keys, one a line, and keeps those of the rows that
// truth names among the first k of any query, so that memory does not grow with
// the set. A row that the file lacks is a [*FormatError].
func ReadKeyRows(path string, truth *Neighbors, k int) (_ KeyRows, err error) {
	wanted := map[int32]bool{}
	for i := range truth.Rows {
		for _, id := range truth.Row(i)[:min(k, truth.K)] {
			if id >= 0 {
				wanted[id] = true
			}
		}
	}
	lines, err := openLines(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lines.Close()) }()
	rows := make(KeyRows, len(wanted))
	for found := 0; found < len(wanted); {
		key, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil, lines.fault("a key for every row that the truth names", fmt.Sprintf("%d keys", lines.n))
		}
		if err != nil {
			return nil, err
		}
		if id := int32(lines.n - 1); wanted[id] {
			rows[string(key)] = id
			found++
		}
	}
	return rows, nil
}

// ReadScorer makes the scorer for files of true neighbours (ids) and of their
// distances, either of which may be "". Distances judge when there are any; an
// HDF5 file of ann-benchmarks brings both. keys is the file of the base's keys,
// "" when they are row numbers. by is "distance" or "id"; both scorer and by are
// zero when no file is given.
func ReadScorer(ids, distances, keys, metric string, queries, k int) (s Scorer, by string, err error) {
	if distances == "" && ids != "" && isHDF5(ids) {
		distances = ids
	}
	switch {
	case distances != "":
		truth, err := ReadFloats(distances)
		if err != nil {
			return nil, "", err
		}
		s, err := ScoreByDistance(truth, metric, queries, k)
		return s, "distance", inFile(distances, err)
	case ids == "":
		return nil, "", nil
	}
	truth, err := ReadInts(ids)
	if err != nil {
		return nil, "", err
	}
	var rows KeyRows
	if keys != "" {
		if rows, err = ReadKeyRows(keys, truth, k); err != nil {
			return nil, "", err
		}
	}
	s, err = ScoreByID(truth, rows, queries, k)
	return s, "id", inFile(ids, err)
}

// inFile puts the name of a file before an error about its content.
func inFile(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}

// isHDF5 tells whether a file begins as HDF5 files do; false when it cannot be
// read.
func isHDF5(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := bufio.NewReader(f).Peek(len(magicHDF5))
	return bytes.Equal(head, []byte(magicHDF5))
}
