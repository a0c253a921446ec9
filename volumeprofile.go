package sprat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spratdb/sprat/iopath"
)

// VolumeProfile is what a calibration has found out about the volume of a store. It
// belongs to the volume, not to the data: snapshots do not take it along.
type VolumeProfile struct {
	MeasuredAt time.Time `json:"measured_at"`
	// Engine and Direct say how the volume was read: as iopath.Info does.
	Engine string `json:"engine"`
	Direct bool   `json:"direct"`
	// IOPS is the most operations, BytesPerSecond the most bytes that the volume
	// reads in a second.
	IOPS           float64 `json:"iops"`
	BytesPerSecond float64 `json:"bytes_per_second"`
	// KneeDepth is the least number of reads in flight that reach nearly all of it,
	// Depth the number recommended; 1 to 4,096.
	KneeDepth int `json:"knee_depth"`
	Depth     int `json:"depth"`
	// BaseLatency is the mean time of a lone 4 KiB read.
	BaseLatency time.Duration `json:"base_latency_ns"`
	// ExpectIOPS is what the caller of the calibration had ordered, 0 when unknown.
	ExpectIOPS float64 `json:"expect_iops,omitempty"`
}

// volumeFile holds the profile: one JSON object with a version, written beside and
// renamed, so that it is there whole or not at all. One that cannot be read is as
// good as none.
const (
	volumeFile    = "volume.json"
	volumeVersion = 1
)

type volumeDocument struct {
	Version int `json:"version"`
	VolumeProfile
}

// Volume returns the profile stored by SetVolume, if there is one.
func (s *Store) Volume() (VolumeProfile, bool) {
	text, err := os.ReadFile(filepath.Join(s.dir, volumeFile))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.warn("read the volume's profile", err)
		}
		return VolumeProfile{}, false
	}
	d, err := parseVolume(text)
	if err != nil {
		s.warn("read the volume's profile", fmt.Errorf("%s: %w", volumeFile, err))
		return VolumeProfile{}, false
	}
	return d, true
}

func parseVolume(text []byte) (VolumeProfile, error) {
	var d volumeDocument
	if err := json.Unmarshal(text, &d); err != nil {
		return VolumeProfile{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if d.Version != volumeVersion {
		return VolumeProfile{}, fmt.Errorf("%w: version %d, this program reads %d", ErrFormat, d.Version, volumeVersion)
	}
	return d.VolumeProfile, d.validate()
}

func (p VolumeProfile) validate() error {
	switch {
	case !(p.IOPS > 0 && p.IOPS < 1e9):
		return invalid("iops", "above 0 and below 10^9", "%g", p.IOPS)
	case !(p.BytesPerSecond > 0 && p.BytesPerSecond < 1e13):
		return invalid("bytesPerSecond", "above 0 and below 10^13", "%g", p.BytesPerSecond)
	case p.KneeDepth < 1 || p.KneeDepth > maxQueueDepth:
		return invalid("kneeDepth", "1 to 4,096", "%d", p.KneeDepth)
	case p.Depth < 1 || p.Depth > maxQueueDepth:
		return invalid("depth", "1 to 4,096", "%d", p.Depth)
	case p.BaseLatency < 0:
		return invalid("baseLatency", "at least 0", "%v", p.BaseLatency)
	case !(p.ExpectIOPS >= 0 && p.ExpectIOPS < 1e9):
		return invalid("expectIOPS", "at least 0 and below 10^9", "%g", p.ExpectIOPS)
	}
	return nil
}

// SetVolume stores the profile of the store's volume durably, in place of an older
// one. Admission starts from it, at once and when the store is opened again.
// Errors: ErrInvalid, ErrClosed, and those of the file system.
func (s *Store) SetVolume(_ context.Context, p VolumeProfile) error {
	leave, err := s.enter()
	if err != nil {
		return err
	}
	defer leave()
	if s.opts.ReadOnly {
		return invalid("store", "a store opened for writing", "a read-only one")
	}
	if err := p.validate(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(volumeDocument{volumeVersion, p}, "", "\t")
	if err != nil {
		return err
	}
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	path := filepath.Join(s.dir, volumeFile)
	if err := writeSynced(path+".new", string(text)+"\n"); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	s.engine.StartFrom(p.Depth)
	return iopath.SyncDir(s.dir)
}
