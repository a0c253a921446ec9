package checks

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxText is the size above which a file is taken for data, not for text.
const maxText = 1 << 20

// tree is the repository as the rules see it.
type tree struct {
	module   string // module path from go.mod
	fset     *token.FileSet
	packages []*pkg     // by folder, in order of path
	texts    []textFile // all files that are text, Go files too, in order of path
}

// pkg is the Go files of one folder.
type pkg struct {
	dir   string // slash-separated, "." for the root
	name  string // name of its non-test package; "" when it has only tests
	files []*goFile
}

// goFile is one parsed Go file.
type goFile struct {
	path      string
	src       []byte
	ast       *ast.File
	test      bool // named _test.go
	generated bool // carries the "Code generated" line
	ignored   bool // a program under the build tag "ignore", no part of its package
}

// textFile is the content of a file that is UTF-8 without NUL bytes.
type textFile struct {
	path    string
	content string
}

// offence is one breach of a rule.
type offence struct {
	path   string
	line   int
	advice string // what is wrong and what to do, for a reader of the test's output
}

func (o offence) String() string {
	return fmt.Sprintf("%s:%d: %s", o.path, o.line, o.advice)
}

// at returns an offence at a place in a parsed file.
func (t *tree) at(pos token.Pos, format string, args ...any) offence {
	p := t.fset.Position(pos)
	return offence{p.Filename, p.Line, fmt.Sprintf(format, args...)}
}

// load reads the tree below the root of fsys, which holds a go.mod.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, err
	}
	t.module = modulePath(mod)
	byDir := map[string]*pkg{}
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) && name != "." {
				return nil // a file that another process removed during the walk
			}
			return err
		}
		if entry.IsDir() {
			if name == ".git" || name == "bench/data" {
				return fs.SkipDir
			}
			return nil
		}
		return t.read(fsys, name, entry, byDir)
	})
	if err != nil {
		return nil, err
	}
	for _, p := range byDir {
		t.packages = append(t.packages, p)
	}
	slices.SortFunc(t.packages, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return t, nil
}

// read adds one file.
func (t *tree) read(fsys fs.FS, name string, entry fs.DirEntry, byDir map[string]*pkg) error {
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > maxText {
		return nil
	}
	src, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if utf8.Valid(src) && !bytes.ContainsRune(src, 0) {
		t.texts = append(t.texts, textFile{name, string(src)})
	}
	dir := path.Dir(name)
	if path.Ext(name) != ".go" || hidden(path.Base(name)) || notBuilt(fsys, dir) {
		return nil
	}
	file, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	p := byDir[dir]
	if p == nil {
		p = &pkg{dir: dir}
		byDir[dir] = p
	}
	g := &goFile{
		path:      name,
		src:       src,
		ast:       file,
		test:      strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(file),
		ignored:   ignored(file),
	}
	p.files = append(p.files, g)
	if !g.test && !g.ignored {
		p.name = file.Name.Name
	}
	return nil
}

// hidden tells whether the go command ignores a file or folder of this name.
func hidden(base string) bool {
	return strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".")
}

// notBuilt tells whether the Go files of a folder are no packages of this module.
func notBuilt(fsys fs.FS, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		base := path.Base(dir)
		if base == "testdata" || hidden(base) {
			return true
		}
		if _, err := fs.Stat(fsys, dir+"/go.mod"); err == nil {
			return true
		}
	}
	return false
}

// ignored tells whether a file stands under the build tag "ignore".
func ignored(file *ast.File) bool {
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, comment := range group.List {
			expr, err := constraint.Parse(comment.Text)
			if err != nil {
				continue
			}
			if tag, ok := expr.(*constraint.TagExpr); ok && tag.Tag == "ignore" {
				return true
			}
		}
	}
	return false
}

// modulePath returns the path that go.mod gives to the module.
func modulePath(mod []byte) string {
	scanner := bufio.NewScanner(bytes.NewReader(mod))
	for scanner.Scan() {
		if name, ok := strings.CutPrefix(scanner.Text(), "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// code returns the files of the package proper: no tests, no ignored programs.
func (p *pkg) code() []*goFile {
	return slices.DeleteFunc(slices.Clone(p.files), func(f *goFile) bool { return f.test || f.ignored })
}

// written returns the files of the package proper that a person wrote.
func (p *pkg) written() []*goFile {
	return slices.DeleteFunc(p.code(), func(f *goFile) bool { return f.generated })
}

// within tells whether a folder is root or below it. "." holds only itself: the
// root package is not the parent of the others.
func within(dir, root string) bool {
	return dir == root || strings.HasPrefix(dir, root+"/")
}

// importPath returns the unquoted path of an import.
func importPath(spec *ast.ImportSpec) string {
	name, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value // the parser accepts no such thing
	}
	return name
}

// relative returns the folder of an imported package of this module.
func (t *tree) relative(imported string) (dir string, ok bool) {
	if imported == t.module {
		return ".", true
	}
	return strings.CutPrefix(imported, t.module+"/")
}

// calls tells whether call calls a function of the standard package pkgPath, under
// whatever name the file imports it, whose name matches.
func calls(file *goFile, call *ast.CallExpr, pkgPath string, match func(name string) bool) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	left, ok := selector.X.(*ast.Ident)
	if !ok || !match(selector.Sel.Name) {
		return false
	}
	for _, spec := range file.ast.Imports {
		local := path.Base(pkgPath)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if importPath(spec) == pkgPath && left.Name == local {
			return true
		}
	}
	return false
}
