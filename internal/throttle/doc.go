// Package throttle puts limits of a volume and of memory on the present process,
// so that one machine shows what a program does on volumes of several sizes.
//
// # How
//
// Control groups hold the limits. [Open] makes a group below the one that the
// process is in, moves the process into it with all its threads, and [Group.Set]
// writes limits there, as often as wanted, while the process runs:
//
//	          version 1                        version 2
//	volume    blkio.throttle.*_device          io.max
//	memory    memory.limit_in_bytes            memory.max
//
// Both versions can be mounted beside each other, so each controller is looked for
// by itself. A group is named sprat-PID-START, START being the time at which the
// process began: groups of processes that have died without [Group.Close] are told
// by that and removed by the next Open.
//
// Version 2 lets a group that holds processes have no controllers for groups below
// it. A process that is alone in its group moves out first, and the controllers are
// switched on then; where others are in the group, that is refused, and the error
// says how to start the program in a group of its own.
//
// # Promises
//
// Limits of the groups around stay in force. Close puts everything back: the
// process in its old group, the controllers, the folder. When Open fails it has
// already done so. Memory that the process had before Open is charged to the old
// group and stays there, so Open early. What must not be done here is a
// [*NotAllowedError] with the reason, never a silent nothing.
//
// A Group may be used by several goroutines at once.
//
// May import: internal/blockdev
package throttle
