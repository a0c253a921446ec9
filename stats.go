package sprat

import (
	"errors"
	"math/bits"
	"os"
	"path/filepath"

	"github.com/spratdb/sprat/iopath"
)

// IndexStats describe an index at one moment. Sizes are bytes.
type IndexStats struct {
	Name         string  `json:"name"`
	Dimension    int     `json:"dimension"`
	Metric       string  `json:"metric"`
	Vectors      uint64  `json:"vectors"`
	Postings     int     `json:"postings"`
	Entries      uint64  `json:"entries"`       // posting entries, copies included
	ReplicasMean float64 `json:"replicas_mean"` // entries per vector
	Bits         int     `json:"bits"`          // of a posting entry's code, per dimension
	CentroidBits int     `json:"centroid_bits"`
	RefineTier   bool    `json:"refine_tier"`

	PostingBytesMean float64 `json:"posting_bytes_mean"`
	PostingBytesMax  int     `json:"posting_bytes_max"`

	Disk   DiskStats        `json:"disk"`
	Memory map[string]int64 `json:"memory"`
	Dials  Dials            `json:"dials"`
	// Damaged describes postings and records that could not be read; Repair deals
	// with them.
	Damaged []string `json:"damaged,omitempty"`
	// Upkeep is what maintenance has not done yet.
	Upkeep UpkeepStats `json:"upkeep"`
	// Presets are the dials that reached these recalls on the calibration sample.
	Presets []Preset `json:"presets,omitempty"`
}

// UpkeepStats is the backlog of maintenance behind the writers of an index.
type UpkeepStats struct {
	DeltaEntries int     `json:"delta_entries"` // of postings, not in their extents yet
	Landed       int     `json:"landed"`        // vectors whose records are not in their slots yet
	LandedBytes  int64   `json:"landed_bytes"`  // of landing segments
	Queued       int     `json:"queued"`        // postings that need work
	Draining     int     `json:"draining"`      // postings that are being given up
	Unchecked    int     `json:"unchecked"`     // postings whose members are to be compared with those around
	DeadSlots    uint64  `json:"dead_slots"`    // slots given out that hold nothing live
	Debt         float64 `json:"debt"`          // 1 stops writers
	Steps        uint64  `json:"steps"`         // done since the store was opened
	Fault        string  `json:"fault,omitempty"`
}

func (ix *Index) upkeepStats(v *version) UpkeepStats {
	st := UpkeepStats{DeadSlots: v.state.Slots - v.state.Vectors}
	for id := range v.postings.Len() {
		p := v.postings.At(id)
		st.DeltaEntries += p.delta.Len()
		if p.flags&draining != 0 {
			st.Draining++
		}
		if p.flags&unchecked != 0 {
			st.Unchecked++
		}
	}
	for r := range v.runs.Len() {
		x := v.runs.At(r)
		st.Landed += bits.OnesCount16(x.landed)
	}
	for _, s := range v.segments {
		if n, err := s.file.Size(); err == nil {
			st.LandedBytes += n
		}
	}
	if ix.writer == nil {
		return st
	}
	u := ix.writer.upkeep
	st.Queued = u.queue.Len()
	debt, _ := u.debt()
	st.Debt = debt
	u.mu.Lock()
	defer u.mu.Unlock()
	st.Steps = u.mu.steps
	if u.mu.fault != nil && !errors.Is(u.mu.fault, ErrClosed) {
		st.Fault = u.mu.fault.Error()
	}
	return st
}

// DiskStats are the bytes that an index takes on the volume.
type DiskStats struct {
	Postings  int64 `json:"postings"`
	Refine    int64 `json:"refine"`
	Records   int64 `json:"records"`
	Centroids int64 `json:"centroids"`
	Landing   int64 `json:"landing"` // records that are not in their slots yet
	Catalog   int64 `json:"catalog"` // keys, slots and directory, estimated
	Total     int64 `json:"total"`
}

