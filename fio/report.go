package fio

import "time"

// SchemaVersion is the version of Report as JSON. It grows when a field goes or
// changes its meaning, not when one is added.
const SchemaVersion = 1

// Report is the result of a calibration. As JSON, times are in the unit that the
// field's name ends with.
type Report struct {
	SchemaVersion int       `json:"schema_version"`
	MeasuredAt    time.Time `json:"measured_at"` // UTC
	Quick         bool      `json:"quick"`
	Seconds       float64   `json:"elapsed_seconds"`

	Environment Environment    `json:"environment"`
	File        TestFile       `json:"file"`
	Derived     Derived        `json:"derived"`
	Engines     []EngineReport `json:"engines"` // the store's first
	Program     *Program       `json:"program,omitempty"`
	// ProgramHint says how to install fio; "" when it was found or not wanted.
	ProgramHint string     `json:"program_hint,omitempty"`
	Sizes       []Point    `json:"sizes"`
	Large       *Point     `json:"large"`           // a longer run of the largest reads, for the throughput cap
	Mixed       *Mixed     `json:"mixed,omitempty"` // not on an existing file
	Sustained   *Sustained `json:"sustained"`

	Expectation *Expectation `json:"expectation,omitempty"`
	Index       *IndexReport `json:"index,omitempty"`

	Stored bool     `json:"stored"` // the profile was stored with the store
	Notes  []string `json:"notes"`  // what a reader should know, one sentence each
}

// Expectation compares the volume with what it should give.
type Expectation struct {
	IOPS     float64 `json:"iops,omitempty"`           // expected; 0 is anything
	MiBps    float64 `json:"mib_per_second,omitempty"` // expected; 0 is anything
	GotIOPS  float64 `json:"got_iops"`                 // the best of our engines and the program fio
	GotMiBps float64 `json:"got_mib_per_second"`
	// Below says what is less than 95 % of what was expected, one sentence each.
	Below []string `json:"below,omitempty"`
}
