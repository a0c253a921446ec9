package checks

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// checkCalls: a library returns errors, prints nothing, ends no process, and its
// tests do not depend on time.
func checkCalls(t *tree) (found []offence) {
	for _, p := range t.packages {
		for _, f := range p.files {
			if f.generated {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if advice := banned(p, f, call); advice != "" {
						found = append(found, t.at(call.Pos(), "%s", advice))
					}
				}
				return true
			})
		}
	}
	return found
}

// banned returns what is wrong with a call, "" when nothing is.
func banned(p *pkg, f *goFile, call *ast.CallExpr) string {
	named := func(names ...string) func(string) bool {
		return func(name string) bool {
			for _, n := range names {
				if n == name {
					return true
				}
			}
			return false
		}
	}
	if f.test {
		if calls(f, call, "time", named("Sleep")) {
			return "a test must not wait for time to pass: use testing/synctest, a fake clock or a channel"
		}
		return ""
	}
	library := p.name != "main" && !f.ignored
	switch ident, _ := call.Fun.(*ast.Ident); {
	case ident != nil && ident.Name == "panic" && len(call.Args) == 1 && literal(call.Args[0]):
		return "panic with a bare string: return an error, or panic with an error that holds the values at fault"
	case ident != nil && library && named("print", "println")(ident.Name):
		return "print in a library: return the text or take a *slog.Logger"
	}
	switch {
	case library && calls(f, call, "fmt", named("Print", "Printf", "Println")):
		return "fmt.Print in a library: return the text, take an io.Writer or a *slog.Logger"
	case !within(p.dir, "cmd") && !f.ignored && calls(f, call, "os", named("Exit")):
		return "os.Exit outside cmd: return an error and let the command choose the exit code"
	case !within(p.dir, "cmd") && !f.ignored && calls(f, call, "log", named("Fatal", "Fatalf", "Fatalln")):
		return "log.Fatal outside cmd: return an error and let the command choose the exit code"
	}
	return ""
}

// literal tells whether an expression is made of string literals alone.
func literal(expr ast.Expr) bool {
	switch e := expr.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return literal(e.X) && literal(e.Y)
	case *ast.ParenExpr:
		return literal(e.X)
	}
	return false
}

// marker finds notes of unfinished work. The words are put together here so that
// this file does not hold them.
var marker = regexp.MustCompile(`\b(` + "TO" + "DO|FIX" + "ME|XX" + `X)\b`)

// checkMarkers: Go code carries no notes of unfinished work.
func checkMarkers(t *tree) (found []offence) {
	for _, p := range t.packages {
		for _, f := range p.files {
			for i, line := range strings.Split(string(f.src), "\n") {
				if word := marker.FindString(line); word != "" {
					found = append(found, offence{f.path, i + 1, word + ": do it now, or state the limit as a fact"})
				}
			}
		}
	}
	return found
}

// vague finds package names that say nothing about what the package owns.
var vague = regexp.MustCompile(`(?i)(util|common|helper|manager|misc|shared)s?$`)

// checkPackageNames: a package is named for what it owns.
func checkPackageNames(t *tree) (found []offence) {
	for _, p := range t.packages {
		if p.name != "" && vague.MatchString(p.name) || vague.MatchString(p.dir) {
			found = append(found, t.at(p.files[0].ast.Package,
				"%s (package %s) has a name that fits anything: name it for what it owns", p.dir, p.name))
		}
	}
	return found
}

func TestCalls(t *testing.T) {
	expect(t, checkCalls, files{
		"rq/rq.go": `package rq

import (
	"errors"
	"fmt"
	out "fmt"
	"log"
	"os"
	"time"
)

func f(fmtx printer) {
	panic("bare")
	panic("in " + ("pieces"))
	panic(errors.New("fine"))
	panic(fmt.Sprintf("fine %d", 1))
	out.Println("renamed")
	fmt.Printf("plain")
	fmt.Fprintln(os.Stderr, "fine")
	fmtx.Println("not the package")
	println("builtin")
	os.Exit(1)
	log.Fatalf("no")
	time.Sleep(1)
}
`,
		"rq/rq_test.go": "package rq\nimport \"time\"\nimport \"fmt\"\n" +
			"func f() {\npanic(\"fine\")\nfmt.Println()\ntime.Sleep(1)\n}",
		"rq/gen.go": "//go:build ignore\n\npackage main\nimport \"fmt\"\nimport \"os\"\n" +
			"func main() {\nfmt.Println()\nos.Exit(1)\npanic(\"bare\")\n}",
		"cmd/sprat/main.go": "package main\nimport \"fmt\"\nimport \"os\"\n" +
			"func main() {\nfmt.Println()\nos.Exit(1)\npanic(\"bare\")\n}",
		"bench/tool/main.go": "package main\nimport \"os\"\nfunc main() {\nos.Exit(1)\n}",
	},
		"bench/tool/main.go:4: os.Exit",
		"cmd/sprat/main.go:7: panic",
		"rq/gen.go:9: panic",
		"rq/rq.go:13: panic",
		"rq/rq.go:14: panic",
		"rq/rq.go:17: fmt.Print",
		"rq/rq.go:18: fmt.Print",
		"rq/rq.go:21: print in a library",
		"rq/rq.go:22: os.Exit",
		"rq/rq.go:23: log.Fatal",
		"rq/rq_test.go:7: a test must not wait",
	)
}

func TestMarkers(t *testing.T) {
	word := "TO" + "DO"
	expect(t, checkMarkers, files{
		"rq/rq.go":      "package rq\n\n// " + word + ": later\nvar a = 1 // " + "FIX" + "ME\n",
		"rq/rq_test.go": "package rq\nvar _ = context." + word + "()\n",
		"rq/names.go":   "package rq\nvar " + word + "S, XX" + "XX int\n",
	},
		"rq/rq.go:3: "+word,
		"rq/rq.go:4: FIX",
		"rq/rq_test.go:2: "+word,
	)
}

func TestPackageNames(t *testing.T) {
	expect(t, checkPackageNames, files{
		"internal/ioutil/a.go":   "package ioutil",
		"internal/helpers/a.go":  "package help",
		"internal/utility/a.go":  "package utility",
		"server/a.go":            "package common",
		"server/managerial/a.go": "package managerial",
	},
		"internal/helpers/a.go:1:",
		"internal/ioutil/a.go:1:",
		"server/a.go:1:",
	)
}
