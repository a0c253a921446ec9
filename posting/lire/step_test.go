package lire

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/spratdb/sprat/rq"
	"github.com/spratdb/sprat/rq/simd"
)

// flat is the dimensions of the examples: two that are seen, and zeros, because
// codes want a multiple of 8.
const flat = 8

// story is one posting in the plane, changed step by step.
type story struct {
	limits Limits
	shape  Shape

	names   []string
	m       Members
	parts   []Part
	others  []float32 // decoded centroids of other postings
	otherOf []string
}

// TestSteps runs the examples in testdata/steps.
//
//	limits    sets the limits by the target
//	add       adds entries "name x y [primary]" to the delta
//	kill      names entries that are dead from now on
//	fold      the delta and what lives of the extent become the extent
//	decide    what the posting needs; arguments: draining, only, pressed
//	cut       divides the live entries and draws the parts: capitals are primaries
//	others    sets the centroids of the neighbours, "name x y"
//	check     who is in the wrong posting after the cut
func TestSteps(t *testing.T) {
	datadriven.Walk(t, "testdata/steps", func(t *testing.T, path string) {
		s := &story{m: Members{D: flat}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "limits":
				var target int
				d.ScanArgs(t, "target", &target)
				s.limits = limits(target)
				return fmt.Sprintf("%+v\n", s.limits)
			case "add":
				s.add(t, d.Input)
				return s.counts()
			case "kill":
				s.kill(strings.Fields(d.Input))
				return s.counts()
			case "fold":
				s.shape.Extent, s.shape.Delta, s.shape.Dead = s.shape.Live(), 0, 0
				return s.counts()
			case "decide":
				shape := s.shape
				shape.Draining, shape.Only, shape.Pressed = d.HasArg("draining"), d.HasArg("only"), d.HasArg("pressed")
				return s.limits.Decide(shape).String() + "\n"
			case "cut":
				return s.cut(t)
			case "others":
				s.setOthers(t, d.Input)
				return ""
			case "check":
				return s.check()
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

// point parses "name x y ..." into a vector.
func point(t *testing.T, line string) (name string, v []float32, rest string) {
	v = make([]float32, flat)
	if n, err := fmt.Sscan(line, &name, &v[0], &v[1]); n != 3 {
		t.Fatalf("%q: %v", line, err)
	}
	return name, v, strings.Join(strings.Fields(line)[3:], " ")
}

func (s *story) add(t *testing.T, input string) {
	for line := range strings.Lines(input) {
		name, v, rest := point(t, line)
		s.names = append(s.names, name)
		s.m.Vectors = append(s.m.Vectors, v...)
		s.m.Primary = append(s.m.Primary, rest == "primary")
		s.shape.Delta++
	}
}

func (s *story) kill(names []string) {
	dead := map[string]bool{}
	for _, name := range names {
		dead[name] = true
	}
	old, oldNames := s.m, s.names
	s.m, s.names = Members{D: flat}, nil
	for i, name := range oldNames {
		if dead[name] {
			s.shape.Dead++
			continue
		}
		s.names = append(s.names, name)
		s.m.Vectors = append(s.m.Vectors, old.Vectors[i*flat:][:flat]...)
		s.m.Primary = append(s.m.Primary, old.Primary[i])
	}
}

func (s *story) counts() string {
	return fmt.Sprintf("extent %d, delta %d, dead %d: %d live\n",
		s.shape.Extent, s.shape.Delta, s.shape.Dead, s.shape.Live())
}

func (s *story) cut(t *testing.T) string {
	parts, err := Cut(context.Background(), s.m, 8, s.limits, 1)
	if err != nil {
		return err.Error() + "\n"
	}
	checkCut(t, s.m, 8, s.limits, parts)
	s.parts = parts
	var b strings.Builder
	for at, p := range parts {
		fmt.Fprintf(&b, "%c at (%.1f, %.1f):", 'a'+at, p.Decoded[0], p.Decoded[1])
		for _, i := range p.Members {
			b.WriteString(" " + s.names[i])
		}
		b.WriteString("\n")
	}
	return b.String() + s.draw()
}

// draw shows the members on a grid, x to the right and y upwards, as the letter of
// their part: a capital for a primary.
func (s *story) draw() string {
	const width, height = 40, 10
	var grid [height][width]byte
	for y := range grid {
		for x := range grid[y] {
			grid[y][x] = '.'
		}
	}
	for at, p := range s.parts {
		for _, i := range p.Members {
			x, y := int(s.m.Vectors[i*flat]), int(s.m.Vectors[i*flat+1])
			if x < 0 || x >= width || y < 0 || y >= height {
				continue
			}
			grid[height-1-y][x] = byte('a' + at)
			if s.m.Primary[i] {
				grid[height-1-y][x] = byte('A' + at)
			}
		}
	}
	var b strings.Builder
	for _, line := range grid {
		b.Write(line[:])
		b.WriteString("\n")
	}
	return b.String()
}

// setOthers decodes the centroids from codes, as all centroids are.
func (s *story) setOthers(t *testing.T, input string) {
	coder, err := rq.NewCentroidCoder(flat, 8)
	if err != nil {
		t.Fatal(err)
	}
	code := make([]byte, coder.Size())
	s.others, s.otherOf = nil, nil
	for line := range strings.Lines(input) {
		name, v, _ := point(t, line)
		coder.Encode(code, v)
		coder.Decode(v, code)
		s.others, s.otherOf = append(s.others, v...), append(s.otherOf, name)
	}
}

// check names each member in the wrong posting, and which posting is nearest.
func (s *story) check() string {
	part, children := Children(s.parts, len(s.names))
	var b strings.Builder
	for _, i := range Check(s.m, part, children, s.others) {
		v := s.m.Vectors[i*flat:][:flat]
		inside, in := nearest(v, children)
		outside, out := nearest(v, s.others)
		to, has := fmt.Sprintf("%c", 'a'+inside), fmt.Sprintf("%c", 'a'+part[i])
		if out < in {
			to = s.otherOf[outside]
		}
		if !s.m.Primary[i] {
			has = "another posting"
		}
		fmt.Fprintf(&b, "%s: primary in %s (%.1f from %c), nearest is %s (%.1f)\n",
			s.names[i], has, simd.L2F32(v, children[part[i]*flat:][:flat]), 'a'+part[i], to, min(in, out))
	}
	if b.Len() == 0 {
		return "all in place\n"
	}
	return b.String()
}