// Stats describes the index.
func (ix *Index) Stats() IndexStats {
	ix.users.RLock()
	defer ix.users.RUnlock()
	v := ix.acquire()
	defer v.release()
	st := IndexStats{
		Name: ix.Name(), Dimension: ix.row.Dimension, Metric: ix.row.Metric, Vectors: v.state.Vectors,
		Postings: int(v.state.Postings), Entries: v.state.Entries, Bits: ix.row.Bits,
		CentroidBits: ix.row.CentroidBits, RefineTier: ix.row.RefineTier,
		Disk:    ix.diskStats(),
		Memory:  v.memoryBytes(),
		Dials:   *ix.dials.Load(),
		Presets: v.calib.Presets,
		Damaged: ix.damage.list(),
		Upkeep:  ix.upkeepStats(v),
	}
	st.Memory["filters"] = ix.filterSets.size()
	if st.Vectors > 0 {
		st.ReplicasMean = float64(st.Entries) / float64(st.Vectors)
	}
	var sum int64
	for id := range v.postings.Len() {
		if p := v.postings.At(id); p.exists() {
			n := int(p.extent.Bytes) + p.delta.Len()*ix.layout.EntryBytes()
			sum += int64(n)
			st.PostingBytesMax = max(st.PostingBytesMax, n)
		}
	}
	if st.Postings > 0 {
		st.PostingBytesMean = float64(sum) / float64(st.Postings)
	}
	return st
}

func (ix *Index) diskStats() DiskStats {
	size := func(name string) int64 {
		fi, err := os.Stat(ix.path(name))
		if err != nil {
			return 0
		}
		return fi.Size()
	}
	d := DiskStats{Postings: size(postingsFile), Refine: size(refineFile), Records: size(recordsFile), Centroids: size(centroidsFile)}
	if !ix.closed {
		if n, err := ix.store.catalog.DiskBytes(ix.row.ID); err == nil {
			d.Catalog = n // an estimate; a catalog that cannot give one fails elsewhere
		}
	}
	for _, s := range ix.current.Load().segments {
		d.Landing += size(filepath.Base(s.path))
	}
	d.Total = d.Postings + d.Refine + d.Records + d.Centroids + d.Landing + d.Catalog
	return d
}

// StoreStats describe a store at one moment. Sizes are bytes.
type StoreStats struct {
	Directory   string           `json:"directory"`
	MemoryLimit int64            `json:"memory_limit"`
	Memory      map[string]int64 `json:"memory"`
	CatalogDisk int64            `json:"catalog_disk_bytes"`
	// Budget is how the memory limit is divided at the moment: what each part may
	// take. "heap" is the limit of the Go runtime, 0 when it has none.
	Budget map[string]int64 `json:"budget"`
	// Cache is the tiers of the cache, by kind of block; none without a cache.
	Cache   map[string]TierStats `json:"cache,omitempty"`
	IO      iopath.Info          `json:"io"`
	Volume  iopath.Stats         `json:"volume"`
	Indexes []IndexStats         `json:"indexes"`
	// Broken names the indexes that could not be opened, with the reason.
	Broken map[string]string `json:"broken,omitempty"`
}

// Stats describes the store and its indexes. Errors: ErrClosed.
func (s *Store) Stats() (StoreStats, error) {
	names, err := s.Indexes()
	if err != nil {
		return StoreStats{}, err
	}
	leave, err := s.enter()
	if err != nil {
		return StoreStats{}, err
	}
	defer leave()
	st := StoreStats{
		Directory: s.dir, MemoryLimit: s.opts.MemoryLimit, IO: s.engine.Info(), Volume: s.engine.Stats(),
		CatalogDisk: s.catalog.Size(),
		Memory:      map[string]int64{"catalog": s.catalog.MemoryBytes(), "cache": s.cache.memoryBytes()},
		Budget: map[string]int64{
			"program": baseMemory, "indexes": s.memoryHeld(), "builds": s.reservedMemory(), "queries": s.admission.most,
			"buffers": s.admission.most, "cache": 0, "heap": heapLimit(),
		},
		Cache: s.cache.stats(),
	}
	if s.cache != nil {
		st.Budget["cache"] = s.cacheBudget()
	}
	for _, full := range names {
		ix, err := s.opened(full)
		if errors.Is(err, ErrNotFound) {
			continue // dropped since
		}
		if err != nil {
			if st.Broken == nil {
				st.Broken = map[string]string{}
			}
			st.Broken[full] = err.Error()
			continue
		}
		is := ix.Stats()
		for k, v := range is.Memory {
			st.Memory[k] += v
		}
		st.Indexes = append(st.Indexes, is)
	}
	return st, nil
}
