// Package centroids
//
// May import: rq, rq/simd
package centroids
