package scaling

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFiles writes the report into a folder, which it makes when it is missing:
// scaling.json (all of it), scaling.csv (a row a run), scaling.md (tables),
// scaling.html (plots and tables on one page that loads nothing) and scaling.svg
// (the main plot). Nothing is written unless all of them can be rendered.
func (r *Report) WriteFiles(dir string) error {
	figures, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("scaling: report: %w", err)
	}
	files := []struct {
		name    string
		content []byte
		write   func(io.Writer) error
	}{
		{name: "scaling.json", content: append(figures, '\n')},
		{name: "scaling.csv", write: r.WriteCSV},
		{name: "scaling.md", write: r.WriteMarkdown},
		{name: "scaling.html", write: r.WriteHTML},
		{name: "scaling.svg", write: r.WriteSVG},
	}
	for i := range files {
		if f := &files[i]; f.write != nil {
			var b bytes.Buffer
			if err := f.write(&b); err != nil {
				return fmt.Errorf("scaling: %s: %w", f.name, err)
			}
			f.content = b.Bytes()
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("scaling: %w", err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.content, 0o644); err != nil {
			return fmt.Errorf("scaling: %w", err)
		}
	}
	return nil
}
