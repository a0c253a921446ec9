package crashdisk

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spratdb/sprat/iopath"
)

// numbers are the parts of Pebble's file names that differ from run to run.
var numbers = []struct {
	name *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`^\d+\.(log|sst|blob)$`), "*.$1"},
	{regexp.MustCompile(`^(MANIFEST|OPTIONS)-\d+$`), "$1-*"},
	{regexp.MustCompile(`^marker\.([a-z-]+)\.\d+\..*$`), "marker.$1.*"},
	{regexp.MustCompile(`^temporary\.\d+\.dbtmp$`), "temporary.*.dbtmp"},
}

// normal returns a path without Pebble's numbers; false when it has none.
func normal(path string) (string, bool) {
	base := filepath.Base(path)
	for _, n := range numbers {
		if n.name.MatchString(base) {
			return filepath.Join(filepath.Dir(path), n.name.ReplaceAllString(base, n.as)), true
		}
	}
	return path, false
}

// Script is the record as text for golden files, a line for each change and each
// mark, with paths relative to the Recorder's directory or absolute:
//
//	create landing/000001
//	write landing/000001 [0,+8192)
//	sync landing/000001
//	rename a -> b
//	-- acknowledged put 17
//
// Writes to one file that follow each other are one line, and so are ranges that
// adjoin. Files of Pebble go without their numbers (catalog/*.log), and their
// writes without ranges.
func (r *Recorder) Script(rel bool) string {
	s := scriptWriter{dir: r.dir, rel: rel}
	ops, marks := r.recorded(), r.Marks()
	for i, op := range ops {
		for ; len(marks) > 0 && marks[0].Pos <= i; marks = marks[1:] {
			s.mark(marks[0])
		}
		s.add(op)
	}
	for _, m := range marks {
		s.mark(m)
	}
	s.flush()
	return s.out.String()
}

// scriptWriter collects writes until something else follows.
type scriptWriter struct {
	dir    string
	rel    bool
	out    strings.Builder
	file   string // of the writes collected; "" for none
	ranges []span // empty for a file of Pebble
}

type span struct{ off, end int64 }

func (s *scriptWriter) mark(m Mark) {
	s.flush()
	fmt.Fprintf(&s.out, "-- %s\n", m.Label)
}

// path is how a path is written, and whether it is a file of Pebble.
func (s *scriptWriter) path(path string) (string, bool) {
	path, pebbles := normal(path)
	if !s.rel {
		path = filepath.Join(s.dir, path)
	}
	return filepath.ToSlash(path), pebbles
}

func (s *scriptWriter) add(op iopath.Op) {
	path, pebbles := s.path(op.Path)
	if op.Kind == iopath.OpWrite {
		s.write(path, pebbles, span{op.Off, op.Off + op.N})
		return
	}
	s.flush()
	fmt.Fprintf(&s.out, "%v %s", op.Kind, path)
	switch op.Kind {
	case iopath.OpTruncate:
		fmt.Fprintf(&s.out, " %d", op.N)
	case iopath.OpPunch:
		fmt.Fprintf(&s.out, " [%d,+%d)", op.Off, op.N)
	case iopath.OpRename, iopath.OpLink:
		to, _ := s.path(op.To)
		fmt.Fprintf(&s.out, " -> %s", to)
	}
	s.out.WriteByte('\n')
}

// write collects a write.
func (s *scriptWriter) write(path string, pebbles bool, w span) {
	if path != s.file {
		s.flush()
		s.file = path
	}
	last := len(s.ranges) - 1
	switch {
	case pebbles:
	case last >= 0 && s.ranges[last].end == w.off:
		s.ranges[last].end = w.end
	default:
		s.ranges = append(s.ranges, w)
	}
}

// flush writes the line of the writes collected.
func (s *scriptWriter) flush() {
	if s.file == "" {
		return
	}
	fmt.Fprintf(&s.out, "write %s", s.file)
	for _, w := range s.ranges {
		fmt.Fprintf(&s.out, " [%d,+%d)", w.off, w.end-w.off)
	}
	s.out.WriteByte('\n')
	s.file, s.ranges = "", s.ranges[:0]
}
