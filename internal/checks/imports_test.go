package checks

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// layer is a place in the order of packages. A package imports only packages of
// lower rank, its own subtree, and internal packages.
type layer struct {
	dir  string // this folder and what is below it, unless a longer one matches
	rank int
	only []string // when set: the only folders it imports, besides its subtree and internal
}

// layers is the order of packages. Internal packages serve all layers; they stand
// below the root and import of the engine what their doc.go declares.
var layers = []layer{
	{dir: "rq/simd", rank: 0},
	{dir: "rq", rank: 1},
	{dir: "iopath", rank: 1},
	{dir: "centroids", rank: 2},
	{dir: "posting", rank: 2},
	{dir: "rescore", rank: 2},
	{dir: "posting/lire", rank: 3},
	{dir: "internal", rank: 4},
	{dir: ".", rank: 5},
	{dir: "server", rank: 6, only: []string{"."}},
	{dir: "s3snapshot", rank: 6, only: []string{"."}},
	{dir: "fio", rank: 6},
	{dir: "bench", rank: 7},
	{dir: "cmd", rank: 8},
}

// engine is what a program that embeds sprat links.
var engine = []string{".", "rq", "rq/simd", "centroids", "posting", "posting/lire", "rescore", "iopath"}

// forbidden are the prefixes of what such a program must not link because of us.
var forbidden = []string{
	"google.golang.org/grpc",
	"github.com/grpc-ecosystem",
	"github.com/prometheus/client_golang",
	"github.com/spf13",
	"github.com/aws",
	"github.com/schollz",
}

// testOnly are packages for tests alone, because of what they weigh.
var testOnly = []string{"internal/realdata"}

const declaration = "May import:"

// checkDeclared: every package has a doc.go that says what it may import of this
// module, and imports nothing else of it.
func checkDeclared(t *tree) (found []offence) {
	for _, p := range t.packages {
		if p.name == "" {
			continue
		}
		i := slices.IndexFunc(p.files, func(f *goFile) bool { return path.Base(f.path) == "doc.go" })
		if i < 0 {
			found = append(found, offence{path.Join(p.dir, "doc.go"), 1, fmt.Sprintf(
				"missing: describe package %s there, and end with a line %q", p.name, declaration+" ...")})
			continue
		}
		doc := p.files[i].ast
		list, ok := declared(doc.Doc)
		if !ok {
			found = append(found, t.at(doc.Package, "package comment has no line %q: list the packages of this "+
				"module that %s may import, or write \"nothing of sprat\"", declaration+" ...", p.name))
			continue
		}
		found = append(found, t.unknown(doc, list)...)
		found = append(found, t.undeclared(p, list)...)
	}
	return found
}

// declared returns the folders that a package comment lists. A list that ends a
// line with a comma goes on in the next.
func declared(doc *ast.CommentGroup) (list []string, ok bool) {
	lines := strings.Split(doc.Text(), "\n")
	for i, line := range lines {
		rest, found := strings.CutPrefix(line, declaration)
		if !found {
			continue
		}
		for i++; strings.HasSuffix(rest, ",") && i < len(lines); i++ {
			rest += " " + strings.TrimSpace(lines[i])
		}
		for _, item := range strings.Split(rest, ",") {
			list = append(list, folder(strings.TrimSpace(item)))
		}
		if slices.Equal(list, []string{"nothing of sprat"}) {
			list = nil
		}
		return list, true
	}
	return nil, false
}

// folder returns the folder that an item of a list names. A full stop after the
// item is no part of it; alone it is the root, which "root" means too.
func folder(item string) string {
	if item == "root" || item == "root." {
		return "."
	}
	if item == "." || strings.HasSuffix(item, "/...") {
		return item
	}
	return strings.TrimSuffix(item, ".")
}

// unknown names the items of a list that are no packages of the tree. An item
// "dir/..." stands for dir and all below it.
func (t *tree) unknown(doc *ast.File, list []string) (found []offence) {
	for _, item := range list {
		known := slices.ContainsFunc(t.packages, func(p *pkg) bool { return allows(item, p.dir) })
		if !known {
			found = append(found, t.at(doc.Package, "%q lists %q, which is no package of this module: correct it",
				declaration, item))
		}
	}
	return found
}

