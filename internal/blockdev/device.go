package blockdev

// Device is what a path lies on.
type Device struct {
	Path         string   `json:"path"`          // absolute, symbolic links followed
	MountPoint   string   `json:"mount_point"`   // "" when unknown
	FSType       string   `json:"fs_type"`       // "ext4", "xfs", "overlay", ...
	Source       string   `json:"source"`        // as mounted, like "/dev/nvme1n1p1"
	MountOptions []string `json:"mount_options"` // of the mount, then of the file system; each sorted

	// None is why there is no disk, one clause; "" when there is one. Without
	// a disk all that follows is zero, except Limits.Memory.
	None string `json:"none,omitempty"`

	Major     uint32 `json:"major"`               // of the whole disk
	Minor     uint32 `json:"minor"`               // of the whole disk
	Name      string `json:"name"`                // of the whole disk, like "nvme1n1"
	Partition string `json:"partition,omitempty"` // like "nvme1n1p1", "" when the whole disk is used
	Bytes     int64  `json:"bytes"`               // size of the whole disk

	LogicalBlock  int    `json:"logical_block"`  // bytes
	PhysicalBlock int    `json:"physical_block"` // bytes
	Scheduler     string `json:"scheduler"`      // the one in use, like "none"
	ReadAheadKiB  int    `json:"read_ahead_kib"`
	QueueRequests int    `json:"queue_requests"` // nr_requests of the block layer
	Rotational    bool   `json:"rotational"`

	Limits Limits `json:"limits"`
}

// Limits are what control groups allow this process, the least of all groups
// that count. Zero is no limit.
type Limits struct {
	Memory              int64 `json:"memory"`                 // bytes
	ReadIOPS            int64 `json:"read_iops"`              // operations a second
	WriteIOPS           int64 `json:"write_iops"`             // operations a second
	ReadBytesPerSecond  int64 `json:"read_bytes_per_second"`  // of Device
	WriteBytesPerSecond int64 `json:"write_bytes_per_second"` // of Device
}

// Throttled reports whether the volume is limited.
func (l Limits) Throttled() bool {
	l.Memory = 0
	return l != Limits{}
}

// tighten lowers a limit; limit 0 is none.
func tighten(limit *int64, to int64) {
	if to > 0 && (*limit == 0 || to < *limit) {
		*limit = to
	}
}
