package archive

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strings"
	"time"
)

const (
	manifestFormat = 1
	snapshotPrefix = "snapshots/"
	chunkPrefix    = "chunks/"

	idTime   = "20060102T150405.000Z"
	idSuffix = 8 // hex digits

	sealHead = `{"sha256":"`
	sealTail = "\",\n"
	sealLen  = len(sealHead) + 2*sha256.Size + len(sealTail)
)

// Manifest is what a snapshot holds.
type Manifest struct {
	ID         string            `json:"id"`
	Created    time.Time         `json:"-"` // UTC, to the millisecond; from the id
	Label      string            `json:"label,omitempty"`
	Meta       map[string]string `json:"meta,omitempty"`
	ChunkBytes int               `json:"chunkBytes"` // piece size
	Bytes      int64             `json:"bytes"`      // of all files
	Files      []Entry           `json:"files"`      // in order of path
}

// Entry is one file of a snapshot.
type Entry struct {
	Path    string      `json:"path"` // slash-separated, relative
	Size    int64       `json:"size"` // bytes
	Mode    fs.FileMode `json:"mode"` // permission bits
	Version string      `json:"version,omitempty"`
	Chunks  []string    `json:"chunks"` // hex SHA-256 of each piece; "" for zeros
}

// pieces returns how many pieces a file of size bytes has.
func pieces(size int64, chunkBytes int) int64 {
	n := size / int64(chunkBytes)
	if size%int64(chunkBytes) != 0 {
		n++
	}
	return n
}

// pieceLen returns the length of piece i of the file.
func pieceLen(size int64, chunkBytes int, i int) int {
	return int(min(int64(chunkBytes), size-int64(i)*int64(chunkBytes)))
}

func chunkName(sum string) string       { return chunkPrefix + sum[:2] + "/" + sum }
func manifestName(id string) string     { return snapshotPrefix + id + ".json" }
func manifestID(name string) string     { return strings.TrimSuffix(name[len(snapshotPrefix):], ".json") }
func digest(data []byte) (sum string)   { s := sha256.Sum256(data); return hex.EncodeToString(s[:]) }
func isDigest(s string) bool            { return len(s) == 2*sha256.Size && isHex(s) }
func isHex(s string) bool               { return strings.Trim(s, "0123456789abcdef") == "" }
func idCreated(id string) (t time.Time) { t, _ = parseID(id); return t }

// newID returns an id for now that is greater than last, the newest id of the
// store, "" when there is none.
func newID(now time.Time, last string) string {
	now = now.UTC().Truncate(time.Millisecond)
	if t, ok := parseID(last); ok && !now.After(t) {
		now = t.Add(time.Millisecond)
	}
	suffix := make([]byte, idSuffix/2)
	_, _ = rand.Read(suffix) // never fails
	return now.Format(idTime) + "-" + hex.EncodeToString(suffix)
}

// parseID returns the time in an id, and whether it is one at all.
func parseID(id string) (time.Time, bool) {
	stamp, suffix, _ := strings.Cut(id, "-")
	t, err := time.Parse(idTime, stamp)
	ok := err == nil && len(suffix) == idSuffix && isHex(suffix) && t.Format(idTime) == stamp
	return t, ok
}

// document is a manifest as it is written.
type document struct {
	Format int `json:"format"`
	Manifest
}

// encode returns the sealed document of a manifest.
func (m *Manifest) encode() ([]byte, error) {
	body, err := json.Marshal(document{manifestFormat, *m})
	if err != nil {
		return nil, err
	}
	return seal(body), nil
}

// seal puts the checksum line before a JSON object.
func seal(object []byte) []byte {
	rest := object[1:]
	out := make([]byte, 0, sealLen+len(rest))
	out = append(out, sealHead...)
	out = append(out, digest(rest)...)
	out = append(out, sealTail...)
	return append(out, rest...)
}

