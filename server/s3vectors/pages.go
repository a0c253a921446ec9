package s3vectors

import (
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"sync"
	"time"

	"github.com/spratdb/sprat"
)

// pageCache keeps results of queries that did not fit one answer until they are
// fetched: a set that is fixed by the first page. It is bounded in bytes and time; what
// had to go is asked for anew by the client.
type pageCache struct {
	limit int64
	now   func() time.Time

	mu struct {
		sync.Mutex
		sets  map[pageID]*list.Element // of *pageSet
		order *list.List               // oldest first
		bytes int64
	}
}

type pageID [16]byte

// pageSet is the result of one query, without metadata.
type pageSet struct {
	id      pageID
	query   [sha256.Size]byte // of what was asked
	matches []sprat.Match
	bytes   int64
	until   time.Time
}

const pageLife = 5 * time.Minute

func (c *pageCache) init(limit int64, now func() time.Time) {
	c.limit, c.now = limit, now
	c.mu.sets = map[pageID]*list.Element{}
	c.mu.order = list.New()
}

// keep stores a result and returns its id. One that is larger than all there is room
// for is not kept: its id will not be found.
func (c *pageCache) keep(query [sha256.Size]byte, matches []sprat.Match) pageID {
	set := &pageSet{query: query, matches: matches, bytes: 256, until: c.now().Add(pageLife)}
	rand.Read(set.id[:])
	for i := range matches {
		set.bytes += int64(len(matches[i].Key)) + 80
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.sets[set.id] = c.mu.order.PushBack(set)
	c.mu.bytes += set.bytes
	now := c.now()
	for e := c.mu.order.Front(); e != nil; e = c.mu.order.Front() {
		oldest := e.Value.(*pageSet)
		if c.mu.bytes <= c.limit && now.Before(oldest.until) {
			break
		}
		c.mu.order.Remove(e)
		delete(c.mu.sets, oldest.id)
		c.mu.bytes -= oldest.bytes
	}
	return set.id
}

// find returns a result that was kept for the same query.
func (c *pageCache) find(id pageID, query [sha256.Size]byte) ([]sprat.Match, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.mu.sets[id]
	if !ok {
		return nil, false
	}
	set := e.Value.(*pageSet)
	if !c.now().Before(set.until) || set.query != query {
		return nil, false
	}
	return set.matches, true
}

// A token of a page is base64url of: version 1, id (16), number of results before it (4).
const pageTokenVersion = 1

func pageToken(id pageID, from int) string {
	b := append([]byte{pageTokenVersion}, id[:]...)
	return base64.RawURLEncoding.EncodeToString(binary.LittleEndian.AppendUint32(b, uint32(from)))
}

func parsePageToken(token string) (id pageID, from int, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) != 21 || b[0] != pageTokenVersion {
		return id, 0, false
	}
	copy(id[:], b[1:])
	return id, int(binary.LittleEndian.Uint32(b[17:])), true
}

// queryHash tells queries apart by all that decides about their results.
func queryHash(ix *IndexInfo, q *request) (sum [sha256.Size]byte) {
	h := sha256.New()
	field := func(b []byte) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
		write(h, n[:])
		write(h, b)
	}
	field([]byte(ix.Bucket))
	field([]byte(ix.Name))
	field(binary.LittleEndian.AppendUint64(nil, uint64(ix.Created.UnixNano())))
	field(binary.LittleEndian.AppendUint64(nil, uint64(*q.topK)))
	field(q.filter)
	values := make([]byte, 0, 4*len(q.query.values))
	for _, x := range q.query.values {
		values = binary.LittleEndian.AppendUint32(values, math.Float32bits(x))
	}
	field(values)
	h.Sum(sum[:0])
	return sum
}

func write(h hash.Hash, b []byte) {
	h.Write(b)
}

// hashName is a short name for a text of any length.
func hashName(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
