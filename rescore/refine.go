package rescore

import (
	"encoding/binary"
	"math"

	"github.com/spratdb/sprat/internal/diskfile"
	"github.com/spratdb/sprat/rq"
)

const refineHeader = 12

// RefineLayout is the geometry of refine records.
type RefineLayout struct {
	Stride
	D     int
	coder rq.Coder
}

// NewRefineLayout lays out refine records of D-dimensional 8-bit codes.
func NewRefineLayout(d int) (RefineLayout, error) {
	coder, err := rq.NewCoder(d, 8)
	if err != nil {
		return RefineLayout{}, err
	}
	return RefineLayout{Stride: packStride(refineHeader + coder.CodeSize()), D: d, coder: coder}, nil
}

// Header is the file header that belongs to the layout.
func (l RefineLayout) Header(indexID uint32, align int) diskfile.Header {
	return diskfile.Header{
		Kind: diskfile.Refine, IndexID: indexID, Stride: uint32(l.Bytes), PerBlock: uint32(l.PerBlock),
		Dim: uint32(l.D), Align: uint32(align),
	}
}

// Encode writes the refine record of slot for the rotated vector v into dst,
// which has Stride.Bytes bytes.
func (l *RefineLayout) Encode(dst []byte, slot uint32, v []float32, ws *rq.Workspace) {
	clear(dst)
	f := l.coder.Encode(dst[refineHeader:refineHeader+l.coder.CodeSize()], v, nil, ws)
	le := binary.LittleEndian
	le.PutUint32(dst[4:], math.Float32bits(f.Add))
	le.PutUint32(dst[8:], math.Float32bits(f.Rescale))
	l.Seal(dst, slot)
}

// Seal gives an encoded record its slot.
func (l *RefineLayout) Seal(dst []byte, slot uint32) {
	binary.LittleEndian.PutUint32(dst, slotChecksum(slot, dst[4:l.Bytes]))
}

// Refiner estimates distances from refine records. It holds scratch memory and
// belongs to one query at a time.
type Refiner struct{ ws rq.Workspace }

// RefineErrorUnit is one standard deviation of a refined squared distance
// divided by |v|·|q|. An 8-bit code spans about ±3.6 standard deviations of a
// rotated component in 255 steps, so its angle to the vector is about
// 2·3.6/255/sqrt(12) = 0.0083, spread over D dimensions (RaBitQ's error model).
// TestRefineErrorUnit fails when this is optimistic.
func RefineErrorUnit(d int) float32 { return 2 * 0.0085 / float32(math.Sqrt(float64(d))) }

// Estimate checks the record of slot in src and returns the refined estimate of
// ||q-v||² with its standard deviation. Errors are *CorruptError without their
// place.
func (r *Refiner) Estimate(l *RefineLayout, src []byte, slot uint32, q *rq.Query) (est, sigma float32, err error) {
	if len(src) < l.Bytes {
		return 0, 0, corrupt(slot, "%d bytes, want %d", len(src), l.Bytes)
	}
	le := binary.LittleEndian
	if got, want := slotChecksum(slot, src[4:l.Bytes]), le.Uint32(src); got != want {
		return 0, 0, corrupt(slot, "checksum %#08x, want %#08x", got, want)
	}
	add := [1]float32{math.Float32frombits(le.Uint32(src[4:]))}
	rescale := [1]float32{math.Float32frombits(le.Uint32(src[8:]))}
	var dst [1]float32
	l.coder.Estimate(dst[:], q, q.NormSq(), src[refineHeader:refineHeader+l.coder.CodeSize()], add[:], rescale[:], &r.ws)
	// An uncentred code's Add is |v|².
	sigma = RefineErrorUnit(l.D) * float32(math.Sqrt(float64(max(add[0], 0))*float64(q.NormSq())))
	return max(dst[0], 0), sigma, nil
}
