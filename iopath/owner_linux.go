package iopath

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// owner runs one ring. One goroutine on a locked thread does everything that
// touches the ring, because the cheapest modes of the kernel want a single
// issuer; others talk to it through the queue of waves and a mailbox.
//
// The life of a read:
//
//  1. Submit pushes the wave on the queue and wakes the owner if it sleeps.
//  2. The owner takes as many reads as it has free slots and the gate lets in,
//     gives each its buffer and queues it on the ring.
//  3. One call of the kernel submits them all and waits for one event.
//  4. The events are first copied out of the ring and then worked off: a read
//     is done, or its rest is queued again in the same slot, or a blocking pread
//     in a goroutine of its own tries once more.
//
// Sleep and wake: the ring watches an eventfd, so that a write to it ends the
// wait in the kernel. A producer makes its work visible, sets news, and writes
// only if it is the one to clear asleep. The owner sets asleep, then looks at
// news once more, then waits. One of the two always sees the other, and any
// number of producers cause one write.
type owner struct {
	slots

	q      *queue
	gone   chan struct{} // closed as the goroutine ends
	news   atomic.Bool
	asleep atomic.Bool

	mail struct {
		sync.Mutex
		stop      bool     // end when no read is in flight
		forgotten []int32  // entries of the table of files to clear
		retired   []*chunk // memory to let go of
		wakeFD    int      // -1 when the owner has gone
	}

	// The rest belongs to the goroutine.
	wakeFD    int
	batch     []*request // scratch of take
	forgotten []int32    // scratch of readMail
	retired   []*chunk   // scratch of readMail
	backlog   bool       // the queue held more than could be taken
	stopping  bool
	broken    error // the ring has failed
}

// openRing is newRing, or another ring in tests.
type openRing func(entries uint32, by issuers) (ring, error)

// startOwner makes ring number index and starts its owner.
func startOwner(e *Engine, index int, open openRing) (*owner, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	o := &owner{q: newQueue(&e.counters, index), gone: make(chan struct{}), wakeFD: fd}
	o.mail.wakeFD = fd
	started := make(chan error)
	go o.run(e, index, open, started)
	if err := <-started; err != nil {
		<-o.gone // has closed the eventfd, which the next rung of the ladder may need
		return nil, err
	}
	return o, nil
}

// run is the owner's goroutine. The thread is never unlocked: it ends with the
// goroutine, and the kernel's state of it too.
func (o *owner) run(e *Engine, index int, open openRing, started chan<- error) {
	runtime.LockOSThread()
	defer close(o.gone)
	defer o.closeMail()
	depth := e.info.Depth
	// One entry more than the depth is for the watch; the kernel rounds up.
	r, err := open(uint32(depth+1), oneThread)
	if err != nil {
		started <- err
		return
	}
	defer r.close()
	o.init(e, r, depth)
	o.batch = make([]*request, depth)
	_ = o.files.reserve(index, fileTableSizes, r.reserveFiles) // without it descriptors are named
	o.memory.reserve(r, index, e.pool)
	r.poll(o.wakeFD, tokenWake)
	started <- nil
	for o.turn() {
	}
}

// turn takes what is new, waits for an event and works off all events. It
// reports whether the owner goes on.
func (o *owner) turn() bool {
	news := o.news.Swap(false)
	if news {
		o.readMail()
	}
	if news || o.backlog {
		o.take()
	}
	if o.stopping && o.flying() == 0 {
		return false
	}
	o.asleep.Store(true)
	if o.news.Load() {
		o.asleep.Store(false)
		return true
	}
	err := o.sleep()
	o.asleep.Store(false)
	n, unwatched := o.hear()
	if unwatched {
		o.ring.poll(o.wakeFD, tokenWake)
	}
	if err != nil && n == 0 {
		o.failed(err)
	}
	return true
}

