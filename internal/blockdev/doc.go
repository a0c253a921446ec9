// Package blockdev says what a path lies on: the file system and its mount
// options, the whole disk behind it with the settings of its queue, and the
// limits that control groups put on this process and that disk.
//
// [Find] reads /proc and /sys and nothing else: no device is opened and no
// privilege is needed. What cannot be known is left zero. A file system without
// a disk of its own (overlay, tmpfs, network file systems) is no error:
// [Device].None says why there is none. Systems other than Linux have neither
// /proc nor /sys, so there None is all that is said.
//
// The disk is the whole one, also when the file system lies on a partition,
// because throttles and queue settings belong to the disk. A device mapper
// volume (LVM, crypt) counts as a disk: throttles can be set on it.
//
// Every function is safe for concurrent use.
//
// May import: nothing of sprat
package blockdev
