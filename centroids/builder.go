package centroids

import (
	"fmt"
	"math"
	"slices"

	"github.com/spratdb/sprat/rq"
	"github.com/spratdb/sprat/rq/simd"
)

// Builder gathers centroids, to make a Set of them or to add them to one with
// Set.With. It is for one goroutine.
type Builder struct {
	coder  rq.CentroidCoder
	blocks []*block
	code   []byte // scratch
}

// NewBuilder returns an empty Builder for centroids of dim dimensions (a multiple
// of 8, rq.PaddedDim of what was rotated) in 4 or 8 bits each. Other values are
// rq.ErrDimension or rq.ErrBits.
func NewBuilder(dim, bits int) (*Builder, error) {
	coder, err := rq.NewCentroidCoder(dim, bits)
	if err != nil {
		return nil, fmt.Errorf("centroid builder: %w", err)
	}
	return newBuilder(coder), nil
}

func newBuilder(coder rq.CentroidCoder) *Builder {
	return &Builder{coder: coder, code: make([]byte, coder.CodeSize())}
}

// Add encodes the rotated vector v (len D) as the centroid id. What the set then
// holds, and calls the centroid, is the decoded code. A wrong length is ErrShape,
// a NaN, Inf or component near the largest float32 is ErrNotFinite; nothing is added
// then.
func (b *Builder) Add(id uint32, v []float32) error {
	if len(v) != b.coder.D() {
		return fmt.Errorf("centroid %d of %d dimensions, want %d: %w", id, len(v), b.coder.D(), ErrShape)
	}
	if sum := simd.SumSqF64(v); math.IsNaN(sum) || math.IsInf(sum, 0) {
		return fmt.Errorf("centroid %d: %w", id, ErrNotFinite)
	}
	scale, normSq := b.coder.EncodeParts(b.code, v)
	if !validFactors(b.coder, scale, normSq) {
		return fmt.Errorf("centroid %d: %w", id, ErrNotFinite)
	}
	b.push(id, b.code, scale, normSq)
	return nil
}

// AddCode adds a centroid in the parts that Set.Code gave, which are copied. A
// code of the wrong length is ErrShape; a scale or norm that no code can have
// (negative, NaN, too large) is ErrCorrupt; nothing is added then.
func (b *Builder) AddCode(id uint32, code []byte, scale, normSq float32) error {
	if len(code) != b.coder.CodeSize() {
		return fmt.Errorf("centroid %d: code of %d bytes, want %d: %w", id, len(code), b.coder.CodeSize(), ErrShape)
	}
	if !validFactors(b.coder, scale, normSq) {
		return fmt.Errorf("centroid %d: scale %v, squared norm %v: %w", id, scale, normSq, ErrCorrupt)
	}
	b.push(id, code, scale, normSq)
	return nil
}

// validFactors tells whether a code can have this scale and squared norm, and
// decodes to finite numbers.
func validFactors(coder rq.CentroidCoder, scale, normSq float32) bool {
	largest := float64(scale) * (math.Pow(2, float64(coder.Bits())) - 1) / 2
	return scale >= 0 && largest <= math.MaxFloat32 && normSq >= 0 && normSq <= math.MaxFloat32
}

func (b *Builder) push(id uint32, code []byte, scale, normSq float32) {
	if n := len(b.blocks); n == 0 || len(b.blocks[n-1].ids) == blockRows {
		b.blocks = append(b.blocks, &block{}) // grows on demand: most sets are small
	}
	b.blocks[len(b.blocks)-1].push(id, code, scale, normSq)
}

// Len returns the number of centroids added.
func (b *Builder) Len() int {
	if len(b.blocks) == 0 {
		return 0
	}
	return (len(b.blocks)-1)*blockRows + len(b.blocks[len(b.blocks)-1].ids)
}

// Set returns the centroids added so far and empties the Builder. Rows are in the
// order of the calls, but for more than 20,000 centroids, which are grouped (a few
// seconds of work on all processors). Two centroids with one id are
// ErrDuplicateID; the Builder then keeps what it has.
func (b *Builder) Set() (*Set, error) {
	if err := uniqueIDs(b.blocks, b.Len()); err != nil {
		return nil, err
	}
	s := b.flat()
	if s.Len() > exactRows {
		return group(s)
	}
	return s, nil
}

// flat returns the centroids as a flat set and empties the Builder. Ids are not
// looked at.
func (b *Builder) flat() *Set {
	for i, blk := range b.blocks {
		b.blocks[i] = blk.fitted(b.coder.CodeSize())
	}
	s := newSet(b.coder, b.blocks)
	b.blocks = nil
	return s
}

// uniqueIDs returns ErrDuplicateID when two of the n rows of blocks share an id.
func uniqueIDs(blocks []*block, n int) error {
	ids := make([]uint32, 0, n)
	for _, b := range blocks {
		ids = append(ids, b.ids...)
	}
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			return fmt.Errorf("centroid %d: %w", ids[i], ErrDuplicateID)
		}
	}
	return nil
}
