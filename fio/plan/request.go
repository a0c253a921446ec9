package plan

import (
	"fmt"
	"math"
)

// Request is what is to be planned for. Zero values stand for what the field says.
type Request struct {
	Vectors   int64   `json:"vectors"`   // 1 to 4,000,000,000
	Dimension int     `json:"dimension"` // 1 to 4,096
	Metric    string  `json:"metric"`    // cosine, euclidean or dot
	K         int     `json:"k"`         // results of a query, 1 to 10,000; 0 is 10
	Recall    float64 `json:"recall"`    // above 0, up to MostRecall; with Own.Reads below 1
	QPS       float64 `json:"qps"`       // queries per second, above 0, up to 10,000,000

	Clients       int   `json:"clients"`        // that wait for their answers; 0: enough of them
	MemoryLimit   int64 `json:"memory_limit"`   // bytes; 0: the least, with no cache
	Cores         int   `json:"cores"`          // 0: as many as it takes
	KeyBytes      int   `json:"key_bytes"`      // 1 to 1,024; 0 is 8
	MetadataBytes int   `json:"metadata_bytes"` // of a vector, 0 to 40,960
	MaxVolumes    int   `json:"max_volumes"`    // striped volumes of a store, 1 to 64; 0 is 1

	// Like names the measured set whose queries these resemble. "" interpolates
	// between the sets by the dimension.
	Like string `json:"like,omitempty"`
	// Own replaces the model of a query's cost, field by field.
	Own Own `json:"own"`
}

// Own is what a query was measured to cost, all caches included; 0 where it was
// not measured.
type Own struct {
	Reads float64 `json:"reads,omitempty"`  // operations of the volume
	KiB   float64 `json:"kib,omitempty"`    // from the volume
	CPUMS float64 `json:"cpu_ms,omitempty"` // of one core
	From  string  `json:"from,omitempty"`   // where they come from, in words
}

const (
	// reserve of a volume's IOPS and throughput is not planned with: gp3 promises 90
	// % of what is provisioned, 99 % of the time.
	reserve = 0.1
	// freeSpace of a volume is not planned with: maintenance writes postings anew
	// before it frees the old ones, and the file system takes its part.
	freeSpace = 0.2
	// busyShare of the processors is planned with. Beyond it queries queue.
	busyShare = 0.8
)

func (r Request) withDefaults() Request {
	if r.K == 0 {
		r.K = 10
	}
	if r.KeyBytes == 0 {
		r.KeyBytes = 8
	}
	if r.MaxVolumes == 0 {
		r.MaxVolumes = 1
	}
	return r
}

func (r *Request) validate() error {
	for _, f := range []struct {
		field     string
		value     float64
		low, high float64
	}{
		{"vectors", float64(r.Vectors), 1, 4e9},
		{"dimension", float64(r.Dimension), 1, 4096},
		{"k", float64(r.K), 1, 10_000},
		{"qps", r.QPS, 1e-3, 1e7},
		{"clients", float64(r.Clients), 0, 1e9},
		{"cores", float64(r.Cores), 0, 1e6},
		{"memory", float64(r.MemoryLimit), 0, math.MaxInt64},
		{"key-bytes", float64(r.KeyBytes), 1, 1024},
		{"metadata-bytes", float64(r.MetadataBytes), 0, 40 << 10},
		{"max-volumes", float64(r.MaxVolumes), 1, 64},
		{"reads", r.Own.Reads, 0, 1e6},
		{"kib", r.Own.KiB, 0, 1e9},
		{"cpu-ms", r.Own.CPUMS, 0, 1e6},
	} {
		if !(f.value >= f.low && f.value <= f.high) {
			return badRequest(f.field, fmt.Sprintf("%s to %s", plain(f.low), plain(f.high)), plain(f.value))
		}
	}
	switch r.Metric {
	case "cosine", "euclidean", "dot":
	default:
		return badRequest("metric", "cosine, euclidean or dot", fmt.Sprintf("%q", r.Metric))
	}
	most := MostRecall
	if r.Own.Reads > 0 && r.Own.KiB > 0 && r.Own.CPUMS > 0 {
		most = 1 // the model is not asked
	}
	if !(r.Recall > 0 && r.Recall <= most) {
		return badRequest("recall", fmt.Sprintf("above 0, at most %v", most), r.Recall)
	}
	return nil
}

func plain(v float64) string { return fmt.Sprintf("%.12g", v) }
