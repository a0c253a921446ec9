package bench

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"

	"github.com/spratdb/sprat"
)

// churnRows are the rows of the experiment in a file, so that they take no memory
// of the process: [0, n) are the final content, [n, 2n) others from the same part
// of the set, both in natural order.
type churnRows struct {
	path string
	file *os.File
	n    int
	dim  int
	half []int // [n] of 0 and 1, at random: the keys that are replaced
}

// churnSeed makes the choice of rows the same in every run.
const churnSeed = 7

// stageChurnRows copies the first rows of a set, a random half of them as the
// final content, into a file.
func stageChurnRows(path string, set ChurnSet, n int) (_ *churnRows, err error) {
	base, err := set.Base()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, base.Close()) }()
	if most := int(max(base.Rows(), 0) / 2); n == 0 || n > most {
		n = most
	}
	if n < 1 {
		return nil, fmt.Errorf("bench: churn: want a set of at least 2 rows whose number is known, got %d", base.Rows())
	}
	rng := rand.New(rand.NewPCG(churnSeed, uint64(n)))
	r := &churnRows{path: path, n: n, dim: base.Dim(), half: make([]int, n)}
	final := make([]bool, 2*n)
	for _, i := range rng.Perm(2 * n)[:n] {
		final[i] = true
	}
	for _, i := range rng.Perm(n)[:n/2] {
		r.half[i] = 1
	}
	if err := r.write(base, final); err != nil {
		return nil, err
	}
	r.file, err = os.Open(path)
	return r, err
}

// write makes the file: two halves, each where the other's rows are left out.
func (r *churnRows) write(base Reader, final []bool) error {
	var others []float32
	w, err := CreateFBin(r.path, r.dim)
	if err != nil {
		return err
	}
	var row Row
	for i := range final {
		err := base.Next(&row)
		if err == nil && final[i] {
			err = w.Write(row.Vector)
		} else if err == nil {
			others = append(others, row.Vector...)
		}
		if err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	for v := range slices.Chunk(others, r.dim) {
		if err := w.Write(v); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	return w.Close()
}

func (r *churnRows) close() error { return r.file.Close() }

// fbinHeader is where the rows of an fbin file begin.
const fbinHeader = 8

// row reads row i into v.
func (r *churnRows) row(i int, v []float32) error {
	buf := make([]byte, 4*r.dim)
	if _, err := r.file.ReadAt(buf, fbinHeader+int64(i)*int64(len(buf))); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	elemF32.floats(v, buf)
	return nil
}

// record reads what key i has as row at.
func (r *churnRows) record(i, at int) (sprat.Record, error) {
	v := make([]float32, r.dim)
	return sprat.Record{Key: strconv.Itoa(i), Vector: v}, r.row(at, v)
}

// records yields keys 0 to n-1, the row of each as at says.
func (r *churnRows) records(n int, at func(r *churnRows, i int) int) iter.Seq2[sprat.Record, error] {
	return func(yield func(sprat.Record, error) bool) {
		for i := range n {
			if rec, err := r.record(i, at(r, i)); !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// final reads the rows of the final content.
func (r *churnRows) final() (Reader, error) {
	all, err := Open(r.path)
	if err != nil {
		return nil, err
	}
	return &firstRows{Reader: all, left: r.n}, nil
}

// firstRows is the beginning of a set.
type firstRows struct {
	Reader
	left int
}

// Next reads a row while there are some left.
func (f *firstRows) Next(row *Row) error {
	if f.left == 0 {
		return io.EOF
	}
	f.left--
	return f.Reader.Next(row)
}
