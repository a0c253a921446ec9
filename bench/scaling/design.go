package scaling

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/spratdb/sprat/iopath"
)

// Setting is one point of the experiment.
type Setting struct {
	Volume       Volume `json:"volume"`
	Engine       string `json:"engine"` // io_uring, pread or mmap
	Clients      int    `json:"clients"`
	SearchProbe  int    `json:"search_probe"`
	RescoreLimit int    `json:"rescore_limit"`
	StopRules    bool   `json:"stop_rules"` // off: exactly SearchProbe postings and RescoreLimit records
}

// String names the setting in one line.
func (s Setting) String() string {
	return fmt.Sprintf("%s %s, %d clients, %s", s.Volume, s.Engine, s.Clients, s.Dials())
}

// Dials names the part of the setting that is the query's.
func (s Setting) Dials() string {
	return fmt.Sprintf("probe %d, rescore %d, rules %s", s.SearchProbe, s.RescoreLimit, onOff(s.StopRules))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Axes are the values that settings are made of. An empty axis means its default.
type Axes struct {
	Volumes      []Volume // default 3000/125, 16000/1000, 80000/2000
	Engines      []string // default io_uring, pread, mmap
	Clients      []int    // default 8, 32, 128
	SearchProbe  []int    // default 32, 64, 128, 256
	RescoreLimit []int    // default 100, 350, 1000
	StopRules    []bool   // default on and off
	// Full takes every combination. Otherwise the axes are crossed only where that
	// tells something: see [Axes.Settings].
	Full bool
}

func (a Axes) withDefaults() Axes {
	a.Volumes = orDefault(a.Volumes, defaultVolumes...)
	a.Engines = orDefault(a.Engines, iopath.IOUring, iopath.Pread, iopath.Mmap)
	a.Clients = orDefault(a.Clients, 8, 32, 128)
	a.SearchProbe = orDefault(a.SearchProbe, 32, 64, 128, 256)
	a.RescoreLimit = orDefault(a.RescoreLimit, 100, 350, 1000)
	a.StopRules = orDefault(a.StopRules, true, false)
	return a
}

func orDefault[T any](list []T, standard ...T) []T {
	if len(list) == 0 {
		return slices.Clone(standard)
	}
	return list
}

func (a Axes) validate() error {
	for _, e := range a.Engines {
		if !slices.Contains([]string{iopath.IOUring, iopath.Pread, iopath.Mmap}, e) {
			return badConfig("engine %q, want io_uring, pread or mmap", e)
		}
	}
	for name, axis := range map[string][]int{"clients": a.Clients, "search probes": a.SearchProbe, "rescore limits": a.RescoreLimit} {
		for _, n := range axis {
			if n < 1 || n > 1<<20 {
				return badConfig("%s of %d, want 1 to 1,048,576", name, n)
			}
		}
	}
	for _, twice := range []bool{repeats(a.Volumes), repeats(a.Engines), repeats(a.Clients), repeats(a.SearchProbe),
		repeats(a.RescoreLimit), repeats(a.StopRules)} {
		if twice {
			return badConfig("a value comes twice in one list")
		}
	}
	return nil
}

func repeats[T comparable](list []T) bool {
	for i, v := range list {
		if slices.Contains(list[:i], v) {
			return true
		}
	}
	return false
}

// base is the number of clients and the engine that the dials are measured with.
func (a Axes) base() (clients int, engine string) {
	engine = a.Engines[0]
	if slices.Contains(a.Engines, iopath.IOUring) {
		engine = iopath.IOUring
	}
	return nearest(a.Clients, 32), engine
}

// points are the two settings of dials at which clients and engines are compared:
// those nearest to 64/100 and 128/350, with stop rules if there are any.
func (a Axes) points() []Setting {
	var out []Setting
	for _, want := range [][2]int{{64, 100}, {128, 350}} {
		s := Setting{SearchProbe: nearest(a.SearchProbe, want[0]), RescoreLimit: nearest(a.RescoreLimit, want[1]),
			StopRules: slices.Contains(a.StopRules, true)}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// nearest is the value of a list that is by the smallest factor away from one.
func nearest(list []int, to int) int {
	return slices.MinFunc(list, func(a, b int) int {
		return cmp.Compare(math.Abs(math.Log(float64(a)/float64(to))), math.Abs(math.Log(float64(b)/float64(to))))
	})
}

// Settings lists what is to be measured, volume by volume and engine by engine, so
// that the volume is set and the store opened as rarely as can be. Without Full
// that is, for each volume: all search probes x rescore limits x stop rules with 32
// clients and io_uring; all numbers of clients at two points of these; and all
// engines at these two.
func (a Axes) Settings() []Setting {
	a = a.withDefaults()
	clients, engine := a.base()
	points := a.points()
	var out []Setting
	for _, v := range a.Volumes {
		for _, e := range a.Engines {
			for _, s := range a.cross() {
				s.Volume, s.Engine = v, e
				dials := Setting{SearchProbe: s.SearchProbe, RescoreLimit: s.RescoreLimit, StopRules: s.StopRules}
				grid := s.Clients == clients && s.Engine == engine
				point := slices.Contains(points, dials) && (s.Clients == clients || s.Engine == engine)
				if a.Full || grid || point {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// cross is every combination of the axes below volume and engine.
func (a Axes) cross() []Setting {
	var out []Setting
	for _, rules := range a.StopRules {
		for _, rescore := range a.RescoreLimit {
			for _, probe := range a.SearchProbe {
				for _, clients := range a.Clients {
					out = append(out, Setting{Clients: clients, SearchProbe: probe, RescoreLimit: rescore, StopRules: rules})
				}
			}
		}
	}
	return out
}
