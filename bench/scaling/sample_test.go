package scaling

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/procfs/blockdevice"

	"github.com/spratdb/sprat/internal/blockdev"
	"github.com/spratdb/sprat/iopath"
)

func TestBetween(t *testing.T) {
	at := time.Unix(100, 0)
	a := reading{at: at, queries: 5, cpu: time.Second, machine: 10,
		disk: blockdevice.IOStats{ReadIOs: 1000, ReadSectors: 2048, ReadTicks: 500, IOsTotalTicks: 100}}
	b := reading{at: at.Add(2 * time.Second), queries: 105, cpu: 2 * time.Second, machine: 13,
		disk: blockdevice.IOStats{ReadIOs: 7000, ReadSectors: 2048 + 2*2048*10, ReadTicks: 500 + 8000, IOsTotalTicks: 1600}}
	got := between(a, b, at.Add(-time.Second))
	want := Sample{Second: 3, QPS: 50, ReadIOPS: 3000, ReadMiBps: 10, Device: 4, Utilised: 0.75, CPU: 0.5, Machine: 1.5}
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// TestGauges reads a /proc of our own.
func TestGauges(t *testing.T) {
	root := t.TempDir() + "/"
	disk := "259 0 other 1 0 8 0 0 0 0 0 0 0 0\n254 16 vdb %d 0 %d 70 0 0 0 0 0 90 70\n"
	set := func(ios, sectors int) {
		for name, text := range map[string]string{"diskstats": fmt.Sprintf(disk, ios, sectors), "stat": "cpu  100 0 50 900 0 0 0 0 0 0\n"} {
			if err := os.WriteFile(filepath.Join(root, "proc", name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range []string{"proc", "sys"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	set(100, 800)
	g, err := newGauges(root, blockdev.Device{Major: 254, Minor: 16}, nil)
	if err != nil {
		t.Fatal(err)
	}
	depth := int64(0)
	g.volume = func() iopath.Stats {
		depth += 10
		return iopath.Stats{InFlight: depth, Reads: 100 * depth, Bytes: depth << 20}
	}
	if r := g.read(0); r.disk.ReadIOs != 100 || r.machine != 1.5 {
		t.Errorf("read %+v", r)
	}
	s := newSampler(g, time.Hour)
	s.look(1)
	s.look(2)
	set(400, 900)
	var r Result
	s.end(&r, 3)
	if len(r.Samples) != 1 || r.Samples[0].Heap <= 0 || r.Samples[0].RSS <= 0 || r.InFlight != 35 || r.DeviceIOPS <= 0 || r.IOPS <= 0 || r.MiBps <= 0 {
		t.Errorf("%+v", r)
	}
}

func TestSlope(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{nil, nil, 0}, {[]float64{1}, []float64{5}, 0}, {[]float64{0, 1, 2}, []float64{0, 3000, 6000}, 3000}, {[]float64{1, 1}, []float64{0, 5}, 0},
		{[]float64{0, 1, 2}, []float64{9, 5, 1}, 0},
	} {
		if got := slope(c.x, c.y); got != c.want {
			t.Errorf("%v, %v: %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

// TestMeasurePoints takes the better of two short points.
func TestMeasurePoints(t *testing.T) {
	n := 0
	l, err := measurePoints(func(depth, bytes int, window time.Duration) (Point, error) {
		n++
		iops := float64(1000*n) - 5
		if window < time.Second && n%2 == 0 {
			iops = 7
		}
		return Point{Depth: depth, Bytes: bytes, IOPS: iops}, nil
	}, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if l.IOPS != 995 || l.MiBps != 498.75 || len(l.Depths) != 5 || len(l.Sizes) != 5 {
		t.Fatalf("%+v", l)
	}
	if l.Depths[0].IOPS != 2995 || l.BaseLatency != round(1000/2995.0, 4) || l.Sizes[0].Bytes != 4096 || l.Sizes[4].Bytes != 256<<10 {
		t.Errorf("%+v", l)
	}
	for i := 1; i < 5; i++ {
		if l.Depths[i].Depth <= l.Depths[i-1].Depth || l.Sizes[i].Bytes <= l.Sizes[i-1].Bytes {
			t.Errorf("the points do not rise: %+v", l)
		}
	}
}

func TestAgainst(t *testing.T) {
	l := Limit{IOPS: 60000, MiBps: 1990}
	if got := l.against(Volume{80000, 2000}); got != "the device beneath gave 60,000 of 80,000 IOPS" {
		t.Errorf("%q", got)
	}
	if got := l.against(Volume{3000, 125}) + l.against(Volume{}); got != "" {
		t.Errorf("%q", got)
	}
}
