package catalog

import (
	"context"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// manifestBytes is from when on the manifest may be replaced. Pebble does so when
	// its changes outnumber the tables.
	manifestBytes = 512
	// eraseTurns bounds the attempts to have that done.
	eraseTurns = 10_000
)

// Erase removes what was deleted or replaced from the files of the catalog: it
// flushes the memtables, compacts the tables into ones without old values, and
// turns over the logs, of which Pebble keeps a few to use their names again, and the
// manifest, which names the first and last key of every table that there ever was
// and stays for a while when there is a newer one. It waits until the old files are
// gone.
func (c *Catalog) Erase(ctx context.Context) error {
	const logs = 4 // more than Pebble keeps for later use
	turn := func() error {
		err := c.db.Set([]byte{tableVersion}, binary.LittleEndian.AppendUint32(nil, Version), pebble.Sync)
		if err == nil {
			err = c.db.Flush()
		}
		return err
	}
	// A table that overlaps nothing is moved down as it is, tombstones and all, and
	// these hold the keys of what was deleted. One that spans all the others has them
	// rewritten.
	err := c.db.Delete([]byte{0xfe}, pebble.Sync)
	if err == nil {
		err = turn()
	}
	if err == nil {
		err = c.db.Compact(ctx, []byte{0}, []byte{0xff}, false)
	}
	manifests := c.manifests.Load()
	for i := 0; err == nil && i < eraseTurns && (i < logs || c.manifests.Load() < manifests+2); i++ {
		if err = turn(); err == nil {
			err = ctx.Err()
		}
	}
	if err != nil {
		return damaged(c.dir, "erase", err)
	}
	c.db.TestOnlyWaitForCleaning() // of any use, whatever its name says: it waits for removals
	return nil
}
