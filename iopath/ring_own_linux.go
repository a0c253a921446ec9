//go:build !giouring

package iopath

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ringBinding is Info.Ring.
const ringBinding = "own"

// ownRing is the ring over bare system calls. The kernel moves sqHead and
// cqTail, we move sqTail and cqHead; each side publishes with a release store
// and looks with an acquire load, which sync/atomic provides.
type ownRing struct {
	fd   int
	mem  []byte // both rings
	smem []byte // submission entries

	sqHead, sqTail *uint32
	sqMask         uint32
	sqes           []submission
	tail           uint32 // entries filled in, published by enter

	cqHead, cqTail *uint32
	cqMask         uint32
	cqes           []completionEntry

	// Arguments whose address the kernel is given inside another argument: as
	// fields of a value on the heap they do not move.
	fdArg   int32
	memArg  unix.Iovec
	timeout timespec
	arg     eventsArg // points to timeout
}

// setupSteps are the set-up flags to try, best first. A kernel answers EINVAL
// to a flag that it does not know.
//
// With DEFER_TASKRUN completions are worked off when the owner asks for them,
// by the owner, instead of interrupting it; that needs SINGLE_ISSUER. The next
// best is COOP_TASKRUN, which at least spares the interrupt. Where any thread
// may call, the one that submitted must be interrupted: it may be busy with
// something else while another waits.
//
// Two further modes were tried and are not used, because what they save cannot be
// told from the difference between two runs of the same. Processor time of a read of
// 4 KiB on a bare ring, as a share of that without, the middle of 21 alternations at
// depth 1, 32 and 128: NO_SQARRAY 0.96, 0.97, 1.00; a registered descriptor of the
// ring (REGISTER_RING_FDS) 0.96, 1.00, 1.00; neither, against itself, 1.02, 1.02, 0.99.
var setupSteps = map[issuers][]uint32{
	oneThread: {setupSingleIssuer | setupDeferTaskrun | setupSubmitAll, setupCoopTaskrun | setupSubmitAll, 0},
	anyThread: {setupSubmitAll, 0},
}

// newRing makes a ring for up to entries operations in flight.
func newRing(entries uint32, by issuers) (ring, error) {
	var err error
	for _, flags := range setupSteps[by] {
		var r *ownRing
		if r, err = setup(entries, flags); err == nil {
			return r, nil
		}
		if err != unix.EINVAL {
			break
		}
	}
	return nil, fmt.Errorf("io_uring_setup: %w", err)
}

// setup makes a ring with the given flags.
func setup(entries, flags uint32) (*ownRing, error) {
	p := setupParams{flags: flags | setupCQSize, cqEntries: 2 * entries}
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, errno
	}
	r := &ownRing{fd: int(fd)}
	r.arg.timespec = uint64(uintptr(unsafe.Pointer(&r.timeout)))
	if p.features&featRsrcTags == 0 {
		r.close()
		return nil, unix.ENOSYS // has no lasting watches
	}
	if err := r.mmap(&p); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// mmap maps the rings and finds its way in them.
func (r *ownRing) mmap(p *setupParams) (err error) {
	const prot, how = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	size := max(p.sq.array+p.sqEntries*4, p.cq.cqes+p.cqEntries*uint32(unsafe.Sizeof(completionEntry{})))
	if r.mem, err = unix.Mmap(r.fd, offSQRing, int(size), prot, how); err != nil {
		return err
	}
	size = p.sqEntries * uint32(unsafe.Sizeof(submission{}))
	if r.smem, err = unix.Mmap(r.fd, offSQEs, int(size), prot, how); err != nil {
		return err
	}
	at := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.mem[off])) }
	r.sqHead, r.sqTail, r.sqMask = at(p.sq.head), at(p.sq.tail), *at(p.sq.ringMask)
	r.cqHead, r.cqTail, r.cqMask = at(p.cq.head), at(p.cq.tail), *at(p.cq.ringMask)
	r.sqes = unsafe.Slice((*submission)(unsafe.Pointer(&r.smem[0])), p.sqEntries)
	r.cqes = unsafe.Slice((*completionEntry)(unsafe.Pointer(&r.mem[p.cq.cqes])), p.cqEntries)
	// The indirection from ring position to entry is the identity for ever.
	order := unsafe.Slice(at(p.sq.array), p.sqEntries)
	for i := range order {
		order[i] = uint32(i)
	}
	return nil
}

