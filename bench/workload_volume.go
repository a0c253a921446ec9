package bench

// Volume is what a block volume sells: operations, of up to 256 KiB each, and
// throughput.
type Volume struct {
	Name  string
	IOPS  float64 // operations per second
	MiBps float64 // MiB per second
}

// Volumes are the ends of what one kind of volume can be ordered as: EBS gp3 as
// it comes, and as much as it takes.
var Volumes = []Volume{
	{Name: "gp3 as it comes", IOPS: 3_000, MiBps: 125},
	{Name: "gp3 at its most", IOPS: 80_000, MiBps: 2_000},
}

// QPS is the most queries per second that the volume carries when a query costs
// this many reads and KiB, and what runs out first: "IOPS" or "throughput". It
// is +Inf when a query costs neither.
func (v Volume) QPS(reads, kib float64) (qps float64, limit string) {
	byReads, byBytes := v.IOPS/reads, v.MiBps*1024/kib
	if byReads <= byBytes {
		return byReads, "IOPS"
	}
	return byBytes, "throughput"
}
