package sprat

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/posting"
)

// saveCentroids writes the index's centroids file, which saves a start the
// reading of every posting's header. It holds nothing that the postings do not.
func (ix *Index) saveCentroids(set *centroids.Set) error {
	b, err := set.AppendBinary(nil)
	if err != nil {
		return err
	}
	w, err := ix.store.engine.Create(ix.path(centroidsFile))
	if err != nil {
		return err
	}
	if _, err = w.Write(b); err == nil {
		err = w.Sync()
	}
	return errors.Join(err, w.Close())
}

// appendCentroidRow appends a centroid as the catalog keeps those of postings
// made live: scale, squared norm, code.
func appendCentroidRow(b []byte, c posting.Centroid) []byte {
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(c.Scale))
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(c.NormSq))
	return append(b, c.Code...)
}

// loadCentroids gathers the centroids of the version's directory: the rows of
// the catalog for postings that were made live, the centroids file for those of
// the bulk build, and the headers of the postings for what neither has, which is
// how an index with a lost or damaged file comes back.
func (ix *Index) loadCentroids(v *version) error {
	live, err := centroids.NewBuilder(ix.layout.D, ix.layout.CentroidBits)
	if err != nil {
		return err
	}
	have := make([]bool, v.postings.Len())
	err = ix.store.catalog.Centroids(ix.row.ID, func(id uint32, row []byte) error {
		if int(id) >= len(have) || !exists(v, id) || len(row) < 8 {
			return fmt.Errorf("centroid row of posting %d, %d bytes", id, len(row))
		}
		have[id] = true
		le := binary.LittleEndian
		return live.AddCode(id, row[8:], math.Float32frombits(le.Uint32(row)), math.Float32frombits(le.Uint32(row[4:])))
	})
	if err != nil {
		return &CorruptionError{Path: ix.store.catalogPath(), Err: err}
	}
	base, err := ix.readCentroids()
	if err != nil {
		return err
	}
	var gone []uint32
	for row := range int32(base.Len()) {
		switch id := base.ID(row); {
		case int(id) >= len(have) || !exists(v, id) || have[id]:
			gone = append(gone, id)
		default:
			have[id] = true
		}
	}
	lost, err := ix.headerCentroids(v, have, live)
	if err != nil {
		return err
	}
	if v.set, err = base.With(live, gone...); err != nil || !lost || ix.store.opts.ReadOnly {
		return err
	}
	// The next start should not have to read the headers again.
	return errors.Join(ix.saveCentroids(v.set), ix.store.engine.SyncDir(ix.dir))
}

func exists(v *version, id uint32) bool {
	p := v.postings.At(int(id))
	return p.exists()
}

// readCentroids reads the centroids file; one that cannot be used gives an empty
// set, and why is kept for Verify.
func (ix *Index) readCentroids() (*centroids.Set, error) {
	empty, err := centroids.NewBuilder(ix.layout.D, ix.layout.CentroidBits)
	if err != nil {
		return nil, err
	}
	none, err := empty.Set()
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(ix.path(centroidsFile))
	base := none
	if err == nil {
		base, err = centroids.Decode(b)
	}
	if err == nil && (base.Dim() != ix.layout.D || base.Bits() != ix.layout.CentroidBits) {
		err = fmt.Errorf("%w: %d x %d bits", centroids.ErrCorrupt, base.Dim(), base.Bits())
	}
	if err == nil {
		return base, nil
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, centroids.ErrCorrupt) {
		return nil, err
	}
	ix.centroidsFault = err
	return none, nil
}

// headerCentroids adds the centroids of the postings that have none yet, from
// their headers, and says whether there were any.
func (ix *Index) headerCentroids(v *version, have []bool, add *centroids.Builder) (lost bool, err error) {
	var missing []uint32
	for id := range v.postings.Len() {
		if !have[id] && exists(v, uint32(id)) {
			missing = append(missing, uint32(id))
		}
	}
	if len(missing) == 0 {
		return false, nil
	}
	if ix.centroidsFault == nil {
		ix.centroidsFault = fmt.Errorf("%d postings have no centroid in it", len(missing))
	}
	ix.store.log.Warn("centroids file cannot be used; reading the posting headers", "index", ix.Name(),
		"file", ix.path(centroidsFile), "postings", len(missing), "err", ix.centroidsFault)
	return true, ix.eachPosting(context.Background(), v, missing, func(id uint32, p *posting.View) error {
		return add.AddCode(id, p.Centroid.Code, p.Centroid.Scale, p.Centroid.NormSq)
	})
}
