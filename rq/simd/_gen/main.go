// Command _gen writes the assembly of package simd: one file for each family of
// kernels and instruction set. It is a module of its own, so that users of the
// engine never see its dependencies.
//
// Run it from the package folder with go generate. The kernels here follow the
// plain Go of x_generic.go, which is the specification, step by step.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// families maps the name of a file to what writes its kernels.
var families = []struct {
	name  string
	write func(*gen)
}{
	{"float32", writeFloat32},
	{"float64", writeFloat64},
	{"codes", writeCodes},
	{"planes", writePlanes},
	{"pack", writePack},
	{"encode", writeEncode},
	{"vector", writeVector},
	{"combine", writeCombine},
	{"hadamard", writeHadamard},
}

func main() {
	dir := flag.String("dir", "..", "folder of package simd")
	flag.Parse()
	if _, err := generate(*dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// generate writes all files to dir and returns their names.
func generate(dir string) (names []string, err error) {
	for _, f := range families {
		for _, wide := range []bool{false, true} {
			g := newGen(wide)
			f.write(g)
			name := fmt.Sprintf("%s_%s_amd64.s", f.name, g.isa())
			text, err := g.assemble()
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// newGen starts a file for AVX-512 (wide) or AVX2.
func newGen(wide bool) *gen {
	g := &gen{Context: build.NewContext(), wide: wide}
	g.ConstraintExpr("!noasm")
	return g
}

// assemble allocates registers and prints the file.
func (g *gen) assemble() ([]byte, error) {
	file, err := g.Result()
	if err != nil {
		return nil, err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return nil, err
	}
	return printer.NewGoAsm(printer.Config{Name: "_gen", Pkg: "simd"}).Print(file)
}
