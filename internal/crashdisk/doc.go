// Package crashdisk is a device double for tests: it records every change that a
// program makes below a directory and lays out what a crash after any of them
// may leave there.
//
// A Recorder is an iopath.Ops. It lets everything pass and keeps a copy. Cut
// then replays the first n changes on a model of a file system and writes the
// outcome of a power failure into another directory, where a test opens it and
// looks for what was acknowledged before. Each seed is another outcome.
//
// # What survives
//
// What was there when the Recorder was made, and of what came later:
//
//   - of a file, the content as of its last sync, and of each later write any
//     subset of its 512-byte sectors. Each cut draws the probability of a sector
//     from 0, 0.1, 0.5, 0.9 and 1. Later changes of the size survive up to one
//     of them, in order; sectors beyond the size are gone, and sectors inside it
//     that were lost in new room are zeros;
//   - of a directory, the names as of its last SyncDir, and of the later changes
//     of names any number of the first. A file created and then synced itself
//     has its name, as ext4 and XFS have it. A rename happens in whole or not at
//     all, also between directories. A directory lost takes along what is in it,
//     synced or not: it is durable when its parent has been synced.
//
// A change counts as done when it was announced. Of changes that run at the same
// time as a sync this takes more for durable than a device promises; it does not
// matter to a program that waits for a sync which began after the write ended.
//
// The package changes nothing outside the directory given to Cut. A Recorder is
// safe for concurrent use. Everything recorded is kept in memory.
//
// May import: iopath
package crashdisk
