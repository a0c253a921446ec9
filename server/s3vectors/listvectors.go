package s3vectors

import (
	"context"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/s3vectors/floatjson"
)

const (
	maxListed     = 1000
	defaultListed = 500
	maxSegments   = 16
	// listBytes ends a page early.
	listBytes = 1 << 20
)

// segments are the members of a parallel listing.
var segments = members{
	"segmentCount": integer(func(q *request) **int64 { return &q.segmentCount }),
	"segmentIndex": integer(func(q *request) **int64 { return &q.segmentIndex }),
}

func checkListVectors(_ *Handler, q *request, v *violations) {
	v.names(q)
	v.optionalBetween("/maxResults", q.maxResults, 1, maxListed)
	v.optionalLength("/nextToken", q.nextToken, 1, 2048)
	v.optionalBetween("/segmentCount", q.segmentCount, 1, maxSegments)
	v.optionalBetween("/segmentIndex", q.segmentIndex, 0, maxSegments-1)
}

// listOptions are those of the engine. The Go SDK leaves a segmentIndex of 0 out.
func (q *request) listOptions() (o sprat.ListOptions, err error) {
	o.Limit = defaultListed
	if q.maxResults != nil {
		o.Limit = int(*q.maxResults)
	}
	if q.nextToken != nil {
		o.Token = *q.nextToken
	}
	if q.segmentCount != nil {
		o.Segments = int(*q.segmentCount)
	}
	if q.segmentIndex != nil {
		o.Segment = int(*q.segmentIndex)
	}
	o.Fields = sprat.Fields{Vectors: q.returnData, Metadata: q.returnMetadata}
	switch {
	case q.segmentCount == nil && o.Segment > 0:
		return o, badInput("segmentCount", "segmentCount must be specified when segmentIndex is specified")
	case q.segmentCount != nil && o.Segment >= o.Segments:
		return o, badInput("segmentIndex", "segmentIndex must be less than segmentCount")
	}
	return o, nil
}

func (h *Handler) listVectors(ctx context.Context, c *call) ([]byte, error) {
	t := c.q.target
	o, err := c.q.listOptions()
	if err != nil {
		return nil, err
	}
	info, err := h.engine.Index(ctx, t.bucket, t.index)
	if err != nil {
		return nil, engineError(err, textIndexNotFound, false)
	}
	if err := c.answerRoom(ctx, 4*listBytes); err != nil {
		return nil, err
	}
	b := []byte(`{"vectors":[`)
	// The engine's pages are counted in vectors, so a page of so many bytes is made of
	// smaller ones.
	processed := 0
	for left := o.Limit; ; {
		o.Limit = min(left, h.partLimit(&info, o.Fields, listBytes-processed))
		page, err := h.engine.List(ctx, t.bucket, t.index, o)
		if err != nil {
			return nil, engineError(err, textIndexNotFound, false)
		}
		for i := range page.Records {
			r := &page.Records[i]
			processed += len(r.Key) + 4*len(r.Vector) + len(r.Metadata)
			b = append(h.appendRecord(b, r, o.Fields), ',')
		}
		o.Token = page.Next
		if left -= len(page.Records); left <= 0 || o.Token == "" || processed >= listBytes {
			break
		}
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	b = append(b, ']')
	if o.Token != "" {
		b = floatjson.AppendString(append(b, `,"nextToken":`...), o.Token)
	}
	return append(b, '}'), nil
}

// partLimit is how many vectors to ask for when so many bytes of a page are left:
// those that fit, where metadata may be of any size up to its largest.
func (h *Handler) partLimit(info *IndexInfo, want sprat.Fields, left int) int {
	each := 16 // a short key
	if want.Vectors {
		each += 4 * info.Dimension
	}
	n := max(left/each, 1)
	if want.Metadata {
		n = min(n, 64)
	}
	return n
}
