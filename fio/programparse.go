package fio

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// programOutput is the part of fio's JSON that is used.
type programOutput struct {
	Version string `json:"fio version"`
	Jobs    []struct {
		Error int     `json:"error"`
		User  float64 `json:"usr_cpu"` // percent of the run time
		Sys   float64 `json:"sys_cpu"`
		Read  struct {
			IOPS    float64 `json:"iops"`
			IOs     int64   `json:"total_ios"`
			Runtime int64   `json:"runtime"` // milliseconds
			Total   struct {
				Mean float64 `json:"mean"` // nanoseconds, submission included
			} `json:"lat_ns"`
			Completion struct {
				Percentile map[string]float64 `json:"percentile"` // nanoseconds
			} `json:"clat_ns"`
		} `json:"read"`
	} `json:"jobs"`
}

// parseProgram reads the JSON that fio writes with --output-format=json, which
// notes in plain text may precede. The point has no Depth and no Bytes. Errors
// wrap ErrProgram.
func parseProgram(out []byte) (Point, error) {
	start := bytes.IndexByte(out, '{')
	if start < 0 {
		return Point{}, fmt.Errorf("%w: its output holds no JSON", ErrProgram)
	}
	var o programOutput
	if err := json.NewDecoder(bytes.NewReader(out[start:])).Decode(&o); err != nil {
		return Point{}, fmt.Errorf("%w: its output: %w", ErrProgram, err)
	}
	if len(o.Jobs) != 1 {
		return Point{}, fmt.Errorf("%w: its output has %d jobs, want 1", ErrProgram, len(o.Jobs))
	}
	job := o.Jobs[0]
	if job.Error != 0 {
		return Point{}, fmt.Errorf("%w: error %d", ErrProgram, job.Error)
	}
	read := job.Read
	if !plausible(read.IOPS) || !plausible(read.Total.Mean) || !plausible(job.User+job.Sys) || read.IOs < 1 {
		return Point{}, fmt.Errorf("%w: %d reads at %g IOPS", ErrProgram, read.IOs, read.IOPS)
	}
	at := func(name string) float64 { return micros(read.Completion.Percentile[name] / 1000) }
	p := Point{IOPS: read.IOPS, Rounds: 1, Latency: Latency{
		Mean: micros(read.Total.Mean / 1000),
		P50:  at("50.000000"), P90: at("90.000000"), P99: at("99.000000"), P999: at("99.900000"),
	}}
	p.CPU = round((job.User+job.Sys)/100*float64(read.Runtime)*1000/float64(read.IOs), 2)
	for _, v := range []float64{p.CPU, p.Latency.P50, p.Latency.P90, p.Latency.P99, p.Latency.P999} {
		if !plausible(v) {
			return Point{}, fmt.Errorf("%w: implausible figures %+v", ErrProgram, p)
		}
	}
	return p, nil
}

// plausible says that a figure can be computed with.
func plausible(v float64) bool { return v >= 0 && v < 1e15 }