// unseal returns the JSON object of a sealed document; reason says what is wrong.
func unseal(data []byte) (object []byte, reason string) {
	if len(data) < sealLen || !bytes.HasPrefix(data, []byte(sealHead)) ||
		string(data[sealLen-len(sealTail):sealLen]) != sealTail {
		return nil, "does not begin with a checksum"
	}
	rest := data[sealLen:]
	if sum := data[len(sealHead) : sealLen-len(sealTail)]; string(sum) != digest(rest) {
		return nil, "does not match its checksum"
	}
	return append([]byte{'{'}, rest...), ""
}

// decode checks the document of snapshot id. Errors are a *DamageError or
// ErrFormat, wrapped.
func decode(id string, data []byte) (Manifest, error) {
	name := manifestName(id)
	object, reason := unseal(data)
	if reason != "" {
		return Manifest{}, damaged(name, "%s", reason)
	}
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(object, &version); err != nil {
		return Manifest{}, damaged(name, "is not a manifest: %v", err)
	}
	if version.Format != manifestFormat {
		return Manifest{}, fmt.Errorf("%w: %s has format %d, this program reads %d",
			ErrFormat, name, version.Format, manifestFormat)
	}
	var d document
	if err := json.Unmarshal(object, &d); err != nil {
		return Manifest{}, damaged(name, "is not a manifest: %v", err)
	}
	if reason := d.Manifest.check(id); reason != "" {
		return Manifest{}, damaged(name, "is not consistent: %s", reason)
	}
	d.Created = idCreated(id)
	return d.Manifest, nil
}

// check returns what is wrong with a decoded manifest, "" when nothing is.
func (m *Manifest) check(id string) string {
	if _, ok := parseID(m.ID); !ok || m.ID != id {
		return fmt.Sprintf("it calls itself %q", m.ID)
	}
	if m.ChunkBytes < 1 || m.ChunkBytes > MaxChunkBytes {
		return fmt.Sprintf("pieces of %d bytes", m.ChunkBytes)
	}
	total, reason := checkEntries(m.Files)
	if reason != "" {
		return reason
	}
	if total != m.Bytes {
		return fmt.Sprintf("files add up to %d bytes, not to %d", total, m.Bytes)
	}
	for i := range m.Files {
		f := &m.Files[i]
		if n := pieces(f.Size, m.ChunkBytes); n != int64(len(f.Chunks)) {
			return fmt.Sprintf("file %q of %d bytes has %d pieces", f.Path, f.Size, len(f.Chunks))
		}
		for _, sum := range f.Chunks {
			if sum != "" && !isDigest(sum) {
				return fmt.Sprintf("file %q has a piece %q", f.Path, sum)
			}
		}
	}
	return ""
}

// checkEntries checks paths, sizes and modes of files in order of path, and adds
// up the sizes. No path may lead out of a target or name a folder of another.
func checkEntries(files []Entry) (total int64, reason string) {
	paths := make(map[string]bool, len(files))
	for i := range files {
		f := &files[i]
		switch {
		case !validName(f.Path):
			return 0, fmt.Sprintf("file path %q is not relative and clean", f.Path)
		case i > 0 && f.Path == files[i-1].Path:
			return 0, fmt.Sprintf("two files have the path %q", f.Path)
		case i > 0 && f.Path < files[i-1].Path:
			return 0, fmt.Sprintf("file path %q is out of order", f.Path)
		case f.Mode&^fs.ModePerm != 0:
			return 0, fmt.Sprintf("file %q has mode %#o", f.Path, uint32(f.Mode))
		case f.Size < 0 || f.Size > math.MaxInt64-total:
			return 0, fmt.Sprintf("file %q has a size of %d bytes", f.Path, f.Size)
		}
		total += f.Size
		paths[f.Path] = true
	}
	for p := range paths {
		for above := path.Dir(p); above != "."; above = path.Dir(above) {
			if paths[above] {
				return 0, fmt.Sprintf("%q is a file and the folder of %q", above, p)
			}
		}
	}
	return total, ""
}
