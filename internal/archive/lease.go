package archive

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

const (
	leaseName   = "lock"
	leaseFormat = 1
	leaseFor    = time.Hour
	leaseRenew  = 10 * time.Minute
	// releaseIn bounds the attempt to give a lease back after a cancellation.
	releaseIn = 30 * time.Second
)

// leaseDocument is the content of the lease object.
type leaseDocument struct {
	Format int       `json:"format"`
	Owner  string    `json:"owner"`
	Token  string    `json:"token"` // random, so that an owner knows its own
	Time   time.Time `json:"time"`  // last renewal
}

// lease is held by the one writer of a store. Its methods are for one goroutine.
type lease struct {
	o       Objects
	now     func() time.Time
	content leaseDocument
}

// acquire takes the lease or returns a *BusyError.
func acquire(ctx context.Context, o Objects, now func() time.Time) (*lease, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	l := &lease{o: o, now: now, content: leaseDocument{
		Format: leaseFormat, Owner: fmt.Sprintf("%s, process %d", host, os.Getpid()), Token: rand.Text()}}
	for range 3 { // others may come and go between our calls
		held, err := readLease(ctx, o)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case held.Token == l.content.Token: // created, though the store said otherwise
			return l, nil
		case now().Sub(held.Time) < leaseFor:
			return nil, busy(held)
		default:
			if err := o.Delete(ctx, leaseName); err != nil {
				return nil, fmt.Errorf("remove the stale lease of %s: %w", o, err)
			}
		}
		err = l.write(ctx, create)
		if err == nil {
			if err = l.confirm(ctx); err != nil {
				l.release(ctx) // it is taken, whatever kept us from looking
			}
			return l, err
		}
		if !errors.Is(err, fs.ErrExist) {
			l.release(ctx) // it may be taken all the same
			return nil, fmt.Errorf("take the lease of %s: %w", o, err)
		}
	}
	return nil, &BusyError{}
}

func busy(held leaseDocument) error {
	return &BusyError{Owner: held.Owner, Renewed: held.Time, Stale: held.Time.Add(leaseFor)}
}

// readLease returns the lease of whoever holds it. Errors are fs.ErrNotExist, a
// *DamageError, ErrFormat or the store's.
func readLease(ctx context.Context, o Objects) (held leaseDocument, err error) {
	data, err := o.Get(ctx, leaseName)
	if err != nil {
		return held, fmt.Errorf("read the lease of %s: %w", o, err)
	}
	object, reason := unseal(data)
	if reason != "" {
		return held, damaged(leaseName, "%s", reason)
	}
	if err := json.Unmarshal(object, &held); err != nil {
		return held, damaged(leaseName, "is not a lease: %v", err)
	}
	if held.Format != leaseFormat {
		return held, fmt.Errorf("%w: lease of format %d", ErrFormat, held.Format)
	}
	return held, nil
}

// write stores the lease with the time of now.
func (l *lease) write(ctx context.Context, put func(context.Context, Objects, string, []byte) error) error {
	l.content.Time = l.now().UTC()
	object, err := json.Marshal(l.content)
	if err != nil {
		return err
	}
	return put(ctx, l.o, leaseName, seal(object))
}

// confirm returns a *BusyError when the lease is someone else's by now.
func (l *lease) confirm(ctx context.Context) error {
	held, err := readLease(ctx, l.o)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &BusyError{}
	case err != nil:
		return err
	case held.Token != l.content.Token:
		return busy(held)
	}
	return nil
}

// renew tells others that the work goes on, when it is time to.
func (l *lease) renew(ctx context.Context) error {
	if l.now().Sub(l.content.Time) < leaseRenew {
		return nil
	}
	if err := l.confirm(ctx); err != nil {
		return err
	}
	err := l.write(ctx, func(ctx context.Context, o Objects, name string, data []byte) error {
		return o.Put(ctx, name, data)
	})
	if err != nil {
		return fmt.Errorf("renew the lease of %s: %w", l.o, err)
	}
	return nil
}

// release gives the lease back, cancelled or not. A lease that cannot be given
// back lapses by itself, so the work done is not called a failure for it.
func (l *lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseIn)
	defer cancel()
	if l.confirm(ctx) == nil {
		_ = l.o.Delete(ctx, leaseName)
	}
}

// Unlock removes the lease of a writer that is known to be gone. If it is not,
// it notices and gives up, but what it shares with snapshots that are pruned
// meanwhile may be lost to the snapshot that it is about to finish.
func Unlock(ctx context.Context, o Objects) error {
	if err := o.Delete(ctx, leaseName); err != nil {
		return fmt.Errorf("remove the lease of %s: %w", o, err)
	}
	return syncObjects(ctx, o)
}
