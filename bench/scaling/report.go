package scaling

import (
	"slices"

	"github.com/spratdb/sprat/bench"
)

// SchemaVersion is of [Report] as JSON and of the file of finished runs.
const SchemaVersion = 1

// Experiment is what all runs have in common. Runs of one experiment only may be
// compared, so a file of finished runs that holds another is not gone on with.
type Experiment struct {
	Set       string `json:"set"` // name of the data
	Vectors   int64  `json:"vectors"`
	Dimension int    `json:"dimension"`
	Metric    string `json:"metric"`
	Queries   int    `json:"queries"` // different ones
	K         int    `json:"k"`
	RecallBy  string `json:"recall_by"` // distance, id, or "" when unknown
	// Data, Asked and Truth tell the contents of the files, or of the index.
	Data  string `json:"data"`
	Asked string `json:"asked"`
	Truth string `json:"truth"`
	// Parameters are those of the index.
	Parameters string `json:"parameters"`

	WarmupSeconds float64 `json:"warmup_seconds"`
	WindowSeconds float64 `json:"window_seconds"`
	MemoryLimit   int64   `json:"memory_limit"`  // bytes, of the store; 0 is its default
	CgroupMemory  int64   `json:"cgroup_memory"` // bytes, of the process; 0 is none
	CacheBytes    int64   `json:"cache_bytes"`   // 0 is what the limit leaves, negative none
	Direct        string  `json:"direct"`        // auto, on or off

	Machine bench.Machine `json:"machine"`
}

// Point is what random reads of one size and number reached.
type Point struct {
	Depth int     `json:"depth"` // reads in flight
	Bytes int     `json:"bytes"` // of a read
	IOPS  float64 `json:"iops"`
}

// Limit is what the volume gave right before the runs of a setting, measured by
// random reads through the I/O engine.
type Limit struct {
	IOPS        float64 `json:"iops"`            // at 4 KiB
	MiBps       float64 `json:"mibps"`           // at 256 KiB
	BaseLatency float64 `json:"base_latency_ms"` // of a read alone
	Depths      []Point `json:"depths"`          // of 4 KiB
	Sizes       []Point `json:"sizes"`
}

// Sample is one second of a run. Figures of the device count what others do with
// it, too.
type Sample struct {
	Second    float64 `json:"second"`     // at its end, since the window began
	QPS       float64 `json:"qps"`        // answers
	ReadIOPS  float64 `json:"read_iops"`  // of the device
	ReadMiBps float64 `json:"read_mibps"` // of the device
	Device    float64 `json:"device"`     // mean reads in flight at the device
	InFlight  float64 `json:"in_flight"`  // mean reads in flight, those that a throttle holds included
	Utilised  float64 `json:"utilised"`   // share of the time that the device was busy
	CPU       float64 `json:"cpu"`        // processors that the process used
	Machine   float64 `json:"machine"`    // processors that were busy, by whomever
	Cgroup    int64   `json:"cgroup"`     // bytes of the control group, page cache included; 0 unknown
	RSS       int64   `json:"rss"`        // bytes resident
	Heap      int64   `json:"heap"`       // bytes of objects on the Go heap
}

// Result is the outcome of one setting.
type Result struct {
	Setting Setting `json:"setting"`
	// Load holds QPS, latency, recall and the cost of a query; only answers within the
	// window count.
	Load  *bench.WorkloadReport `json:"load"`
	Limit Limit                 `json:"limit"`

	IOEngine string `json:"io_engine"` // that was had
	DirectIO bool   `json:"direct_io"`
	Cold     string `json:"cold"` // "" when the page cache was dropped before, or why not

	KiBPerRead float64 `json:"kib_per_read"`
	IOPS       float64 `json:"iops"`  // reads a second that the I/O engine carried out, page cache hits included
	MiBps      float64 `json:"mibps"` // of them
	// ShareOfLimit is IOPS or MiBps over what the volume gave before, whichever is more.
	ShareOfLimit float64 `json:"share_of_limit"`

	// Means over the window, as [Sample] has them.
	DeviceIOPS float64 `json:"device_iops"`
	InFlight   float64 `json:"in_flight"`
	Device     float64 `json:"device"`
	Utilised   float64 `json:"utilised"`
	CPU        float64 `json:"cpu"`
	CPUShare   float64 `json:"cpu_share"` // of the processors that Go uses
	Machine    float64 `json:"machine"`

	CgroupMean int64 `json:"cgroup_mean"` // bytes; 0 unknown
	CgroupPeak int64 `json:"cgroup_peak"` // bytes; of this run where the kernel tells, else so far
	RSSMean    int64 `json:"rss_mean"`
	HeapMean   int64 `json:"heap_mean"`

	Samples []Sample `json:"samples"`

	// Prediction is made when all runs are there; nil when no other run tells the cost.
	Prediction *Prediction `json:"prediction"`
}