// sleep waits for an event of the ring or, when the ring has failed, for news.
func (o *owner) sleep() error {
	if o.broken == nil {
		o.e.counters.enters.Add(1)
		return o.ring.enter(0)
	}
	fds := []unix.PollFd{{Fd: int32(o.wakeFD), Events: unix.POLLIN}}
	if _, err := unix.Poll(fds, -1); err == nil {
		var count [8]byte
		_, _ = unix.Read(o.wakeFD, count[:]) // resets it
	}
	return nil
}

// enterPause is how long to wait before asking again a kernel that is short of
// memory while no read of ours is there whose end would free any.
const enterPause = time.Millisecond

// failed handles an error of the call into the kernel that came without any
// event. Interruptions are routine in a Go program; the kernel keeps what it
// has, and we come again.
func (o *owner) failed(err error) {
	switch {
	case errors.Is(err, unix.EINTR):
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EBUSY):
		time.Sleep(enterPause)
	default:
		o.broken = o.abandon(err)
	}
}

// take moves reads from the queue to free slots, until one of the two has come
// to its end or the gate lets in no more, in which case it will notify.
func (o *owner) take() {
	for o.backlog = true; o.backlog && len(o.spare) > 0; {
		var n int
		n, o.backlog = o.q.pop(o.batch[:len(o.spare)], &o.e.gate)
		for i, r := range o.batch[:n] {
			o.batch[i] = nil
			if o.broken != nil {
				o.refuse(r, o.broken)
			} else {
				o.admit(r)
			}
		}
		o.settle()
		if n == 0 {
			return
		}
	}
}

// notify tells the owner that there is news, and wakes it if it sleeps.
func (o *owner) notify() {
	o.news.Store(true)
	if !o.asleep.CompareAndSwap(true, false) {
		return
	}
	o.mail.Lock()
	defer o.mail.Unlock()
	if o.mail.wakeFD < 0 {
		return
	}
	o.e.counters.wakes.Add(1)
	// Raw, since an eventfd that is nowhere near its limit never blocks.
	one := uint64(1)
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(o.mail.wakeFD), uintptr(unsafe.Pointer(&one)), 8)
}

// stop has the owner end as soon as no read is in flight. The queue is closed.
func (o *owner) stop() {
	o.mail.Lock()
	o.mail.stop = true
	o.mail.Unlock()
	o.notify()
}

// forget has the owner clear an entry of the registered table.
func (o *owner) forget(entry int32) {
	o.mail.Lock()
	o.mail.forgotten = append(o.mail.forgotten, entry)
	o.mail.Unlock()
	o.notify()
}

// retire has the owner let go of a chunk, in which no buffer is in use, and then
// tell the pool. It reports false when the owner has gone, and its ring with it.
func (o *owner) retire(c *chunk) bool {
	o.mail.Lock()
	gone := o.mail.wakeFD < 0
	if !gone {
		o.mail.retired = append(o.mail.retired, c)
	}
	o.mail.Unlock()
	o.notify()
	return !gone
}

// readMail does what stop, forget and retire have asked for.
func (o *owner) readMail() {
	o.mail.Lock()
	o.stopping = o.mail.stop
	o.forgotten, o.mail.forgotten = o.mail.forgotten, o.forgotten[:0]
	o.retired, o.mail.retired = o.mail.retired, o.retired[:0]
	o.mail.Unlock()
	for _, entry := range o.forgotten {
		o.files.clear(o.ring, entry)
	}
	for i, c := range o.retired {
		o.memory.clear(o.ring, c)
		o.e.pool.letGo(c)
		o.retired[i] = nil
	}
}

// closeMail ends the owner's side, after its ring has gone: later mail is not
// read.
func (o *owner) closeMail() {
	o.mail.Lock()
	_ = unix.Close(o.wakeFD)
	o.mail.wakeFD = -1
	retired := o.mail.retired
	o.mail.retired = nil
	o.mail.Unlock()
	for _, c := range retired {
		o.e.pool.letGo(c)
	}
}