// undeclared names the imports of a package that its list does not allow.
func (t *tree) undeclared(p *pkg, list []string) (found []offence) {
	for _, f := range p.code() {
		for _, spec := range f.ast.Imports {
			dir, ours := t.relative(importPath(spec))
			if !ours || slices.ContainsFunc(list, func(item string) bool { return allows(item, dir) }) {
				continue
			}
			found = append(found, t.at(spec.Pos(), "imports %s, which %s does not list after %q: do without it, "+
				"or list it if the layers allow", dir, path.Join(p.dir, "doc.go"), declaration))
		}
	}
	return found
}

// allows tells whether an item of a list stands for the folder.
func allows(item, dir string) bool {
	if root, ok := strings.CutSuffix(item, "/..."); ok {
		return within(dir, root)
	}
	return item == dir
}

// checkDirection: imports go down the layers, and test data stays in tests.
func checkDirection(t *tree) (found []offence) {
	for _, p := range t.packages {
		from, ok := place(p.dir)
		if !ok {
			found = append(found, t.at(p.files[0].ast.Package,
				"%s has no place in the order of packages: move it below one that has, or add it to layers in "+
					"internal/checks", p.dir))
			continue
		}
		for _, f := range p.code() {
			for _, spec := range f.ast.Imports {
				dir, ours := t.relative(importPath(spec))
				if !ours {
					continue
				}
				if why := upward(from, p.dir, dir); why != "" {
					found = append(found, t.at(spec.Pos(), "%s imports %s, %s: turn the dependency round or hand "+
						"the value in from above", p.dir, dir, why))
				}
			}
		}
	}
	return found
}

// place returns the layer of a folder: the one with the longest match.
func place(dir string) (best layer, ok bool) {
	for _, l := range layers {
		if within(dir, l.dir) && (!ok || len(l.dir) > len(best.dir)) {
			best, ok = l, true
		}
	}
	return best, ok
}

// upward says why a package of layer from, in folder dir, must not import the
// folder imported; "" when it may.
func upward(from layer, dir, imported string) string {
	to, ok := place(imported)
	switch {
	case !ok:
		return "which has no place in the order of packages"
	case slices.Contains(testOnly, imported):
		return "which is for tests only"
	case to.dir == "internal", to.dir == from.dir && dir != imported:
		return ""
	case to.rank >= from.rank:
		return "which is not below it"
	case from.only != nil && !slices.Contains(from.only, imported):
		return fmt.Sprintf("but packages in %s import only %s of the engine", from.dir, strings.Join(from.only, ", "))
	}
	return ""
}

// checkEngine: the engine, and what it imports of this module, imports nothing
// that an embedding program would not want.
func checkEngine(t *tree) (found []offence) {
	byDir := map[string]*pkg{}
	for _, p := range t.packages {
		byDir[p.dir] = p
	}
	queue := slices.Clone(engine)
	seen := map[string]bool{}
	for ; len(queue) > 0; queue = queue[1:] {
		p := byDir[queue[0]]
		if p == nil || seen[p.dir] {
			continue
		}
		seen[p.dir] = true
		for _, f := range p.code() {
			for _, spec := range f.ast.Imports {
				imported := importPath(spec)
				if dir, ours := t.relative(imported); ours {
					queue = append(queue, dir)
				}
				for _, prefix := range forbidden {
					if imported == prefix || strings.HasPrefix(imported, prefix+"/") {
						found = append(found, t.at(spec.Pos(), "%s is part of the engine and must not import %s: "+
							"give out plain values and use that package in server, bench or cmd", p.dir, imported))
					}
				}
			}
		}
	}
	return found
}

