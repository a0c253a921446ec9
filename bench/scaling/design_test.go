package scaling

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSettings counts what is measured by default, and with every combination.
func TestSettings(t *testing.T) {
	compact := Axes{}.Settings()
	// For each of 3 volumes 4 x 3 x 2 dials, 2 more numbers of clients and 2 more
	// engines at 2 points.
	if want := 3 * (24 + 2*2 + 2*2); len(compact) != want {
		t.Errorf("%d settings, want %d", len(compact), want)
	}
	if full := (Axes{Full: true}).Settings(); len(full) != 3*3*3*4*3*2 {
		t.Errorf("%d settings of the full design", len(full))
	}
	if first := compact[0]; first.Volume != (Volume{3000, 125}) || first.Engine != "io_uring" {
		t.Errorf("the first is %v", first)
	}
	one := Axes{Volumes: []Volume{{}}, Engines: []string{"pread"}, Clients: []int{4}, SearchProbe: []int{8}, RescoreLimit: []int{20}, StopRules: []bool{false}}
	if got := one.Settings(); len(got) != 1 || got[0].String() != "as-is pread, 4 clients, probe 8, rescore 20, rules off" {
		t.Errorf("settings of single values: %v", got)
	}
}

// TestSettingsProperties: the compact design is a part of the full one, nothing
// comes twice, volumes and engines come in runs, and each value of each axis comes.
func TestSettingsProperties(t *testing.T) {
	numbers := rapid.SliceOfNDistinct(rapid.IntRange(1, 2000), 1, 4, rapid.ID)
	rapid.Check(t, func(t *rapid.T) {
		a := Axes{
			Volumes: rapid.SliceOfNDistinct(rapid.SampledFrom([]Volume{{}, {3000, 125}, {16000, 1000}}), 1, 3, rapid.ID).Draw(t, "volumes"),
			Engines: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"io_uring", "pread", "mmap"}), 1, 3, rapid.ID).Draw(t, "engines"),
			Clients: numbers.Draw(t, "clients"), SearchProbe: numbers.Draw(t, "probes"), RescoreLimit: numbers.Draw(t, "rescores"),
			StopRules: rapid.SliceOfNDistinct(rapid.Bool(), 1, 2, rapid.ID).Draw(t, "rules"),
		}
		if err := a.validate(); err != nil {
			t.Fatal(err)
		}
		compact := a.Settings()
		a.Full = true
		full := a.Settings()
		if repeats(compact) || repeats(full) {
			t.Fatal("a setting comes twice")
		}
		type place struct {
			v Volume
			e string
		}
		var places []place
		for _, s := range compact {
			if !slices.Contains(full, s) {
				t.Fatalf("%v is not in the full design", s)
			}
			if p := (place{s.Volume, s.Engine}); len(places) == 0 || places[len(places)-1] != p {
				places = append(places, p)
			}
		}
		if repeats(places) || len(places) != len(a.Volumes)*len(a.Engines) {
			t.Fatalf("volumes and engines change %d times: %v", len(places), places)
		}
		for _, n := range a.Clients {
			if !slices.ContainsFunc(compact, func(s Setting) bool { return s.Clients == n }) {
				t.Fatalf("no setting with %d clients", n)
			}
		}
		for _, n := range a.SearchProbe {
			if !slices.ContainsFunc(compact, func(s Setting) bool { return s.SearchProbe == n }) {
				t.Fatalf("no setting with search probe %d", n)
			}
		}
	})
}

func TestBadAxes(t *testing.T) {
	for _, a := range []Axes{
		{Engines: []string{"aio"}}, {Clients: []int{0}}, {SearchProbe: []int{-1}}, {RescoreLimit: []int{1 << 21}}, {Clients: []int{8, 8}},
		{Volumes: []Volume{{}, {}}}, {StopRules: []bool{true, true}}, {Engines: []string{"pread", "pread"}},
	} {
		if err := a.withDefaults().validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", a, err)
		}
	}
}

func TestBadConfig(t *testing.T) {
	good := Config{Out: "o", Queries: "q", Data: "d", Bucket: "b", Index: "i"}.withDefaults()
	if err := good.validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"out": func(c *Config) { c.Out = "" }, "queries": func(c *Config) { c.Queries = "" }, "both": func(c *Config) { c.Input.Vectors = "v" },
		"index": func(c *Config) { c.Index = "" }, "neither": func(c *Config) { c.Data = "" }, "k": func(c *Config) { c.K = -1 },
		"metric": func(c *Config) { c.Data, c.Input.Vectors = "", "v" }, "window": func(c *Config) { c.Window = -1 },
		"memory": func(c *Config) { c.CgroupMemory = -1 }, "axes": func(c *Config) { c.Axes.Clients = []int{0} },
	} {
		c := good
		change(&c)
		if err := c.validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
