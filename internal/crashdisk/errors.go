package crashdisk

import "errors"

// ErrUnseen says that a change names a file or directory whose creation was not
// recorded: some code goes past iopath.Ops, and the model would be wrong.
var ErrUnseen = errors.New("crashdisk: created unseen")
