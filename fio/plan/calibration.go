package plan

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrCalibration is matched by every error of a calibration.
var ErrCalibration = errors.New("calibration cannot be planned with")

// CalibrationVersion is the schema_version of the calibrations that OwnOf takes.
const CalibrationVersion = 1

// calibration is the part of what sprat calibrate --json prints that matters here.
type calibration struct {
	SchemaVersion int `json:"schema_version"`
	Index         *struct {
		Name      string `json:"name"`
		Dimension int    `json:"dimension"`
		Vectors   uint64 `json:"vectors"`
		K         int    `json:"k"`
		Grid      []struct {
			Own    bool            `json:"own"`
			Cold   *calibratedCost `json:"cold"`
			Cached *calibratedCost `json:"cached"`
		} `json:"grid"`
	} `json:"index"`
}

type calibratedCost struct {
	Reads   float64 `json:"reads"`
	Bytes   float64 `json:"bytes"`
	CPUTime float64 `json:"cpu_seconds"`
}

// OwnOf takes own measurements from what sprat calibrate --index --json printed: the
// cost of queries with the index's own dials, with the cache as it was configured or,
// where there was none, without. The index must have the dimension and the calibration
// the number of results that are planned for; its vectors may differ in number, and
// Own.From says how many they were. Errors match ErrCalibration.
func OwnOf(text []byte, dimension, k int) (Own, error) {
	var c calibration
	if err := json.Unmarshal(text, &c); err != nil {
		return Own{}, fmt.Errorf("%w: %w", ErrCalibration, err)
	}
	switch {
	case c.SchemaVersion != CalibrationVersion:
		return Own{}, fmt.Errorf("%w: schema_version: want %d, got %d", ErrCalibration, CalibrationVersion, c.SchemaVersion)
	case c.Index == nil || len(c.Index.Grid) == 0:
		return Own{}, fmt.Errorf("%w: it measured no index: run sprat calibrate with --index", ErrCalibration)
	case c.Index.Dimension != dimension:
		return Own{}, fmt.Errorf("%w: the dimension of %s is %d, planned is %d", ErrCalibration, c.Index.Name, c.Index.Dimension, dimension)
	case c.Index.K != k:
		return Own{}, fmt.Errorf("%w: it asked for %d results, planned are %d", ErrCalibration, c.Index.K, k)
	}
	for _, cell := range c.Index.Grid {
		cost := cell.Cached
		if cost == nil {
			cost = cell.Cold
		}
		if !cell.Own || cost == nil {
			continue
		}
		if !(cost.Reads > 0 && cost.Bytes > 0 && cost.CPUTime > 0) {
			return Own{}, fmt.Errorf("%w: queries that read nothing from the volume tell nothing about it", ErrCalibration)
		}
		return Own{Reads: cost.Reads, KiB: cost.Bytes / 1024, CPUMS: cost.CPUTime * 1000,
			From: fmt.Sprintf("sprat calibrate on %s, %d vectors", c.Index.Name, c.Index.Vectors)}, nil
	}
	return Own{}, fmt.Errorf("%w: no queries with the index's own dials in it", ErrCalibration)
}
