package iopath

import (
	"context"
	"sync/atomic"
	"time"
)

// uring is the backend of io_uring: one or two rings, each with its owner, to
// which waves go in turn, and the lane for a caller who is alone.
type uring struct {
	e      *Engine
	owners []*owner
	turn   atomic.Uint32
	lane   *lane
}

// newUring starts the owners. It fails when the kernel grants no ring.
func newUring(e *Engine) (backend, error) {
	e.info.Ring = ringBinding
	return newUringOver(e, newRing)
}

// newUringOver is newUring with the rings of open.
func newUringOver(e *Engine, open openRing) (backend, error) {
	u := &uring{e: e}
	e.gate.told = u.notifyAll
	e.pool.retire = u.retire
	for i := range e.cfg.Rings {
		o, err := startOwner(e, i, open)
		if err != nil {
			u.stop(closeGrace)
			return nil, err
		}
		u.owners = append(u.owners, o)
	}
	u.lane = openLane(e, open)
	return u, nil
}

func (u *uring) submit(ctx context.Context, b *Batch, w wave) error {
	if u.lane.try(b, w) {
		return nil
	}
	o := u.owners[0]
	if len(u.owners) > 1 {
		o = u.owners[u.turn.Add(1)%uint32(len(u.owners))]
	}
	if err := o.q.push(ctx, &b.flows[o.q.index], b.class, w); err != nil {
		return err
	}
	o.notify()
	return nil
}

// hurry takes what a batch has waiting to the front.
func (u *uring) hurry(b *Batch) {
	for _, o := range u.owners {
		o.q.hurry(&b.flows[o.q.index])
	}
}

// notifyAll tells the owners that there is room in the gate.
func (u *uring) notifyAll() {
	for _, o := range u.owners {
		o.notify()
	}
}

func (u *uring) forget(f *File) {
	for i, o := range u.owners {
		if index := f.ring[i]; index > 0 {
			o.forget(index - 1)
		}
	}
}

// retire has the owners let go of a chunk and returns how many will.
func (u *uring) retire(c *chunk) (holders int) {
	for i, o := range u.owners {
		if c.ring[i] > 0 && o.retire(c) {
			holders++
		}
	}
	return holders
}

func (u *uring) stop(grace time.Duration) bool {
	for _, o := range u.owners {
		u.e.fail(o.q.close(), ErrClosed)
		o.stop()
	}
	home := make(chan struct{})
	go func() {
		if u.lane != nil {
			u.lane.stop()
		}
		for _, o := range u.owners {
			<-o.gone
		}
		u.e.asides.Wait()
		close(home)
	}()
	return waitFor(home, grace)
}
