package sprat

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spratdb/sprat/internal/archive"
	"github.com/spratdb/sprat/internal/catalog"
	"github.com/spratdb/sprat/internal/diskfile"
	"github.com/spratdb/sprat/rescore"
)

// files are what a snapshot of the moment keeps.
func (m *moment) files() ([]archive.File, error) {
	mark, err := os.ReadFile(filepath.Join(m.store.dir, storeFile))
	if err != nil {
		return nil, err
	}
	out := []archive.File{content(storeFile, mark)}
	tables, err := m.catalogFiles()
	if err != nil {
		return nil, err
	}
	out = append(out, tables...)
	n := len(out)
	for _, h := range m.indexes {
		files, err := m.indexFiles(h)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	unfinished := m.unfinished
	if len(out) == n && len(unfinished) == 0 {
		unfinished = []uint32{0} // no index has it; it makes the directory of the indexes
	}
	// As a crash leaves a build: opening the restored store removes these files, and
	// with them the rows that the catalog has of their ids.
	for _, id := range unfinished {
		for _, dir := range []string{indexDir("", id), buildDir("", id)} {
			out = append(out, content(path.Join(filepath.ToSlash(dir), "unfinished"), nil))
		}
	}
	return out, nil
}

// content is a file that is kept from memory.
func content(name string, b []byte) archive.File {
	return archive.File{Path: name, Size: int64(len(b)), Open: func() (io.ReaderAt, io.Closer, error) {
		return bytes.NewReader(b), nil, nil
	}}
}

// catalogFiles are the files of the catalog's copy. A table never changes, and is
// linked from the catalog. That another one has its number and its size is
// possible when this store was restored or copied in between, but not with the
// same inode written at the same time.
func (m *moment) catalogFiles() ([]archive.File, error) {
	entries, err := os.ReadDir(m.catalogPath())
	if err != nil {
		return nil, err
	}
	var out []archive.File
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		f := archive.File{Path: path.Join(catalogDir, e.Name()), Size: info.Size(), Mode: info.Mode().Perm()}
		f.Open = func() (io.ReaderAt, io.Closer, error) {
			file, err := os.Open(filepath.Join(m.catalogPath(), e.Name()))
			return file, file, err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && strings.HasSuffix(e.Name(), ".sst") {
			f.Version = fmt.Sprintf("sst:%s:%d:%d:%d", e.Name(), f.Size, st.Ino, st.Mtim.Nano())
		}
		out = append(out, f)
	}
	return out, nil
}

// indexFiles are the files of an index: of those that hold more than the version,
// the ranges that it names.
func (m *moment) indexFiles(h *heldIndex) ([]archive.File, error) {
	var out []archive.File
	var landed map[uint32][]archive.Range
	if h.ix != nil {
		landed = h.landedRanges()
	}
	for _, open := range h.files {
		info, err := open.stat.Stat()
		if err != nil {
			return nil, err
		}
		name := filepath.Base(open.stat.Name())
		f := archive.File{
			Path: filepath.ToSlash(filepath.Join(indexDir("", h.row.ID), name)),
			Size: info.Size(), Mode: info.Mode().Perm(),
		}
		if h.ix != nil {
			var id uint32
			switch name {
			case postingsFile:
				f.Ranges = h.postingRanges()
			case recordsFile:
				f.Ranges = h.homeRanges(h.ix.records.Stride)
			case refineFile:
				f.Ranges = h.homeRanges(h.ix.refine.Stride)
			case centroidsFile:
			default:
				if _, err := fmt.Sscanf(name, segmentPrefix+"%08x", &id); err != nil || landed[id] == nil {
					continue // nothing of the version is in it
				}
				f.Ranges = landed[id]
			}
		}
		if f.Ranges != nil {
			last := f.Ranges[len(f.Ranges)-1]
			f.Size = last.Off + last.Len
			f.Version = h.contentVersion(info, f.Ranges)
		}
		reader := &backupReader{ctx: m.ctx, engine: m.store.engine, file: open.file}
		f.Open = func() (io.ReaderAt, io.Closer, error) { return reader, nil, nil } // the moment closes the file
		out = append(out, f)
	}
	return out, nil
}

// contentVersion says what the ranges of an index's file hold: when it is that of
// an earlier snapshot, the bytes are the same and need not be read.
//
// Within the life of a store index id and sequence number would do: a commit
// raises the number, what it makes is a function of what was there before, and
// bytes that a version names are written before the commit that first names them
// and never again while a version names them. But a store that was restored or
// rolled back counts on from an earlier number, and so does a copy of it; both may
// write to the target of the original, whose snapshots then say the same numbers
// of other bytes. So the file itself has to be the same: inode and change time,
// which no copy and no write leaves as they were, and the ranges.
func (h *heldIndex) contentVersion(info fs.FileInfo, ranges []archive.Range) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "" // always read
	}
	sum := sha256.New()
	var b [16]byte
	for _, r := range ranges {
		binary.LittleEndian.PutUint64(b[:], uint64(r.Off))
		binary.LittleEndian.PutUint64(b[8:], uint64(r.Len))
		sum.Write(b[:])
	}
	return fmt.Sprintf("seq:%d:%d:%d:%d:%x", h.row.ID, h.v.state.Seq, st.Ino, st.Ctim.Nano(), sum.Sum(nil)[:8])
}

// postingRanges are the header of the postings file and the extents of the
// version's directory, in order.
func (h *heldIndex) postingRanges() []archive.Range {
	out := []archive.Range{{Off: 0, Len: diskfile.HeaderBytes}}
	for id := range h.v.postings.Len() {
		if p := h.v.postings.At(id); p.exists() {
			out = append(out, archive.Range{Off: p.extent.Offset(), Len: int64(p.extent.Bytes)})
		}
	}
	sortRanges(out)
	return out
}

// homeRanges are the header of a record file and the live slots whose records are
// there, in order; those of neighbours are one range. What has died, and what has
// not come home, is left out: others write there, and a snapshot does not need it.
func (h *heldIndex) homeRanges(s rescore.Stride) []archive.Range {
	out := []archive.Range{{Off: 0, Len: diskfile.HeaderBytes}}
	next := uint32(0) // slot behind the last range
	for r := range h.v.runs.Len() {
		x := h.v.runs.At(r)
		for home := x.live &^ x.landed; home != 0; home &= home - 1 {
			slot := uint32(r*catalog.RunSlots + bits.TrailingZeros16(home))
			off := s.Offset(slot)
			if slot != next {
				out = append(out, archive.Range{Off: off})
			}
			last := &out[len(out)-1]
			last.Len = off + int64(s.Bytes) - last.Off
			next = slot + 1
		}
	}
	return out
}

// landedRanges are the header and the items of live slots in each landing
// segment that has any, in order.
func (h *heldIndex) landedRanges() map[uint32][]archive.Range {
	out := map[uint32][]archive.Range{}
	for r := range h.v.runs.Len() {
		x := h.v.runs.At(r)
		for m := x.landed; m != 0; m &= m - 1 {
			at := x.places[bits.TrailingZeros16(m)]
			if out[at.Segment] == nil {
				out[at.Segment] = []archive.Range{{Off: 0, Len: diskfile.HeaderBytes}}
			}
			out[at.Segment] = append(out[at.Segment], archive.Range{Off: int64(at.Offset), Len: int64(h.ix.itemBytes())})
		}
	}
	for _, ranges := range out {
		sortRanges(ranges)
	}
	return out
}

func sortRanges(r []archive.Range) {
	slices.SortFunc(r, func(a, b archive.Range) int { return cmp.Compare(a.Off, b.Off) })
}
