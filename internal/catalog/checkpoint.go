package catalog

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Checkpoint makes a copy of the catalog in dir, which must not exist: what was
// committed before the call is in it. Tables are linked where the file system
// can, so it takes the time and space of the log and the manifest, and as long as
// the copy lives, of the tables that have been compacted since. Open opens it.
// Reads and writes go on meanwhile. After an error nothing is left in dir. ErrLost
// as for Commit.
func (c *Catalog) Checkpoint(dir string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrLost, r)
		}
	}()
	return damaged(c.dir, "checkpoint", c.db.Checkpoint(dir, pebble.WithFlushedWAL()))
}
