package iopath

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// memoryTable is the table of registered memory, whose entries are chunks of the
// pool. Reads into them spare the kernel finding, pinning and letting go of the
// pages, each time; see buffers.go for what that is worth. A chunk that is to be
// unmapped is cleared first, or else its pages would stay with the kernel.
type memoryTable struct {
	table
	open bool // the kernel has granted all so far
}

// memoryTableSizes has one entry for each chunk: 2 GiB of buffers.
var memoryTableSizes = []int{1024}

// reserve asks the ring, whose index is given, for a table.
func (t *memoryTable) reserve(r ring, index int, p *pool) {
	err := t.table.reserve(index, memoryTableSizes, r.reserveMemory)
	if t.open = err == nil; !t.open {
		p.refused(memoryRefusal(err))
	}
}

// lookup returns where a chunk is registered, noMemory when it is not. After a
// refusal it asks again only when something has been cleared: the limit is on
// what is registered at one time, and asking costs much of what it could save.
func (t *memoryTable) lookup(r ring, p *pool, c *chunk) int32 {
	if index := c.ring[t.ring]; index > 0 {
		return index - 1
	} else if !t.open {
		return noMemory
	}
	index, err := t.enter(&c.ring, func(i int) error { return r.setMemory(i, c.mem) })
	if err != nil {
		t.open = false
		p.refused(memoryRefusal(err))
		return noMemory
	}
	p.registered(c)
	return index
}

// clear has the kernel let go of a chunk into which no read is in flight.
func (t *memoryTable) clear(r ring, c *chunk) {
	index := c.ring[t.ring] - 1
	if r.setMemory(int(index), nil) == nil {
		t.spare = append(t.spare, index)
		t.open = true
	}
}

// memoryRefusal says why memory is not registered and what can be done.
func memoryRefusal(err error) string {
	hint := ""
	switch {
	case errors.Is(err, unix.ENOMEM):
		hint = limitText("RLIMIT_MEMLOCK", unix.RLIMIT_MEMLOCK) + "; raise it with ulimit -l or LimitMEMLOCK="
	case errors.Is(err, unix.EINVAL):
		hint = "the kernel is older than 5.19"
	case errors.Is(err, unix.EPERM):
		hint = "a seccomp filter forbids io_uring_register"
	}
	if hint != "" {
		hint = " (" + hint + ")"
	}
	return fmt.Sprintf("io_uring_register: %v%s", err, hint)
}
