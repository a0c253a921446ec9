package sprat

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/spratdb/sprat/internal/catalog"
)

const (
	// MaxListSegments is the largest number of parts that a listing has.
	MaxListSegments = 16
	// MaxListLimit is the largest page of a listing.
	MaxListLimit = 10_000

	defaultListLimit = 1000
)

// ListOptions say what a page of a listing holds. Zero values mean the defaults.
type ListOptions struct {
	// Limit is the largest number of vectors of the page, 1 to 10,000. Default
	// 1,000.
	Limit int
	// Token is the Next of the page before; empty begins.
	Token string
	// Segment and Segments list one part of several, 0 <= Segment < Segments <=
	// 16. The parts of one number of segments hold every key exactly once.
	// Segments 0 is one part.
	Segment, Segments int
	Fields
}

// ListPage is a page of a listing.
type ListPage struct {
	Records []Record
	Next    string // token of the next page; empty at the end
}

// List returns a page of the vectors of the index, in an order that is always the
// same for the same keys. A vector that is there during the whole listing is
// returned exactly once; one that comes or goes meanwhile, once or not at all.
// Tokens stay valid for as long as the index exists. Errors: ErrInvalid, and as
// for Get.
func (ix *Index) List(ctx context.Context, o ListOptions) (ListPage, error) {
	if o.Limit == 0 {
		o.Limit = defaultListLimit
	}
	if o.Segments == 0 {
		o.Segments = 1
	}
	switch {
	case o.Limit < 1 || o.Limit > MaxListLimit:
		return ListPage{}, invalid("limit", "1 to 10,000", "%d", o.Limit)
	case o.Segments < 1 || o.Segments > MaxListSegments:
		return ListPage{}, invalid("segments", "1 to 16", "%d", o.Segments)
	case o.Segment < 0 || o.Segment >= o.Segments:
		return ListPage{}, invalid("segment", "0 to segments-1", "%d of %d", o.Segment, o.Segments)
	}
	after, err := ix.decodeToken(o)
	if err != nil {
		return ListPage{}, err
	}
	leave, err := ix.enter()
	if err != nil {
		return ListPage{}, err
	}
	defer leave()
	var cur *catalog.KeyCursor
	v, err := ix.together(func() (err error) {
		cur, err = ix.store.catalog.Keys(ix.row.ID, o.Segment, o.Segments, after)
		return err
	})
	if err != nil {
		return ListPage{}, publicError(err)
	}
	defer v.release()
	page, items, err := ix.page(cur, o)
	if err == nil {
		err = ix.fetch(ctx, v, items, o.Fields)
	}
	if err != nil {
		return ListPage{}, publicError(err)
	}
	page.Records = make([]Record, len(items))
	for i := range items {
		page.Records[i] = items[i].Record
	}
	return page, ctx.Err()
}

// page takes the keys of a page from a cursor and closes it.
func (ix *Index) page(cur *catalog.KeyCursor, o ListOptions) (page ListPage, items []item, err error) {
	var last []byte
	for cur.Next() {
		if len(items) == o.Limit {
			page.Next = ix.encodeToken(o, last)
			break
		}
		items = append(items, item{Record: Record{Key: string(cur.Key())}, at: cur.Placement()})
		last = append(last[:0], cur.Ordered()...)
	}
	return page, items, cur.Close()
}

// A token is base64url of: version 1, index id (4), segment, segments, the
// ordered key of the last vector, CRC32C (4) of all before.
const (
	tokenVersion = 1
	tokenHeader  = 7
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (ix *Index) encodeToken(o ListOptions, last []byte) string {
	b := binary.LittleEndian.AppendUint32([]byte{tokenVersion}, ix.row.ID)
	b = append(append(b, byte(o.Segment), byte(o.Segments)), last...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeToken returns the ordered key that a token stands for.
func (ix *Index) decodeToken(o ListOptions) ([]byte, error) {
	if o.Token == "" {
		return nil, nil
	}
	bad := func(format string, args ...any) error {
		return invalid("token", "the next of a page of this listing", format, args...)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(o.Token)
	switch body := len(b) - 4; {
	case err != nil || body < tokenHeader+2 || b[0] != tokenVersion || body > tokenHeader+1+MaxKeyBytes:
		return nil, bad("%.80q", o.Token)
	case crc32.Checksum(b[:body], castagnoli) != binary.LittleEndian.Uint32(b[body:]):
		return nil, bad("%.80q, which was changed", o.Token)
	case binary.LittleEndian.Uint32(b[1:]) != ix.row.ID:
		return nil, bad("one of another index")
	case int(b[5]) != o.Segment || int(b[6]) != o.Segments:
		return nil, bad("%s", fmt.Sprintf("one of segment %d of %d", b[5], b[6]))
	default:
		return b[tokenHeader:body], nil
	}
}
