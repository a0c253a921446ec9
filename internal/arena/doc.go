// Package arena keeps blocks of bytes off the Go heap: the garbage collector
// neither scans nor doubles them, and what they take is known to the byte.
//
// May import: nothing of sprat
//
// # What it promises
//
// An [Arena] copies bytes into a [Block], in memory of its own. A block has
// owners, which are counted: the one who made it, and each whose [Block.Acquire]
// succeeded. With the last [Block.Release] the bytes go back to the arena, and no
// Acquire succeeds from then on, so a cache that evicts a block while a reader
// looks at it is safe: the reader either got hold of it in time or did not. The
// bytes never change while anybody owns the block.
//
// Blocks of about the same size share slabs; a slab without blocks goes back to the
// system at once. A block takes at most an eighth more than its bytes, and a slab
// that is partly used costs its whole size: [Arena.Mapped] is what is mapped.
//
// An arena is safe for concurrent use. It has no goroutines; memory still owned
// when it is dropped is lost to the process.
package arena
