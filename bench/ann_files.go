package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// WriteFiles writes the report into a folder, which it makes when it is missing:
// all figures as ann.json, tables as ann.md, the plot as ann.svg and ann.png.
func (r *ANNReport) WriteFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	figures, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("bench: report: %w", err)
	}
	var tables bytes.Buffer
	if err := r.Markdown(&tables); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"ann.json": append(figures, '\n'), "ann.md": tables.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
	}
	return r.Plot(filepath.Join(dir, "ann.svg"), filepath.Join(dir, "ann.png"))
}
