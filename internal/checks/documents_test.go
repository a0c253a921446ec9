package checks

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

// checkTitles: a Markdown file has exactly one title.
func checkTitles(t *tree) (found []offence) {
	for _, f := range t.documents() {
		titles := 0
		fenced := false
		for i, line := range strings.Split(f.content, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if fenced || !strings.HasPrefix(line, "# ") {
				continue
			}
			if titles++; titles > 1 {
				found = append(found, offence{f.path, i + 1, "a second title: one \"# \" a file, use \"## \" here"})
			}
		}
		if titles == 0 {
			found = append(found, offence{f.path, 1, "no title: begin with a line \"# ...\""})
		}
	}
	return found
}

// documents returns the Markdown files, test data excepted.
func (t *tree) documents() (list []textFile) {
	for _, f := range t.texts {
		if path.Ext(f.path) == ".md" && !strings.Contains("/"+f.path, "/testdata/") {
			list = append(list, f)
		}
	}
	return list
}

// prose is a line of text for readers: of a Markdown file or of a Go comment.
type prose struct {
	path string
	line int
	text string
}

// prose returns the lines of all Markdown files and Go comments.
func (t *tree) prose() (lines []prose) {
	for _, f := range t.documents() {
		for i, text := range strings.Split(f.content, "\n") {
			lines = append(lines, prose{f.path, i + 1, text})
		}
	}
	for _, p := range t.packages {
		for _, f := range p.files {
			for _, group := range f.ast.Comments {
				for _, comment := range group.List {
					first := t.fset.Position(comment.Pos()).Line
					for i, text := range strings.Split(comment.Text, "\n") {
						lines = append(lines, prose{f.path, first + i, text})
					}
				}
			}
		}
	}
	return lines
}

var (
	link     = regexp.MustCompile(`[a-z]+://\S+`)
	document = regexp.MustCompile(`[A-Za-z0-9_-]+\.md\b`)
	section  = regexp.MustCompile(`(?i)\b(design|contract|quantization|style|field[- ]notes)(\.md)?,? (§|sections?|sect?\.) ?\d`)
)

// checkReferences: prose refers to documents that a reader of the repository has.
func checkReferences(t *tree) (found []offence) {
	have := map[string]bool{}
	for _, f := range t.texts {
		have[path.Base(f.path)] = true
	}
	for _, line := range t.prose() {
		text := link.ReplaceAllString(line.text, "")
		for _, name := range document.FindAllString(text, -1) {
			if !have[name] {
				found = append(found, offence{line.path, line.line, fmt.Sprintf(
					"refers to %s, which is not in the repository: say here what it says", name)})
			}
		}
		if reference := section.FindString(text); reference != "" {
			found = append(found, offence{line.path, line.line, fmt.Sprintf(
				"refers to %q, which a reader cannot open: say here what it says", reference)})
		}
	}
	return found
}

var (
	// home finds an absolute path below a folder that exists on one machine only.
	home = regexp.MustCompile(`(^|[^A-Za-z0-9_.~/-])/(work|root|home/[a-z]+|Users/[A-Za-z]+)/`)
	// mirror finds the address of a host to download from.
	mirror = regexp.MustCompile(`(?i)https?://[^\s"'<>)]*(proxy|registry|pypi|crates)`)
	// documented finds hosts that are reserved for examples.
	documented = regexp.MustCompile(`(?i)https?://(localhost|127\.0\.0\.1|([a-z0-9-]+\.)*(example|invalid|test)(\.(com|org|net))?)([:/"'\s]|$)`)
)

// checkPlaces: no file depends on, or tells of, the machine that it was made on.
func checkPlaces(t *tree) (found []offence) {
	for _, f := range t.texts {
		for i, line := range strings.Split(f.content, "\n") {
			if home.MatchString(line) {
				found = append(found, offence{f.path, i + 1,
					"holds a path of one machine: make it relative, a flag or a temporary folder"})
			}
			if mirror.MatchString(documented.ReplaceAllString(line, "")) {
				found = append(found, offence{f.path, i + 1,
					"holds the address of a download host: leave that to the user's settings"})
			}
		}
	}
	return found
}

// making finds prose about how a text came about. The words are put together here
// so that this file does not hold them.
var making = regexp.MustCompile(`(?i)\b(sub-?` + `agents?|col` + `leagues?|(this|the) work` + `place|co-` + `authored-by)\b`)

// checkProvenance: prose is about sprat, not about the people and tools at work on it.
func checkProvenance(t *tree) (found []offence) {
	for _, line := range t.prose() {
		if words := making.FindString(line.text); words != "" {
			found = append(found, offence{line.path, line.line, fmt.Sprintf(
				"%q is about the making of the text: leave it out", words)})
		}
	}
	return found
}

func TestTitles(t *testing.T) {
	expect(t, checkTitles, files{
		"README.md":            "# One\n\n```sh\n# a comment\n```\n\n## More\n",
		"bench/README.md":      "# One\n\n# Two\n",
		"fio/README.md":        "Text only.\n\n## Sub\n",
		"rq/testdata/notes.md": "Anything.\n",
	},
		"bench/README.md:3: a second title",
		"fio/README.md:1: no title",
	)
}

func TestReferences(t *testing.T) {
	expect(t, checkReferences, files{
		"README.md":   "See bench/README.md and https://example.org/other.md\nSee missing.md.\n",
		"rq/rq.go":    "package rq\n\n// README.md is there, gone.md is not.\nvar s = \"report.md\"\n\n/* One.\nDesign section 5. */\n",
		"iopath/i.go": "package iopath\n\n// Our design: section by section.\n// See quantization.md §7\n",
	},
		"README.md:2: refers to missing.md",
		"iopath/i.go:4: refers to \"quantization.md §7\"",
		"iopath/i.go:4: refers to quantization.md",
		"rq/rq.go:3: refers to gone.md",
		"rq/rq.go:7: refers to \"Design section 5\"",
	)
}

func TestPlaces(t *testing.T) {
	// "@" stands for "/" so that this file does not hold what it looks for.
	slash := func(s string) string { return strings.ReplaceAll(s, "@", "/") }
	expect(t, checkPlaces, files{
		".ci/run":         slash("cd @work@main\ncd work@main\nls .@root@x a@root@b\nexport GOPROXY=https:@@proxy.golang.org\n"),
		"README.md":       slash("https:@@example.net@work@x is fine\n`@root@.cache` is not\nfile=@home@me@x\n"),
		"rq/testdata/a":   slash("\"@root@x\"\n"),
		"server/s.go":     slash("package server\n\nvar a = \"https:@@proxy.example.com@pypi\"\nvar b = \"http:@@10.0.0.1@pypi@simple\"\n"),
		"data/binary.bin": slash("\x00 @root@x"),
		"_gen/main.go":    slash("package main\n\n// @work@x\n"),
	},
		".ci/run:1: holds a path",
		".ci/run:4: holds the address",
		"README.md:2: holds a path",
		"README.md:3: holds a path",
		"_gen/main.go:3: holds a path",
		"rq/testdata/a:1: holds a path",
		"server/s.go:4: holds the address",
	)
}

func TestProvenance(t *testing.T) {
	one, other := "sub-"+"agent", "col"+"league"
	expect(t, checkProvenance, files{
		"README.md": "# T\n\nWritten by a " + one + ".\n",
		"rq/rq.go":  "package rq\n\n// Another " + other + " wrote the rest.\nvar s = \"" + other + "\"\n",
	},
		"README.md:3: \""+one+"\"",
		"rq/rq.go:3: \""+other+"\"",
	)
}
