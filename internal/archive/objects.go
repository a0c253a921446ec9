package archive

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
)

// Objects is where snapshots are kept: a flat store of immutable named objects.
// Names are slash-separated and hold neither empty parts nor "." or "..". An
// Objects is safe for concurrent use. It may also be a [Syncer], a [Creator] or
// a [Cleaner].
type Objects interface {
	// Put writes an object, whole or not at all, and replaces one of the same
	// name. The object is durable when Put returns; for a [Syncer], when the
	// next Sync does. data belongs to the callee only during the call.
	Put(ctx context.Context, name string, data []byte) error
	// Get returns the content of an object, which is the caller's to keep. The
	// error is fs.ErrNotExist (errors.Is) when there is none.
	Get(ctx context.Context, name string) ([]byte, error)
	// Has tells whether an object exists.
	Has(ctx context.Context, name string) (bool, error)
	// List returns the names that start with prefix, sorted. An object whose Put
	// has returned is in it.
	List(ctx context.Context, prefix string) ([]string, error)
	// Delete removes an object. That there is none is no error.
	Delete(ctx context.Context, name string) error
	// String names the store for messages, without secrets.
	String() string
}

// Syncer is an Objects whose changes are durable only after Sync.
type Syncer interface {
	// Sync makes every Put and Delete that has returned durable.
	Sync(ctx context.Context) error
}

// Creator is an Objects that can write an object only if there is none.
type Creator interface {
	// Create is Put, or fs.ErrExist (errors.Is) when the object exists.
	Create(ctx context.Context, name string, data []byte) error
}

// Cleaner is an Objects in which a Put that was cut short can leave something.
type Cleaner interface {
	// Clean removes what such calls left. It is called while no other writer is
	// at work.
	Clean(ctx context.Context) error
}

// validName tells whether a name may be given to a store or to a file below a
// target: relative, clean, and the same on every system.
func validName(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "\\:\x00")
}

func syncObjects(ctx context.Context, o Objects) error {
	s, ok := o.(Syncer)
	if !ok {
		return nil
	}
	if err := s.Sync(ctx); err != nil {
		return fmt.Errorf("sync %s: %w", o, err)
	}
	return nil
}

func cleanObjects(ctx context.Context, o Objects) error {
	c, ok := o.(Cleaner)
	if !ok {
		return nil
	}
	if err := c.Clean(ctx); err != nil {
		return fmt.Errorf("clean %s: %w", o, err)
	}
	return nil
}

// create writes an object that must not exist. A store that cannot tell leaves a
// gap between the look and the write; the caller reads back what it wrote.
func create(ctx context.Context, o Objects, name string, data []byte) error {
	if c, ok := o.(Creator); ok {
		return c.Create(ctx, name, data)
	}
	has, err := o.Has(ctx, name)
	if err != nil {
		return err
	}
	if has {
		return fs.ErrExist
	}
	return o.Put(ctx, name, data)
}
