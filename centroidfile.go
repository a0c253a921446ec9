package sprat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spratdb/sprat/centroids"
	"github.com/spratdb/sprat/iopath"
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

// loadCentroids reads the centroids file; when it is missing, damaged or not of
// this directory, it rebuilds the centroids from the posting headers.
func (ix *Index) loadCentroids() error {
	b, err := os.ReadFile(ix.path(centroidsFile))
	if err == nil {
		ix.centroids, err = centroids.Decode(b)
	}
	if err == nil {
		err = ix.checkCentroids()
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, centroids.ErrCorrupt) && !errors.Is(err, errMismatch) {
		return err
	}
	ix.store.log.Warn("centroids file cannot be used; reading the posting headers",
		"index", ix.Name(), "file", ix.path(centroidsFile), "err", err)
	ix.centroidsFault = err
	return ix.rebuildCentroids()
}

var errMismatch = errors.New("centroids do not match the posting directory")

// checkCentroids compares the centroids with geometry and directory.
func (ix *Index) checkCentroids() error {
	c := ix.centroids
	if c.Len() != ix.directory.Len() || c.Dim() != ix.layout.D || c.Bits() != ix.layout.CentroidBits {
		return fmt.Errorf("%w: %d of %d x %d bits, %d postings of %d x %d bits", errMismatch,
			c.Len(), c.Dim(), c.Bits(), ix.directory.Len(), ix.layout.D, ix.layout.CentroidBits)
	}
	for row := range int32(c.Len()) {
		if _, ok := ix.directory.Get(c.ID(row)); !ok {
			return fmt.Errorf("%w: posting %d has no extent", errMismatch, c.ID(row))
		}
	}
	return nil
}

// rebuildCentroids reads every posting and takes its centroid.
func (ix *Index) rebuildCentroids() error {
	sb, err := centroids.NewBuilder(ix.layout.D, ix.layout.CentroidBits)
	if err != nil {
		return err
	}
	err = ix.eachPosting(func(id uint32, v *posting.View) error {
		return sb.AddCode(id, v.Centroid.Code, v.Centroid.Scale, v.Centroid.NormSq)
	})
	if err != nil {
		return err
	}
	if ix.centroids, err = sb.Set(); err != nil {
		return err
	}
	if ix.store.opts.ReadOnly {
		return nil
	}
	return errors.Join(ix.saveCentroids(ix.centroids), iopath.SyncDir(ix.dir))
}
