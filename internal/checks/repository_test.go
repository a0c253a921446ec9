package checks

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// rules are all that the repository must obey.
var rules = []struct {
	name  string
	check func(*tree) []offence
}{
	{"declared imports", checkDeclared},
	{"import direction", checkDirection},
	{"engine dependencies", checkEngine},
	{"sizes", checkSizes},
	{"documented names", checkDocumented},
	{"comment ratio", checkCommentRatio},
	{"banned calls", checkCalls},
	{"markers", checkMarkers},
	{"package names", checkPackageNames},
	{"fuzz targets", checkFuzzTargets},
	{"benchmarks", checkBenchmarks},
	{"titles", checkTitles},
	{"references", checkReferences},
	{"places", checkPlaces},
	{"provenance", checkProvenance},
}

func TestRepository(t *testing.T) {
	repository, err := load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	// A walk from the wrong place would find nothing wrong.
	if !slices.ContainsFunc(repository.packages, func(p *pkg) bool { return p.dir == "internal/checks" }) {
		t.Fatal("the tree does not hold this package")
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, o := range sorted(rule.check(repository)) {
				t.Error(o)
			}
		})
	}
}

// sorted orders offences by place and drops repeats.
func sorted(found []offence) []offence {
	slices.SortFunc(found, func(a, b offence) int {
		if c := strings.Compare(a.path, b.path); c != 0 {
			return c
		}
		if a.line != b.line {
			return a.line - b.line
		}
		return strings.Compare(a.advice, b.advice)
	})
	return slices.Compact(found)
}

// files is a small tree for a test of a rule: content by path.
type files map[string]string

// expect runs a rule over a tree of the module example.org/m and requires exactly
// the offences whose text starts with want, in order of path and line.
func expect(t *testing.T, check func(*tree) []offence, content files, want ...string) {
	t.Helper()
	fsys := fstest.MapFS{"go.mod": {Data: []byte("module example.org/m\n")}}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		fsys[name] = &fstest.MapFile{Data: []byte(content[name])}
	}
	small, err := load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	got := sorted(check(small))
	for i, o := range got {
		if i >= len(want) || !strings.HasPrefix(o.String(), want[i]) {
			t.Errorf("offence %d is\n\t%v\nwant it to start with\n\t%v", i, o, append(want, make([]string, len(got))...)[i])
		}
	}
	if len(got) < len(want) {
		t.Errorf("found %d offences, not those after: %q", len(got), want[len(got):])
	}
}