// Report is the outcome of the experiment.
type Report struct {
	SchemaVersion int        `json:"schema_version"`
	Command       string     `json:"command"`
	Throttle      string     `json:"throttle"` // by what the volume was limited, or why not
	Experiment    Experiment `json:"experiment"`
	Runs          []Result   `json:"runs"`
	Flat          []Flat     `json:"flat"`
	Predicted     Summary    `json:"predicted"`
	Notes         []string   `json:"notes"`
}

// Flat compares the rates of two numbers of clients at the same dials.
type Flat struct {
	Volume Volume  `json:"volume"`
	Engine string  `json:"engine"`
	Dials  string  `json:"dials"`
	Few    int     `json:"few"`  // clients
	Many   int     `json:"many"` // clients
	QPSFew float64 `json:"qps_few"`
	QPS    float64 `json:"qps_many"`
	Ratio  float64 `json:"ratio"`
}

const (
	// MinFlat is the least QPS at 128 clients / QPS at 32.
	MinFlat = 0.98
	// Near is how far a prediction may be from what is measured.
	Near = 0.10
	// MinNear is the least share of the predictions that are that near.
	MinNear = 0.9
)

// flat finds the pairs of runs with 32 and 128 clients (else those nearest to it, the
// second of which must be above the first).
func flat(runs []Result) []Flat {
	out := []Flat{}
	var clients []int
	for _, r := range runs {
		clients = append(clients, r.Setting.Clients)
	}
	if len(clients) == 0 {
		return out
	}
	few, many := nearest(clients, 32), nearest(clients, 128)
	if many <= few {
		return out
	}
	for i := range runs {
		s := runs[i].Setting
		if s.Clients != few {
			continue
		}
		s.Clients = many
		j := slices.IndexFunc(runs, func(r Result) bool { return r.Setting == s })
		if j < 0 || runs[i].Load.QPS <= 0 {
			continue
		}
		out = append(out, Flat{Volume: s.Volume, Engine: s.Engine, Dials: s.Dials(), Few: few, Many: many,
			QPSFew: runs[i].Load.QPS, QPS: runs[j].Load.QPS, Ratio: round(runs[j].Load.QPS/runs[i].Load.QPS, 4)})
	}
	return out
}

// Below names what is not as it should be: rates that fall with more clients, and
// predictions that were wrong too often. It also names what the runs do not tell.
func (r *Report) Below() []string {
	var out []string
	if len(r.Flat) == 0 {
		out = append(out, "no two runs tell whether the rate stays flat with more clients")
	}
	for _, f := range r.Flat {
		if f.Ratio < MinFlat {
			out = append(out, "QPS at "+itoa(f.Many)+" clients is "+fixed(f.Ratio, 3)+" of that at "+itoa(f.Few)+" ("+
				f.Volume.String()+" "+f.Engine+", "+f.Dials+"), want "+fixed(MinFlat, 2))
		}
	}
	switch p := r.Predicted; {
	case p.Judged == 0:
		out = append(out, "no run could be predicted from another")
	case float64(p.Near) < MinNear*float64(p.Judged):
		out = append(out, p.String()+", want 9 of 10")
	}
	return out
}

// assemble makes the report of finished runs, in the order of the settings.
func assemble(cfg *Config, e Experiment, throttle string, runs []Result, notes []string) *Report {
	if notes == nil {
		notes = []string{}
	}
	predict(runs, e.Machine.Cores)
	return &Report{SchemaVersion: SchemaVersion, Command: cfg.Command, Throttle: throttle, Experiment: e, Runs: runs,
		Flat: flat(runs), Predicted: summarise(runs), Notes: notes}
}
