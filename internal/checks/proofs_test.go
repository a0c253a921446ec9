package checks

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// byteTable finds the head of a table of bytes in a comment.
var byteTable = regexp.MustCompile(`(?i)\|\s*offset\s*\|`)

// hot are the packages on the path of a query, which carry benchmarks.
var hot = []string{".", "centroids", "iopath", "posting", "rescore", "rq", "rq/simd"}

// checkFuzzTargets: a package that documents a layout of bytes is fuzzed.
func checkFuzzTargets(t *tree) (found []offence) {
	for _, p := range t.packages {
		if p.hasTest("Fuzz") {
			continue
		}
		for _, f := range p.code() {
			for _, group := range f.ast.Comments {
				if byteTable.MatchString(group.Text()) {
					found = append(found, t.at(group.Pos(), "a layout of bytes is documented here and %s has no "+
						"Fuzz target: add one that decodes arbitrary bytes", p.dir))
				}
			}
		}
	}
	return found
}

// checkBenchmarks: a package on the path of a query is measured.
func checkBenchmarks(t *tree) (found []offence) {
	for _, p := range t.packages {
		if slices.Contains(hot, p.dir) && p.name != "" && !p.hasTest("Benchmark") {
			found = append(found, offence{path.Join(p.dir, "doc.go"), 1,
				p.dir + " is on the path of a query and has no Benchmark: add one for what runs most often"})
		}
	}
	return found
}

// hasTest tells whether the package's tests hold a function of this kind.
func (p *pkg) hasTest(kind string) bool {
	for _, f := range p.files {
		if !f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if ok && function.Recv == nil && strings.HasPrefix(function.Name.Name, kind) {
				return true
			}
		}
	}
	return false
}

func TestFuzzTargets(t *testing.T) {
	table := "package p\n\n// | Offset | bytes |\n// |---|---|\nvar x int\n"
	expect(t, checkFuzzTargets, files{
		"rescore/r.go":      table,
		"rescore/r_test.go": "package p\nfunc TestX() {}",
		"posting/p.go":      table,
		"posting/p_test.go": "package p_test\nfunc FuzzX() {}",
		"rq/r.go":           "package p\n\n// The offset | of a thing.\nvar x int\n",
	},
		"rescore/r.go:3: a layout of bytes",
	)
}

func TestBenchmarks(t *testing.T) {
	expect(t, checkBenchmarks, files{
		"rq/r.go":          "package rq",
		"rq/r_test.go":     "package rq\nfunc (T) BenchmarkX() {}",
		"iopath/i.go":      "package iopath",
		"iopath/i_test.go": "package iopath\nfunc BenchmarkX() {}",
		"bench/b.go":       "package bench",
	},
		"rq/doc.go:1: rq is on the path of a query",
	)
}
