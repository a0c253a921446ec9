// Package lire decides how postings change while vectors come and go: when a
// posting is folded, cut or given up, how it is cut, which vectors must move after
// a cut, how far writers are slowed, and what is done first. It does no I/O and
// keeps no index; the root package reads, commits and calls it. The method is LIRE
// of SPFresh (SOSP 2023).
//
// # Words
//
// An entry is one copy of a vector in one posting. Every live vector has exactly
// one primary copy, and NPA (nearest partition assignment) is the rule that the
// primary stands in the posting of the nearest centroid. Further copies stand
// where routing chose to put them at the time; only the primary is held to a rule.
// A posting's extent is what is written on the volume, its delta (posting.Delta)
// what is not yet. An entry is dead when its slot is, or when its placement
// generation is no longer the slot's.
//
// A cut divides a posting (the parent, its old centroid gone) into parts, the
// children, each a new posting. To re-place a vector is to route it afresh: a new
// primary, new copies, the generation one up.
//
// # Protocol
//
// Each numbered step is ONE conditional catalog batch: it was prepared aside from
// what was read, and commits only if every posting and slot that it read is
// unchanged; else it is dropped and decided anew. Extents that a batch names are
// written and synced before it commits. The index is whole after each step, so
// a step that is cut off leaves only what the next opening finds by itself.
//
//	1 route    Choose centroids for the vector in the current set of centroids.
//	           Nothing is written. Cut: nothing.
//	2 land     Write the record; with it one entry a chosen posting. The batch is
//	           key -> slot, slot, generation, entries; it commits only while all
//	           chosen postings still exist, else back to 1. Cut before the batch:
//	           record bytes that nothing names. After it: a whole vector.
//	3 fold     Write extent and delta without the dead as a new extent. The batch
//	           switches the directory and removes the folded rows of the delta.
//	           Cut: bytes that nothing names; the old extent and delta stand.
//	4 split    Read all members with their vectors, Cut them, write an extent a
//	           child. The batch adds the children and their centroids and removes
//	           the parent, its delta included. Cut: as in 3; the posting is still
//	           too large, and is found again by Decide.
//	5 check    Check names members whose primary is now in the wrong posting. Each
//	           is re-placed: route, then a batch of the new generation WITH the new
//	           entries, which commits only while the old generation holds. Cut: some
//	           vectors are not in their nearest posting, each still in one; a later
//	           cut or scrub finds them.
//	6 drain    A posting that is too small is marked as draining, which takes it
//	           out of routing, and then each live member, copies too, is re-placed
//	           as in 5, which leaves its entry here dead. Cut: some members are
//	           elsewhere; the posting is small, and the drain goes on.
//	7 drop     A posting without live entries is removed from the directory, and its
//	           centroid from the set. Cut: it is still empty and is dropped later.
//
// Extents that a batch left behind are free once no reader can hold them and the
// batch is durable.
//
// # What went wrong elsewhere
//
//	| what broke                                      | what prevents it here             |
//	|-------------------------------------------------|-----------------------------------|
//	| generation raised before the copies were there, | one batch holds both (5); a       |
//	| so a crash left a vector in no posting          | re-placing without target is none |
//	| a put lost in a posting that was being split    | the batches of 2 and 4 are both   |
//	|                                                 | conditional on the posting        |
//	| splits computed on 1-bit codes                  | Members carries whole vectors     |
//	| a failed split is forgotten, the posting grows  | Decide is asked anew on opening   |
//	|                                                 | and after every change            |
//	| equal vectors: all but one thrown away, or a    | Cut divides by count, children    |
//	| split tried forever                             | with equal centroids are legal    |
//	| equal centroids pass vectors to and fro         | Check wants a margin              |
//	| children split before the parent was done       | a split is one batch              |
//	| a queue of work grows without bound             | a posting stands in it once       |
//
// What Check cannot see: a vector with no copy in the parent whose primary is in a
// neighbour, and which is nearer to a child. SPFresh reads 64 neighbours to find
// those. Here a vector stands in about four postings near to it, so most of those
// in question have a copy in the parent, and no further posting is read; a scrub
// that routes vectors afresh finds the rest.
//
// All functions are pure and safe for concurrent use, and so is a Queue.
//
// May import: rq, rq/simd, posting
package lire
