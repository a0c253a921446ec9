//go:build giouring

package iopath

import (
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"
)

// ringBinding is Info.Ring.
const ringBinding = "giouring"

// libRing is the ring over github.com/pawelgaczynski/giouring. It keeps clear
// of what that library gets wrong: its RegisterFiles functions lose the errno
// and lay descriptors out in 64 bits, its Prepare functions leave the flags of
// an entry's previous use in place, and PeekBatchCQE fills the whole slice with
// entries of which only as many as it returns are valid.
type libRing struct {
	*giouring.Ring
	cqes []*giouring.CompletionQueueEvent // scratch of events

	// Arguments whose address the kernel is given inside another argument: as
	// fields of a value on the heap they do not move.
	fdArg   int32
	memArg  unix.Iovec
	timeout syscall.Timespec
}

// setupSteps are as in the ring of our own.
var setupSteps = map[issuers][]uint32{
	oneThread: {
		giouring.SetupSingleIssuer | giouring.SetupDeferTaskrun | giouring.SetupSubmitAll,
		giouring.SetupCoopTaskrun | giouring.SetupSubmitAll,
		0,
	},
	anyThread: {giouring.SetupSubmitAll, 0},
}

// newRing makes a ring for up to entries operations in flight.
func newRing(entries uint32, by issuers) (ring, error) {
	var err error
	for _, flags := range setupSteps[by] {
		r := &libRing{Ring: giouring.NewRing()}
		if err = r.QueueInit(entries, flags); err == nil {
			return r, nil
		}
		if !errors.Is(err, unix.EINVAL) {
			break
		}
	}
	return nil, fmt.Errorf("io_uring_setup: %w", err)
}

// entry is a cleared submission entry. The owner never has more in flight than
// the queue holds, so there is always one.
func (r *libRing) entry() *giouring.SubmissionQueueEntry {
	s := r.GetSQE()
	*s = giouring.SubmissionQueueEntry{}
	return s
}

func (r *libRing) read(rd ringRead, token uint64) {
	s := r.entry()
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(rd.buf)))
	if rd.memory != noMemory {
		s.PrepareReadFixed(int(rd.fd), addr, uint32(len(rd.buf)), uint64(rd.off), int(rd.memory))
	} else {
		s.PrepareRead(int(rd.fd), addr, uint32(len(rd.buf)), uint64(rd.off))
	}
	if rd.fixedFile {
		s.Flags |= giouring.SqeFixedFile
	}
	s.UserData = token
}

func (r *libRing) poll(fd int, token uint64) {
	s := r.entry()
	s.PreparePollMultishot(fd, unix.POLLIN)
	s.UserData = token
}

func (r *libRing) enter(timeout time.Duration) error {
	var err error
	switch timeout {
	case noWait:
		_, err = r.Submit()
	case 0:
		_, err = r.SubmitAndWait(1)
	default:
		r.timeout = syscall.NsecToTimespec(int64(timeout))
		_, err = r.SubmitAndWaitTimeout(1, &r.timeout, nil)
	}
	return err
}

func (r *libRing) events(dst []event) int {
	if len(r.cqes) < len(dst) {
		r.cqes = make([]*giouring.CompletionQueueEvent, len(dst))
	}
	n := r.PeekBatchCQE(r.cqes[:len(dst)])
	for i, c := range r.cqes[:n] {
		dst[i] = event{token: c.UserData, res: c.Res, more: c.Flags&giouring.CQEFMore != 0}
	}
	r.CQAdvance(n)
	return int(n)
}

func (r *libRing) reserveFiles(n int) error {
	fds := make([]int32, n)
	for i := range fds {
		fds[i] = -1
	}
	return r.register(giouring.RegisterFiles, unsafe.Pointer(&fds[0]), uint32(n))
}

func (r *libRing) setFile(index int, fd int32) error {
	r.fdArg = fd
	u := giouring.FilesUpdate{Offset: uint32(index), Fds: uint64(uintptr(unsafe.Pointer(&r.fdArg)))}
	return r.register(giouring.RegisterFilesUpdate, unsafe.Pointer(&u), 1)
}

func (r *libRing) reserveMemory(n int) error {
	a := giouring.RsrcRegister{Nr: uint32(n), Flags: giouring.RsrcRegisterSparse}
	return r.register(giouring.RegisterBuffers2, unsafe.Pointer(&a), uint32(unsafe.Sizeof(a)))
}

func (r *libRing) setMemory(index int, mem []byte) error {
	r.memArg = unix.Iovec{Base: unsafe.SliceData(mem), Len: uint64(len(mem))}
	u := giouring.RsrcUpdate2{Offset: uint32(index), Data: uint64(uintptr(unsafe.Pointer(&r.memArg))), Nr: 1}
	return r.register(giouring.RegisterBuffersUpdate, unsafe.Pointer(&u), uint32(unsafe.Sizeof(u)))
}

func (r *libRing) register(op uint32, arg unsafe.Pointer, n uint32) error {
	if _, errno := r.Register(r.RingFd(), op, arg, n); errno != 0 {
		return errno
	}
	return nil
}

func (r *libRing) close() { r.QueueExit() }
