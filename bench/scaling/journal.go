package scaling

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/spratdb/sprat/iopath"
)

// journalName is the file of finished runs, in the folder for the results.
const journalName = "runs.jsonl"

// journal is the file of finished runs: JSON lines, the first of which is the
// experiment and each other one run. Every line carries the experiment's
// fingerprint. A line counts when it is whole, its end of line included; each is
// synced when it is written, so that only the last can be torn.
//
//	{"schema_version":1,"fingerprint":F,"experiment":{...}}
//	{"fingerprint":F,"run":{...}}
type journal struct {
	file        *os.File
	fingerprint string
	begun       bool // there was nothing before
}

// record is one line.
type record struct {
	SchemaVersion int         `json:"schema_version,omitempty"`
	Fingerprint   string      `json:"fingerprint"`
	Experiment    *Experiment `json:"experiment,omitempty"`
	Run           *Result     `json:"run,omitempty"`
}

// fingerprint tells experiments apart.
func (e Experiment) fingerprint() (string, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("scaling: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// readJournal reads whole lines. end is the length of what is whole; what follows
// is a torn line. An empty file is no error: experiment is nil then. Errors: a
// [*RecordError].
func readJournal(content []byte) (e *Experiment, runs []Result, end int, err error) {
	mark := ""
	for n := 1; ; n++ {
		line, _, whole := bytes.Cut(content[end:], []byte("\n"))
		if !whole {
			return e, runs, end, nil
		}
		var rec record
		if err := json.Unmarshal(line, &rec); err != nil {
			return nil, nil, 0, &RecordError{Line: n, Reason: "not JSON as it should be", Err: err}
		}
		switch {
		case n == 1:
			if rec.SchemaVersion != SchemaVersion {
				return nil, nil, 0, &RecordError{Line: n, Reason: fmt.Sprintf("schema version %d, this program has %d", rec.SchemaVersion, SchemaVersion)}
			}
			if rec.Experiment == nil {
				return nil, nil, 0, &RecordError{Line: n, Reason: "no experiment"}
			}
			e, mark = rec.Experiment, rec.Fingerprint
			if own, err := e.fingerprint(); err != nil || own != mark {
				return nil, nil, 0, &RecordError{Line: n, Reason: "the fingerprint is not the experiment's", Err: err}
			}
		case rec.Fingerprint != mark:
			return nil, nil, 0, &RecordError{Line: n, Reason: "a run of another experiment"}
		case rec.Run == nil || rec.Run.Load == nil:
			return nil, nil, 0, &RecordError{Line: n, Reason: "no run"}
		default:
			runs = append(runs, *rec.Run)
		}
		end += len(line) + 1
	}
}

// openJournal opens the file of an experiment and returns the runs that are there.
// Errors: ErrRecord, an [*OtherError], those of
// the file system.
func openJournal(dir string, e Experiment) (_ *journal, _ []Result, err error) {
	path := filepath.Join(dir, journalName)
	mark, err := e.fingerprint()
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("scaling: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("scaling: %w", err)
	}
	was, runs, end, err := readJournal(content)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if was != nil {
		if differs := differences(*was, e); len(differs) > 0 {
			return nil, nil, &OtherError{Path: path, Differs: differs}
		}
	}
	// A torn line is cut off, so that the next one begins at its place.
	if err := f.Truncate(int64(end)); err != nil {
		return nil, nil, fmt.Errorf("scaling: %w", err)
	}
	if _, err := f.Seek(int64(end), 0); err != nil {
		return nil, nil, fmt.Errorf("scaling: %w", err)
	}
	j := &journal{file: f, fingerprint: mark, begun: was == nil}
	if was == nil {
		if err := errors.Join(j.write(record{SchemaVersion: SchemaVersion, Experiment: &e}), iopath.SyncDir(dir)); err != nil {
			return nil, nil, err
		}
	}
	return j, runs, nil
}

// add keeps a finished run.
func (j *journal) add(r *Result) error { return j.write(record{Run: r}) }

func (j *journal) write(rec record) error {
	rec.Fingerprint = j.fingerprint
	line, err := json.Marshal(rec)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("scaling: keep a finished run: %w", err)
	}
	return nil
}

func (j *journal) close() error { return j.file.Close() }

// removeJournal discards the finished runs.
func removeJournal(dir string) error {
	if err := os.Remove(filepath.Join(dir, journalName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("scaling: %w", err)
	}
	return nil
}

// differences names the fields in which two experiments differ.
func differences(was, is Experiment) (out []string) {
	a, b := reflect.ValueOf(was), reflect.ValueOf(is)
	for i := range a.NumField() {
		x, y := a.Field(i).Interface(), b.Field(i).Interface()
		if x != y {
			name := strings.SplitN(a.Type().Field(i).Tag.Get("json"), ",", 2)[0]
			out = append(out, fmt.Sprintf("%s is %v, was %v", name, y, x))
		}
	}
	return out
}
