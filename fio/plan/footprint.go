package plan

import (
	"fmt"

	"github.com/spratdb/sprat/posting"
	"github.com/spratdb/sprat/rescore"
	"github.com/spratdb/sprat/rq"
)

// The parameters with which an index is built by default, and what they make of a
// dimension. The tests hold them to the measured sets.
const (
	postingBytes    = 40 << 10 // target size of a posting
	copies          = 4        // postings that hold a vector
	refineAbove     = 128      // dimensions above which refine records are kept
	coarseCentroids = 512      // dimensions from which centroids take 4 bits, not 8
)

// bitsFor is the bits a dimension of the codes in postings.
func bitsFor(dimension int) int {
	if dimension <= 64 {
		return 8
	}
	return min(max((2*768+dimension)/(2*dimension), 1), 4)
}

const (
	// catalogRow is what the catalog takes on the volume for a vector besides its
	// key: slot and generation, compressed. Measured 13-15 bytes with keys of 8.
	catalogRow = 6
	// directoryRow is the memory of a posting's row in the directory.
	directoryRow = 60
	// slotBytes is the memory of a vector's slot once vectors are replaced live:
	// 32 bytes for a run of 16. A bulk build needs none.
	slotBytes = 2
	// metadataInline is the most metadata, in bytes, that a record holds; longer
	// documents stand in the catalog.
	metadataInline = 256
	// baseMemory and leastMemory are what a store needs besides its indexes and
	// the least memory limit that it opens with.
	baseMemory  = 48 << 20
	leastMemory = 64 << 20
	// cacheShare of the memory that nothing else needs is the cache.
	cacheShare = 0.6
)

// Footprint is what the vectors of an index take, in bytes for each vector.
type Footprint struct {
	Raw       float64 `json:"raw"`       // 4 bytes a dimension
	Postings  float64 `json:"postings"`  // on the volume, all copies
	Refine    float64 `json:"refine"`    // on the volume
	Records   float64 `json:"records"`   // on the volume: vector, key, metadata
	Catalog   float64 `json:"catalog"`   // on the volume
	Disk      float64 `json:"disk"`      // the four together
	Centroids float64 `json:"centroids"` // in memory
	Directory float64 `json:"directory"` // in memory
	Slots     float64 `json:"slots"`     // in memory, once vectors are replaced live
	Memory    float64 `json:"memory"`    // the three together

	// VectorsPerPosting is the primary members of a posting of the target size.
	VectorsPerPosting float64 `json:"vectors_per_posting"`
}

// FootprintOf computes what a vector of the dimension takes with a key and metadata
// of so many bytes, from the engine's own layouts.
func FootprintOf(dimension, keyBytes, metadataBytes int) (Footprint, error) {
	d := rq.PaddedDim(dimension)
	bits, centroidBits := bitsFor(dimension), 8
	if d >= coarseCentroids {
		centroidBits = 4
	}
	postings, err := posting.NewLayout(0, d, bits, centroidBits)
	if err != nil {
		return Footprint{}, fmt.Errorf("footprint: %w", err)
	}
	f := Footprint{Raw: 4 * float64(dimension)}
	f.VectorsPerPosting = float64(max(postings.Capacity(postingBytes), copies)) / copies
	// An extent ends, on average, in the middle of its last 4 KiB.
	f.Postings = (postingBytes + posting.ExtentAlign/2) / f.VectorsPerPosting
	if dimension > refineAbove {
		refine, err := rescore.NewRefineLayout(d)
		if err != nil {
			return Footprint{}, fmt.Errorf("footprint: %w", err)
		}
		f.Refine = perRecord(refine.Stride)
	}
	f.Catalog = catalogRow + float64(keyBytes)
	if metadataBytes > metadataInline {
		f.Catalog += float64(metadataBytes)
	}
	inline := (min(metadataBytes, metadataInline) + 15) / 16 * 16
	f.Records = perRecord(rescore.NewRecordLayout(dimension, keyBytes, inline).Stride)
	f.Disk = f.Postings + f.Refine + f.Records + f.Catalog

	f.Centroids = centroidBytes(d, centroidBits) / f.VectorsPerPosting
	f.Directory = directoryRow / f.VectorsPerPosting
	f.Slots = slotBytes
	f.Memory = f.Centroids + f.Directory + f.Slots
	return f, nil
}

// perRecord is the bytes of the volume that a record takes, gaps included.
func perRecord(s rescore.Stride) float64 {
	if s.PerBlock == 0 {
		return float64(s.Bytes)
	}
	return posting.ExtentAlign / float64(s.PerBlock)
}

// centroidBytes is the memory of a centroid in a grouped set, which takes more
// than one in a flat set (package centroids, Set).
func centroidBytes(d, bits int) float64 {
	return float64(d*bits/8) + 12 + float64(d)/32 + 4
}
