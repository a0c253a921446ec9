package iopath

import "time"

// noWait is a timeout for ring.enter.
const noWait = time.Duration(-1)

// ring is one io_uring instance, reduced to what this package uses. Every
// method must be called on the thread that created it. The queues are larger
// than what the owner ever has in flight, so nothing overflows.
type ring interface {
	// read queues a read, whose buffer must not be Go memory and must stay valid
	// until the event with this token arrives.
	read(r ringRead, token uint64)

	// poll queues a lasting watch of fd: an event with this token follows each
	// time that it becomes readable, for as long as events carry more.
	poll(fd int, token uint64)

	// enter submits what is queued and waits until at least one event is there,
	// at most for the timeout; 0 is no timeout and noWait does not wait. It
	// returns early with the errno of the call, in particular EINTR, and ETIME
	// after the timeout. What the kernel has not taken stays queued.
	enter(timeout time.Duration) error

	// events moves up to len(dst) events that are there into dst and returns how
	// many there were.
	events(dst []event) int

	// reserveFiles makes a registered table of n empty entries.
	reserveFiles(n int) error

	// setFile puts a descriptor in the registered table, or -1 to clear an entry.
	setFile(index int, fd int32) error

	// reserveMemory makes a registered table of n empty entries of memory.
	reserveMemory(n int) error

	// setMemory registers memory in an entry of the table, or clears it with nil.
	// Registered memory is pinned and counts against RLIMIT_MEMLOCK.
	setMemory(index int, mem []byte) error

	// close ends the instance. Nothing may be in flight.
	close()
}

// ringRead is a read as a ring is told of it.
type ringRead struct {
	fd        int32 // a descriptor, or with fixedFile an index in the table of files
	fixedFile bool
	buf       []byte
	memory    int32 // entry of the registered memory that buf is part of, or noMemory
	off       int64
}

// noMemory says that a buffer is not part of registered memory.
const noMemory = -1

// issuers says who calls a ring.
type issuers bool

const (
	oneThread issuers = true  // always the thread that made it: the cheapest modes of the kernel
	anyThread issuers = false // any thread, one at a time
)

// event is the completion of one operation.
type event struct {
	token uint64
	res   int32 // bytes, or a negative errno
	more  bool  // of a watch: it stays armed
}
