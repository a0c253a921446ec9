package wire

import (
	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
)

// StoreStats is the message of the figures of a store.
func StoreStats(s *sprat.StoreStats) *spratv1.StoreStats {
	m := &spratv1.StoreStats{
		Directory: s.Directory, MemoryLimit: s.MemoryLimit, Memory: s.Memory, Budget: s.Budget, CatalogDisk: s.CatalogDisk,
		Broken: s.Broken,
		Io: &spratv1.IOInfo{
			Engine: s.IO.Engine, Ring: s.IO.Ring, Direct: s.IO.Direct, MemAlign: Int32(s.IO.MemAlign),
			OffsetAlign: Int32(s.IO.OffsetAlign), Depth: Int32(s.IO.Depth), Cause: s.IO.Cause,
		},
		Volume: volume(s),
	}
	if len(s.Cache) > 0 {
		m.Cache = make(map[string]*spratv1.CacheTier, len(s.Cache))
	}
	for name, t := range s.Cache {
		m.Cache[name] = &spratv1.CacheTier{Share: t.Share, Used: t.Used, Hits: t.Hits, Misses: t.Misses}
	}
	for i := range s.Indexes {
		m.Indexes = append(m.Indexes, IndexStats(&s.Indexes[i]))
	}
	return m
}

func volume(s *sprat.StoreStats) *spratv1.VolumeStats {
	v := &s.Volume
	return &spratv1.VolumeStats{
		Reads: v.Reads, Bytes: v.Bytes, Waves: v.Waves, Errors: v.Errors, Cancelled: v.Cancelled, Retries: v.Retries,
		ShortReads: v.ShortReads, QueueWaits: v.QueueWaits, Enters: v.Enters, Wakes: v.Wakes, LaneWaves: v.LaneWaves,
		Queued: v.Queued, InFlight: v.InFlight, InFlightLimit: v.InFlightLimit, InFlightMax: v.InFlightMax,
		BufferInUse: v.BufferInUse, BufferPooled: v.BufferPooled, BufferMapped: v.BufferMapped, BufferMax: v.BufferMax,
		BufferFixed: v.BufferFixed, BufferCause: v.BufferCause,
	}
}

// StoreStatsOf are the figures of a message.
func StoreStatsOf(m *spratv1.StoreStats) sprat.StoreStats {
	s := sprat.StoreStats{
		Directory: m.GetDirectory(), MemoryLimit: m.GetMemoryLimit(), Memory: m.GetMemory(), Budget: m.GetBudget(),
		CatalogDisk: m.GetCatalogDisk(), Broken: m.GetBroken(),
	}
	io := m.GetIo()
	s.IO.Engine, s.IO.Ring, s.IO.Direct, s.IO.Cause = io.GetEngine(), io.GetRing(), io.GetDirect(), io.GetCause()
	s.IO.MemAlign, s.IO.OffsetAlign, s.IO.Depth = int(io.GetMemAlign()), int(io.GetOffsetAlign()), int(io.GetDepth())
	volumeOf(m.GetVolume(), &s)
	if len(m.GetCache()) > 0 {
		s.Cache = make(map[string]sprat.TierStats, len(m.GetCache()))
	}
	for name, t := range m.GetCache() {
		s.Cache[name] = sprat.TierStats{Share: t.GetShare(), Used: t.GetUsed(), Hits: t.GetHits(), Misses: t.GetMisses()}
	}
	for _, x := range m.GetIndexes() {
		s.Indexes = append(s.Indexes, IndexStatsOf(x))
	}
	return s
}

func volumeOf(m *spratv1.VolumeStats, s *sprat.StoreStats) {
	v := &s.Volume
	v.Reads, v.Bytes, v.Waves, v.Errors = m.GetReads(), m.GetBytes(), m.GetWaves(), m.GetErrors()
	v.Cancelled, v.Retries, v.ShortReads, v.QueueWaits = m.GetCancelled(), m.GetRetries(), m.GetShortReads(), m.GetQueueWaits()
	v.Enters, v.Wakes, v.LaneWaves = m.GetEnters(), m.GetWakes(), m.GetLaneWaves()
	v.Queued, v.InFlight, v.InFlightLimit, v.InFlightMax = m.GetQueued(), m.GetInFlight(), m.GetInFlightLimit(), m.GetInFlightMax()
	v.BufferInUse, v.BufferPooled, v.BufferMapped = m.GetBufferInUse(), m.GetBufferPooled(), m.GetBufferMapped()
	v.BufferMax, v.BufferFixed, v.BufferCause = m.GetBufferMax(), m.GetBufferFixed(), m.GetBufferCause()
}

