package ops

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spratdb/sprat"
)

// figure is one number of a T and the metric that shows it.
type figure[T any] struct {
	name, help string
	kind       prometheus.ValueType
	of         func(*T) float64
}

// number makes a float64 of any number or truth.
func number[N int | int64 | uint64 | float64 | bool](n N) float64 {
	switch v := any(n).(type) {
	case bool:
		if v {
			return 1
		}
		return 0
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

func gauge[T any, N int | int64 | uint64 | float64 | bool](name, help string, of func(*T) N) figure[T] {
	return figure[T]{name, help, prometheus.GaugeValue, func(t *T) float64 { return number(of(t)) }}
}

func counter[T any, N int | int64 | uint64](name, help string, of func(*T) N) figure[T] {
	return figure[T]{name, help, prometheus.CounterValue, func(t *T) float64 { return number(of(t)) }}
}

type (
	store = sprat.StoreStats
	index = sprat.IndexStats
	tier  = sprat.TierStats
)

// storeFigures are those without labels.
var storeFigures = []figure[store]{
	gauge("memory_limit_bytes", "Memory that the store promises to stay within.", func(s *store) int64 { return s.MemoryLimit }),
	gauge("catalog_disk_bytes", "Size of the catalog on the volume.", func(s *store) int64 { return s.CatalogDisk }),
	gauge("indexes", "Indexes that can be used.", func(s *store) int { return len(s.Indexes) }),
	gauge("io_direct", "1 when the page cache is bypassed.", func(s *store) bool { return s.IO.Direct }),
	gauge("io_mem_align_bytes", "Alignment that direct I/O wants of memory.", func(s *store) int { return s.IO.MemAlign }),
	gauge("io_offset_align_bytes", "Alignment to which reads are rounded.", func(s *store) int { return s.IO.OffsetAlign }),
	gauge("io_depth", "Most reads with the kernel at one time.", func(s *store) int { return s.IO.Depth }),

	counter("volume_reads_total", "Operations of the volume.", func(s *store) int64 { return s.Volume.Reads }),
	counter("volume_read_bytes_total", "Bytes read from the volume.", func(s *store) int64 { return s.Volume.Bytes }),
	counter("volume_waves_total", "Sets of reads submitted together.", func(s *store) int64 { return s.Volume.Waves }),
	counter("volume_read_errors_total", "Reads that failed.", func(s *store) int64 { return s.Volume.Errors }),
	counter("volume_cancelled_total", "Reads of these that were dropped unread.", func(s *store) int64 { return s.Volume.Cancelled }),
	counter("volume_retries_total", "Reads that were tried again.", func(s *store) int64 { return s.Volume.Retries }),
	counter("volume_short_reads_total", "Reads that returned less than was needed.", func(s *store) int64 { return s.Volume.ShortReads }),
	counter("volume_queue_waits_total", "Waves that waited because the queue was full.", func(s *store) int64 { return s.Volume.QueueWaits }),
	counter("volume_enters_total", "Calls of io_uring_enter.", func(s *store) int64 { return s.Volume.Enters }),
	counter("volume_wakes_total", "Wake-ups of sleeping rings.", func(s *store) int64 { return s.Volume.Wakes }),
	counter("volume_lane_waves_total", "Waves that their caller carried out itself.", func(s *store) int64 { return s.Volume.LaneWaves }),
	gauge("volume_queued", "Reads waiting for admission.", func(s *store) int64 { return s.Volume.Queued }),
	gauge("volume_in_flight", "Reads with the kernel.", func(s *store) int64 { return s.Volume.InFlight }),
	gauge("volume_in_flight_limit", "Reads that are let in at one time.", func(s *store) int64 { return s.Volume.InFlightLimit }),
	gauge("volume_in_flight_max", "Most reads that were ever with the kernel.", func(s *store) int64 { return s.Volume.InFlightMax }),
	gauge("volume_buffer_in_use_bytes", "Buffers being read into or held.", func(s *store) int64 { return s.Volume.BufferInUse }),
	gauge("volume_buffer_pooled_bytes", "Buffers kept for later.", func(s *store) int64 { return s.Volume.BufferPooled }),
	gauge("volume_buffer_mapped_bytes", "Memory mapped for buffers.", func(s *store) int64 { return s.Volume.BufferMapped }),
	gauge("volume_buffer_max_bytes", "Most buffers that were ever in use.", func(s *store) int64 { return s.Volume.BufferMax }),
	gauge("volume_buffer_fixed_bytes", "Buffers registered with rings.", func(s *store) int64 { return s.Volume.BufferFixed }),
}

// tierFigures have the label tier.
var tierFigures = []figure[tier]{
	gauge("cache_share_bytes", "What a tier of the cache may take.", func(t *tier) int64 { return t.Share }),
	gauge("cache_used_bytes", "What a tier of the cache takes.", func(t *tier) int64 { return t.Used }),
	counter("cache_hits_total", "Blocks found in a tier of the cache.", func(t *tier) int64 { return t.Hits }),
	counter("cache_misses_total", "Blocks not found in a tier of the cache.", func(t *tier) int64 { return t.Misses }),
}

// indexFigures have the label index, "bucket/index".
var indexFigures = []figure[index]{
	gauge("index_dimension", "Components of a vector.", func(x *index) int { return x.Dimension }),
	gauge("index_vectors", "Vectors.", func(x *index) uint64 { return x.Vectors }),
	gauge("index_postings", "Postings.", func(x *index) int { return x.Postings }),
	gauge("index_entries", "Entries of postings, copies included.", func(x *index) uint64 { return x.Entries }),
	gauge("index_replicas_mean", "Entries of a vector.", func(x *index) float64 { return x.ReplicasMean }),
	gauge("index_bits", "Bits of an entry's code, per dimension.", func(x *index) int { return x.Bits }),
	gauge("index_centroid_bits", "Bits of a centroid's code, per dimension.", func(x *index) int { return x.CentroidBits }),
	gauge("index_refine_tier", "1 when there are refine records.", func(x *index) bool { return x.RefineTier }),
	gauge("index_posting_bytes_mean", "Size of a posting.", func(x *index) float64 { return x.PostingBytesMean }),
	gauge("index_posting_bytes_max", "Size of the largest posting.", func(x *index) int { return x.PostingBytesMax }),
	gauge("index_damaged", "Postings and records that could not be read.", func(x *index) int { return len(x.Damaged) }),
	gauge("index_dial_recall_target", "Recall that queries aim at while no cap is set.", func(x *index) float64 { return x.Dials.RecallTarget }),
	gauge("index_dial_search_probe", "Cap on the postings of a query.", func(x *index) int { return x.Dials.SearchProbe }),
	gauge("index_dial_rescore_limit", "Cap on the candidates of a query.", func(x *index) int { return x.Dials.RescoreLimit }),

	gauge("index_upkeep_delta_entries", "Entries that are not in their extents yet.", func(x *index) int { return x.Upkeep.DeltaEntries }),
	gauge("index_upkeep_landed", "Vectors whose records are not in their slots yet.", func(x *index) int { return x.Upkeep.Landed }),
	gauge("index_upkeep_landed_bytes", "Size of landing segments.", func(x *index) int64 { return x.Upkeep.LandedBytes }),
	gauge("index_upkeep_queued", "Postings that need work.", func(x *index) int { return x.Upkeep.Queued }),
	gauge("index_upkeep_draining", "Postings that are being given up.", func(x *index) int { return x.Upkeep.Draining }),
	gauge("index_upkeep_unchecked", "Postings whose members are to be compared.", func(x *index) int { return x.Upkeep.Unchecked }),
	gauge("index_upkeep_dead_slots", "Slots given out that hold nothing live.", func(x *index) uint64 { return x.Upkeep.DeadSlots }),
	gauge("index_upkeep_debt", "Backlog of maintenance; 1 stops writers.", func(x *index) float64 { return x.Upkeep.Debt }),
	counter("index_upkeep_steps_total", "Steps of maintenance since the store was opened.", func(x *index) uint64 { return x.Upkeep.Steps }),
	gauge("index_upkeep_fault", "1 when a fault keeps maintenance from going on.", func(x *index) bool { return x.Upkeep.Fault != "" }),
}

// diskParts have the labels index and part.
var diskParts = []figure[index]{
	gauge("postings", "", func(x *index) int64 { return x.Disk.Postings }),
	gauge("refine", "", func(x *index) int64 { return x.Disk.Refine }),
	gauge("records", "", func(x *index) int64 { return x.Disk.Records }),
	gauge("centroids", "", func(x *index) int64 { return x.Disk.Centroids }),
	gauge("landing", "", func(x *index) int64 { return x.Disk.Landing }),
	gauge("catalog", "", func(x *index) int64 { return x.Disk.Catalog }),
	gauge("total", "", func(x *index) int64 { return x.Disk.Total }),
}

// presetFigures have the labels index and recall.
var presetFigures = []figure[sprat.Preset]{
	gauge("index_preset_search_probe", "Cap on postings that reached a recall.", func(p *sprat.Preset) int { return p.SearchProbe }),
	gauge("index_preset_rescore_limit", "Cap on candidates that reached a recall.", func(p *sprat.Preset) int { return p.RescoreLimit }),
	gauge("index_preset_reads", "Reads expected of a query at a recall.", func(p *sprat.Preset) float64 { return p.Reads }),
	gauge("index_preset_found", "Share of neighbours in the postings read at a recall.", func(p *sprat.Preset) float64 { return p.Found }),
	gauge("index_preset_eps", "Bound of the rescoring at a recall, in sigmas.", func(p *sprat.Preset) float64 { return p.Eps }),
}