// next is a cleared submission entry. The owner never has more in flight than
// the queue holds, so there is always one.
func (r *ownRing) next() *submission {
	s := &r.sqes[r.tail&r.sqMask]
	r.tail++
	*s = submission{}
	return s
}

func (r *ownRing) read(rd ringRead, token uint64) {
	s := r.next()
	s.opcode = opRead
	if rd.memory != noMemory {
		s.opcode, s.bufIndex = opReadFixed, uint16(rd.memory)
	}
	if rd.fixedFile {
		s.flags = sqeFixedFile
	}
	s.fd = rd.fd
	s.off = uint64(rd.off)
	s.addr = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(rd.buf))))
	s.len = uint32(len(rd.buf))
	s.userData = token
}

func (r *ownRing) poll(fd int, token uint64) {
	s := r.next()
	s.opcode = opPollAdd
	s.fd = int32(fd)
	s.len = pollMulti
	s.opFlags = unix.POLLIN
	s.userData = token
}

func (r *ownRing) enter(timeout time.Duration) error {
	atomic.StoreUint32(r.sqTail, r.tail)
	queued := uintptr(r.tail - atomic.LoadUint32(r.sqHead))
	var errno syscall.Errno
	switch {
	case timeout == noWait:
		_, _, errno = unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), queued, 0, 0, 0, 0)
	case timeout == 0:
		_, _, errno = unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), queued, 1, enterGetEvents, 0, 0)
	default:
		r.timeout = timespec{int64(timeout / time.Second), int64(timeout % time.Second)}
		_, _, errno = unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), queued, 1, enterGetEvents|enterExtArg,
			uintptr(unsafe.Pointer(&r.arg)), unsafe.Sizeof(r.arg))
	}
	if errno != 0 {
		return errno
	}
	return nil
}

func (r *ownRing) events(dst []event) int {
	head := *r.cqHead // ours
	n := min(int(atomic.LoadUint32(r.cqTail)-head), len(dst))
	for i := range n {
		c := &r.cqes[(head+uint32(i))&r.cqMask]
		dst[i] = event{token: c.userData, res: c.res, more: c.flags&cqeMore != 0}
	}
	atomic.StoreUint32(r.cqHead, head+uint32(n))
	return n
}

func (r *ownRing) reserveFiles(n int) error {
	fds := make([]int32, n)
	for i := range fds {
		fds[i] = -1
	}
	return r.register(registerFiles, unsafe.Pointer(&fds[0]), uint32(n))
}

func (r *ownRing) setFile(index int, fd int32) error {
	r.fdArg = fd
	u := filesUpdate{offset: uint32(index), fds: uint64(uintptr(unsafe.Pointer(&r.fdArg)))}
	return r.register(registerFilesUpdate, unsafe.Pointer(&u), 1)
}

func (r *ownRing) reserveMemory(n int) error {
	a := rsrcRegister{nr: uint32(n), flags: rsrcRegisterSparse}
	return r.register(registerBuffers2, unsafe.Pointer(&a), uint32(unsafe.Sizeof(a)))
}

func (r *ownRing) setMemory(index int, mem []byte) error {
	r.memArg = unix.Iovec{Base: unsafe.SliceData(mem), Len: uint64(len(mem))}
	u := rsrcUpdate{offset: uint32(index), data: uint64(uintptr(unsafe.Pointer(&r.memArg))), nr: 1}
	return r.register(registerBuffersUpdate, unsafe.Pointer(&u), uint32(unsafe.Sizeof(u)))
}

// register is io_uring_register, which returns a count or an errno.
func (r *ownRing) register(op uintptr, arg unsafe.Pointer, n uint32) error {
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), op, uintptr(arg), uintptr(n), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func (r *ownRing) close() {
	// Mappings of ours and an open descriptor: neither call can fail.
	if r.smem != nil {
		_ = unix.Munmap(r.smem)
	}
	if r.mem != nil {
		_ = unix.Munmap(r.mem)
	}
	_ = unix.Close(r.fd)
}
