package catalog

import (
	"context"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
)

// Erase removes what was deleted or replaced from the files of the catalog: it
// flushes the memtables, compacts the tables into ones without old values, and
// turns over the logs, of which Pebble keeps a few to use their names again. It
// waits until the old files are gone.
func (c *Catalog) Erase(ctx context.Context) error {
	const logs = 4 // more than Pebble keeps for later use
	turn := func() error {
		err := c.db.Set([]byte{tableVersion}, binary.LittleEndian.AppendUint32(nil, Version), pebble.Sync)
		if err == nil {
			err = c.db.Flush()
		}
		return err
	}
	err := turn()
	if err == nil {
		err = c.db.Compact(ctx, []byte{0}, []byte{0xff}, false)
	}
	for i := 0; err == nil && i < logs; i++ {
		err = turn()
	}
	if err != nil {
		return damaged(c.dir, "erase", err)
	}
	c.db.TestOnlyWaitForCleaning() // of any use, whatever its name says: it waits for removals
	return nil
}