// IndexStats is the message of the figures of an index.
func IndexStats(s *sprat.IndexStats) *spratv1.IndexStats {
	d, u := &s.Disk, &s.Upkeep
	m := &spratv1.IndexStats{
		Name: s.Name, Dimension: Int32(s.Dimension), Metric: s.Metric, Vectors: s.Vectors, Postings: int64(s.Postings),
		Entries: s.Entries, ReplicasMean: s.ReplicasMean, Bits: Int32(s.Bits), CentroidBits: Int32(s.CentroidBits),
		RefineTier: s.RefineTier, PostingBytesMean: s.PostingBytesMean, PostingBytesMax: int64(s.PostingBytesMax),
		Memory: s.Memory, Dials: Dials(s.Dials), Damaged: s.Damaged,
		Disk: &spratv1.DiskStats{
			Postings: d.Postings, Refine: d.Refine, Records: d.Records, Centroids: d.Centroids, Landing: d.Landing,
			Catalog: d.Catalog, Total: d.Total,
		},
		Upkeep: &spratv1.UpkeepStats{
			DeltaEntries: int64(u.DeltaEntries), Landed: int64(u.Landed), LandedBytes: u.LandedBytes, Queued: int64(u.Queued),
			Draining: int64(u.Draining), Unchecked: int64(u.Unchecked), DeadSlots: u.DeadSlots, Debt: u.Debt, Steps: u.Steps,
			Fault: u.Fault,
		},
	}
	for _, p := range s.Presets {
		m.Presets = append(m.Presets, &spratv1.Preset{
			Recall: p.Recall, SearchProbe: Int32(p.SearchProbe), RescoreLimit: Int32(p.RescoreLimit), Reads: p.Reads,
			Found: p.Found, Eps: p.Eps,
		})
	}
	return m
}

// IndexStatsOf are the figures of a message.
func IndexStatsOf(m *spratv1.IndexStats) sprat.IndexStats {
	d, u := m.GetDisk(), m.GetUpkeep()
	s := sprat.IndexStats{
		Name: m.GetName(), Dimension: int(m.GetDimension()), Metric: m.GetMetric(), Vectors: m.GetVectors(),
		Postings: int(m.GetPostings()), Entries: m.GetEntries(), ReplicasMean: m.GetReplicasMean(), Bits: int(m.GetBits()),
		CentroidBits: int(m.GetCentroidBits()), RefineTier: m.GetRefineTier(), PostingBytesMean: m.GetPostingBytesMean(),
		PostingBytesMax: int(m.GetPostingBytesMax()), Memory: m.GetMemory(), Dials: DialsOf(m.GetDials()), Damaged: m.GetDamaged(),
		Disk: sprat.DiskStats{
			Postings: d.GetPostings(), Refine: d.GetRefine(), Records: d.GetRecords(), Centroids: d.GetCentroids(),
			Landing: d.GetLanding(), Catalog: d.GetCatalog(), Total: d.GetTotal(),
		},
		Upkeep: sprat.UpkeepStats{
			DeltaEntries: int(u.GetDeltaEntries()), Landed: int(u.GetLanded()), LandedBytes: u.GetLandedBytes(),
			Queued: int(u.GetQueued()), Draining: int(u.GetDraining()), Unchecked: int(u.GetUnchecked()),
			DeadSlots: u.GetDeadSlots(), Debt: u.GetDebt(), Steps: u.GetSteps(), Fault: u.GetFault(),
		},
	}
	for _, p := range m.GetPresets() {
		s.Presets = append(s.Presets, sprat.Preset{
			Recall: p.GetRecall(), SearchProbe: int(p.GetSearchProbe()), RescoreLimit: int(p.GetRescoreLimit()),
			Reads: p.GetReads(), Found: p.GetFound(), Eps: p.GetEps(),
		})
	}
	return s
}
