// Package realdata holds small sets of real vectors for tests of the engine:
// texts (384 dimensions, cosine), pictures (784, Euclidean) and words (100,
// cosine). Synthetic vectors flatter every index, so claims about recall are
// tested on these. Ground truth is not stored; a test computes it exactly.
//
// Only tests may import this package: importing it adds three megabytes to a
// program. The words are those of internal/demodata.
//
// # Selection
//
// Rows and queries are chosen by hash from the published subsets named below and
// keep their order there, which is not random: the texts run by part of speech
// and subject, then by package name; the words by frequency. No query is a row.
//
//   - Text: 3,000 rows and 100 queries of 25,000 and 1,000. TF-IDF of words and
//     word pairs reduced by a truncated SVD, unit length, in half precision.
//   - Fashion: 2,000 rows and 50 queries of 20,000 training and 1,000 test
//     images. 28 x 28 grey levels, one byte each.
//   - Glove: the first 5,000 words of internal/demodata and its 200 queries.
//
// The files in data/ have the format of internal/vecbin; keys and labels stand
// one a line. gen.go makes them:
//
//	go run internal/realdata/gen.go -text DIR -fashion DIR
//
// # Sources and licences
//
// The full notices are in the file LICENSES.
//
//   - Text: glosses of WordNet 3.0 (WordNet 3.0 licence) and package descriptions
//     of Debian bookworm, section main (each under its package's free licence).
//     The vectors are derived numbers; no text is stored but keys and sections.
//   - Fashion: Fashion-MNIST by Zalando SE (MIT licence), as in Debian's package
//     dataset-fashion-mnist 0.0~git20200523.55506a9-1.
//   - Glove: see internal/demodata (PDDL 1.0).
//
// May import: internal/demodata, internal/vecbin
package realdata
