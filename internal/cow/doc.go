// Package cow owns a persistent array: a sequence whose versions share what they
// have in common, so that readers of an old version go on undisturbed while a new
// one is made.
//
// An index keeps its posting table and the state of its slots in such arrays. A
// commit changes a few hundred of many thousand elements; it copies the chunks
// that hold them and the list of chunks, and nothing else.
//
// An Array never changes and may be read by any number of goroutines. An Editor
// belongs to one.
//
// May import: nothing of sprat
package cow