func TestDeclared(t *testing.T) {
	expect(t, checkDeclared, files{
		"doc.go":            "// Package sprat.\n//\n// May import: rq, iopath\npackage sprat",
		"a.go":              "package sprat\nimport _ \"example.org/m/rq\"\nimport _ \"example.org/m/server\"",
		"a_test.go":         "package sprat\nimport _ \"example.org/m/server\"",
		"rq/doc.go":         "// Package rq.\n//\n// May import: nothing of sprat\npackage rq",
		"rq/gen.go":         "//go:build ignore\n\npackage main\nimport _ \"example.org/m/iopath\"",
		"rq/rq.go":          "package rq\nimport _ \"fmt\"\nimport _ \"example.org/m/iopath\"",
		"iopath/iopath.go":  "package iopath",
		"server/doc.go":     "// Package server.\npackage server",
		"cmd/x/doc.go":      "// Command x.\n//\n// May import: root,\n// rq,\n// typo\npackage main",
		"cmd/x/main.go":     "package main\nimport _ \"example.org/m\"\nimport _ \"example.org/m/rq\"",
		"posting/doc.go":    "// Package posting.\n//\n// May import: iopath/..., .\npackage posting",
		"posting/p.go":      "package posting\nimport _ \"example.org/m/iopath\"\nimport _ \"example.org/m\"",
		"_gen/main.go":      "package main\nimport _ \"example.org/m/rq\"",
		"tools/go.mod":      "module example.org/tools",
		"tools/x/main.go":   "package main\nimport _ \"example.org/m/rq\"",
		"onlytests/_x.go":   "package onlytests",
		"only/only_test.go": "package only\nimport _ \"example.org/m/rq\"",
	},
		"a.go:3: imports server",
		"cmd/x/doc.go:6: \"May import:\" lists \"typo\"",
		"iopath/doc.go:1: missing",
		"rq/rq.go:3: imports iopath",
		"server/doc.go:2: package comment has no line",
	)
}

func TestDirection(t *testing.T) {
	imports := func(name string, dirs ...string) string {
		src := "package " + name + "\n"
		for _, dir := range dirs {
			src += "import _ \"" + path.Join("example.org/m", dir) + "\"\n"
		}
		return src
	}
	expect(t, checkDirection, files{
		"rq/rq.go":               imports("rq", "rq/simd", "iopath"),
		"rq/simd/simd.go":        imports("simd", "rq"),
		"iopath/i.go":            imports("iopath", "internal/leaf", "rq"),
		"centroids/c.go":         imports("centroids", "rq", "rq/simd", "posting"),
		"posting/p.go":           imports("posting", "rq", "iopath", ".", "posting/layout"),
		"posting/layout/l.go":    imports("layout"),
		"posting/lire/l.go":      imports("lire", "posting", "centroids", "rescore"),
		"rescore/r.go":           imports("rescore", "rq", "internal/realdata"),
		"rescore/r_test.go":      imports("rescore", "internal/realdata"),
		"internal/leaf/l.go":     imports("leaf", "posting", "."),
		"internal/realdata/r.go": imports("realdata", "internal/leaf"),
		"a.go":                   imports("sprat", "rq", "posting/lire", "server/grpc", "internal/leaf"),
		"server/grpc/g.go":       imports("grpc", ".", "rq", "server/auth", "internal/leaf"),
		"server/auth/a.go":       imports("auth"),
		"bench/b.go":             imports("bench", ".", "fio", "rq"),
		"fio/f.go":               imports("fio", ".", "iopath", "bench"),
		"cmd/sprat/m.go":         imports("main", ".", "server/grpc", "bench", "rq"),
		"odd/o.go":               imports("odd"),
	},
		"a.go:4: . imports server/grpc, which is not below it",
		"centroids/c.go:4: centroids imports posting",
		"fio/f.go:4: fio imports bench",
		"internal/leaf/l.go:3: internal/leaf imports .",
		"iopath/i.go:3: iopath imports rq",
		"odd/o.go:1: odd has no place",
		"posting/p.go:4: posting imports .",
		"rescore/r.go:3: rescore imports internal/realdata, which is for tests only",
		"rq/rq.go:3: rq imports iopath",
		"rq/simd/simd.go:2: rq/simd imports rq",
		"server/grpc/g.go:3: server/grpc imports rq, but packages in server import only .",
	)
}

func TestEngine(t *testing.T) {
	expect(t, checkEngine, files{
		"a.go":               "package sprat\nimport _ \"example.org/m/internal/leaf\"",
		"rq/rq.go":           "package rq\nimport _ \"github.com/spf13/cobra\"",
		"rq/rq_test.go":      "package rq\nimport _ \"github.com/spf13/cobra\"",
		"iopath/i.go":        "package iopath\nimport _ \"github.com/prometheus/procfs\"",
		"internal/leaf/l.go": "package leaf\nimport _ \"google.golang.org/grpc\"\nimport _ \"google.golang.org/grpcurl\"",
		"internal/far/f.go":  "package far\nimport _ \"google.golang.org/grpc\"",
		"server/s.go":        "package server\nimport _ \"google.golang.org/grpc/codes\"",
	},
		"internal/leaf/l.go:2: internal/leaf is part of the engine",
		"rq/rq.go:2: rq is part of the engine and must not import github.com/spf13/cobra",
	)
}
