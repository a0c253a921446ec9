// Package checks holds the rules of this repository that a compiler does not
// know, as a test: `go test ./internal/checks` reads every file of the tree and
// names each offender with its place and with what to do about it.
//
// The package has no code of its own, only tests. A rule is a function from the
// parsed tree to a list of offences, and each rule has a test over a tiny bad
// tree, so that a rule which has stopped seeing is noticed.
//
//   - imports_test.go: every package has a doc.go whose comment says what it may
//     import, and keeps to it; imports go down the layers only; the engine
//     depends on no RPC, metrics, command-line or cloud package.
//   - sizes_test.go: files of at most 500 lines, functions of at most 70.
//   - comments_test.go: exported names are documented; the packages that own
//     formats and formulas carry a quarter of a comment line per line of code.
//   - banned_test.go: calls and names that do not belong in a library.
//   - proofs_test.go: who documents a byte layout has a fuzz target; a hot path
//     has a benchmark.
//   - documents_test.go: Markdown files have one title and refer to documents that
//     exist; no file names a path or a download host of one machine.
//
// Not read: testdata, folders starting with "_" or ".", nested modules, and
// generated files where a rule is about style.
//
// May import: nothing of sprat
package checks
