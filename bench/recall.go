package bench

import (
	"fmt"
	"math"
	"slices"
)

// A result counts as right when its distance exceeds the k-th true one by at most
// the larger of RelTolerance times that distance and AbsTolerance.
const (
	// RelTolerance covers the float32 in which true distances are stored.
	RelTolerance = 1e-5
	// AbsTolerance covers true distances near 0, where a relative tolerance
	// vanishes: the product of two unit vectors rounded to float32 is off by up to
	// this much.
	AbsTolerance = 2e-7
)

// RecallRow scores the answer to one query by distance: right is the number of the
// first k distances of got that are within the tolerance of the k-th true distance,
// of is how many of k could be (fewer than k when truth has fewer finite
// distances). Both are in the convention of [TruthDistance]; truth is ascending.
//
// Scoring by distance is fair where a set holds duplicates, which are equally
// right; it cannot see that one row was returned twice, which [RecallIDs] does.
func RecallRow(got []float64, truth []float32, k int) (right, of int) {
	for of < min(k, len(truth)) && !math.IsInf(float64(truth[of]), 1) {
		of++
	}
	if of == 0 {
		return 0, 0
	}
	limit := float64(truth[of-1])
	limit += max(math.Abs(limit)*RelTolerance, AbsTolerance)
	for _, d := range got[:min(k, len(got))] {
		if d <= limit {
			right++
		}
	}
	return min(right, of), of
}

// Recall is the mean of right/of of [RecallRow] over all queries: got[i] holds the
// distances of the results of query i, nearest first. Queries without any true
// neighbour are left out. It is an error when got and truth have different numbers
// of queries, truth has fewer than k columns, or nothing is left.
func Recall(got [][]float64, truth *Matrix, k int) (float64, error) {
	if err := checkRecall(len(got), truth.Rows, truth.Cols, k); err != nil {
		return 0, err
	}
	return meanRecall(len(got), func(i int) (int, int) { return RecallRow(got[i], truth.Row(i), k) })
}

// RecallIDs is the mean share of the first k true ids that are among the first k
// ids of got. An id counts once however often it was returned. The errors are those
// of [Recall].
func RecallIDs(got [][]int32, truth *Neighbors, k int) (float64, error) {
	if err := checkRecall(len(got), truth.Rows, truth.K, k); err != nil {
		return 0, err
	}
	return meanRecall(len(got), func(i int) (right, of int) {
		ids := got[i][:min(k, len(got[i]))]
		for _, id := range truth.Row(i)[:k] {
			if id < 0 {
				break
			}
			of++
			if slices.Contains(ids, id) {
				right++
			}
		}
		return right, of
	})
}

func checkRecall(got, rows, cols, k int) error {
	if got != rows || k < 1 || k > cols {
		return fmt.Errorf("bench: recall: %d answers at k = %d do not fit a truth of %d queries with %d neighbours each", got, k, rows, cols)
	}
	return nil
}

// meanRecall averages over the n queries which have something to find.
func meanRecall(n int, row func(i int) (right, of int)) (float64, error) {
	sum, queries := 0.0, 0
	for i := range n {
		if right, of := row(i); of > 0 {
			sum += float64(right) / float64(of)
			queries++
		}
	}
	if queries == 0 {
		return 0, fmt.Errorf("bench: recall: none of %d queries has a true neighbour", n)
	}
	return sum / float64(queries), nil
}
