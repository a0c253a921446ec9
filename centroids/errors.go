package centroids

import "errors"

var (
	// ErrCorrupt marks every error that says stored centroids are not the bytes
	// that AppendBinary wrote. Test for it with errors.Is.
	ErrCorrupt = errors.New("centroids are corrupt")
	// ErrVersion marks stored centroids of a format newer than this program.
	ErrVersion = errors.New("centroid format is newer than this program")
	// ErrDuplicateID says that two centroids would share one id.
	ErrDuplicateID = errors.New("centroid id is used twice")
	// ErrUnknownID says that a centroid to be removed is not in the set.
	ErrUnknownID = errors.New("no centroid has this id")
	// ErrShape says that an argument's length, dimension or bit count does not fit.
	ErrShape = errors.New("wrong shape")
	// ErrNotFinite says that a vector holds NaN or Inf, or is too long to work with.
	ErrNotFinite = errors.New("vector is not finite")
)
