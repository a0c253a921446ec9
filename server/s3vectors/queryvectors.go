package s3vectors

import (
	"context"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/s3vectors/floatjson"
)

// querying are the members of QueryVectors but those that name the index.
var querying = members{
	"topK":           integer(func(q *request) **int64 { return &q.topK }),
	"queryVector":    readQueryVector,
	"queryTexts":     present(func(q *request) *bool { return &q.hasTexts }),
	"queryMode":      text(func(q *request) **string { return &q.mode }),
	"filter":         readFilter,
	"returnMetadata": flag(func(q *request) *bool { return &q.returnMetadata }),
	"returnDistance": flag(func(q *request) *bool { return &q.returnDistance }),
	"nextToken":      text(func(q *request) **string { return &q.nextToken }),
}

func checkQueryVectors(_ *Handler, q *request, v *violations) {
	v.names(q)
	if q.topK == nil {
		v.missing("/topK")
	}
	v.optionalBetween("/topK", q.topK, 1, sprat.MaxK)
	if q.query != nil || !q.hasTexts {
		q.query.check(v, "/queryVector")
	}
	if q.mode != nil {
		v.enum("/queryMode", *q.mode, "CLASSIC", "ENHANCED")
	}
	if q.nextToken != nil {
		v.length("/nextToken", utf8.RuneCountInString(*q.nextToken), 1, 4096)
	}
}

func (h *Handler) queryVectors(ctx context.Context, c *call) ([]byte, error) {
	q, t := c.q, c.q.target
	if q.hasTexts {
		return nil, badInput("queryTexts", "Full-text search is not available in this service")
	}
	info, err := h.engine.Index(ctx, t.bucket, t.index)
	if err != nil {
		return nil, engineError(err, textIndexNotFound, false)
	}
	if why := q.query.reason(&info); why != "" {
		return nil, badField(textQueryVector, "vector", "Invalid input: "+why)
	}
	if err := c.answerRoom(ctx, h.queryRoom(q)); err != nil {
		return nil, err
	}
	a := &queryAnswer{h: h, q: q, info: &info}
	if err := a.fetch(ctx); err != nil {
		return nil, err
	}
	return a.write(ctx)
}

// queryRoom is what an answer may take: all results without their metadata, and a page
// with it.
func (h *Handler) queryRoom(q *request) int {
	n := int(*q.topK) * (sprat.MaxKeyBytes + 176)
	if q.returnMetadata {
		n += 3 * h.o.QueryBytes
	}
	return n
}

// queryAnswer is a page of results on its way.
type queryAnswer struct {
	h    *Handler
	q    *request
	info *IndexInfo

	id       pageID // of the kept set, when this is not the first page
	kept     bool
	from     int           // results before this page
	matches  []sprat.Match // all of the query
	metadata bool          // matches have theirs
}

// withMetadata is up to how many results metadata is asked for at once with them.
const withMetadata = 100

// fetch runs the query, or finds its results where it was run for an earlier page.
func (a *queryAnswer) fetch(ctx context.Context) error {
	h, q := a.h, a.q
	if q.nextToken != nil {
		var ok bool
		if a.id, a.from, ok = parsePageToken(*q.nextToken); ok {
			a.matches, ok = h.pages.find(a.id, queryHash(a.info, q))
		}
		if a.kept = ok && a.from < len(a.matches); !a.kept {
			return badInput("nextToken", "Invalid nextToken: it has expired, or belongs to another query. Send the query without it to start again")
		}
		return nil
	}
	a.metadata = q.returnMetadata && *q.topK <= withMetadata
	res, err := h.engine.Query(ctx, a.info.Bucket, a.info.Name, q.query.values, int(*q.topK),
		sprat.QueryOptions{Metadata: a.metadata, Filter: q.filter, StrictFilter: h.o.StrictFilter})
	if err != nil {
		return engineError(err, textIndexNotFound, false)
	}
	a.matches = res.Matches
	return nil
}

// write makes the answer, and keeps what does not fit for another page.
func (a *queryAnswer) write(ctx context.Context) ([]byte, error) {
	b := []byte(`{"vectors":[`)
	end := min(len(a.matches), a.from+a.h.o.QueryPage)
	next := a.from
	for next < end && (next == a.from || len(b) < a.h.o.QueryBytes) {
		part := a.matches[next:min(end, next+withMetadata)]
		documents, err := a.documents(ctx, part)
		if err != nil {
			return nil, err
		}
		for i := range part {
			if len(b) >= a.h.o.QueryBytes && next > a.from {
				break
			}
			next++
			if document, there := documents[part[i].Key]; there || documents == nil {
				b = append(a.match(b, &part[i], document), ',')
			}
		}
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	b = floatjson.AppendString(append(b, `],"distanceMetric":`...), a.info.Metric.String())
	if next < len(a.matches) {
		b = floatjson.AppendString(append(b, `,"nextToken":`...), a.token(next))
	}
	return append(b, '}'), nil
}

// token stands for the results from next on.
func (a *queryAnswer) token(next int) string {
	if !a.kept {
		bare := make([]sprat.Match, len(a.matches))
		for i := range bare {
			bare[i] = sprat.Match{Key: a.matches[i].Key, Distance: a.matches[i].Distance}
		}
		a.id = a.h.pages.keep(queryHash(a.info, a.q), bare)
	}
	return pageToken(a.id, next)
}

// documents returns the metadata of results by key; nil when there is nothing to
// fetch. Vectors that went since the query was run are not in it.
func (a *queryAnswer) documents(ctx context.Context, part []sprat.Match) (map[string][]byte, error) {
	if !a.q.returnMetadata || a.metadata {
		return nil, nil
	}
	keys := make([]string, len(part))
	for i := range part {
		keys[i] = part[i].Key
	}
	records, err := a.h.engine.Get(ctx, a.info.Bucket, a.info.Name, keys, sprat.Fields{Metadata: true})
	if err != nil {
		return nil, engineError(err, textIndexNotFound, false)
	}
	documents := make(map[string][]byte, len(records))
	for i := range records {
		documents[records[i].Key] = records[i].Metadata
	}
	return documents, nil
}

func (a *queryAnswer) match(b []byte, m *sprat.Match, document []byte) []byte {
	b = append(b, '{')
	if a.q.returnDistance {
		b = append(a.distance(append(b, `"distance":`...), m.Distance), ',')
	}
	b = floatjson.AppendString(append(b, `"key":`...), m.Key)
	if a.q.returnMetadata {
		if a.metadata {
			document = m.Metadata
		}
		b = appendMetadata(b, document)
	}
	return append(b, '}')
}

// distance writes a distance as AWS reports it: a float32. The engine's error of some
// 1e-16 must not keep equal directions from being at distance 0.
func (a *queryAnswer) distance(b []byte, d float64) []byte {
	switch a.info.Metric {
	case sprat.Cosine:
		const snap = 1e-12
		d = min(max(d, 0), 2)
		if whole := math.Round(d); math.Abs(d-whole) < snap {
			d = whole
		}
	case sprat.Euclidean:
		if d = max(d, 0); a.h.o.PlainEuclidean {
			d = math.Sqrt(d)
		}
	}
	x := float32(d)
	if math.IsInf(float64(x), 0) { // two vectors at the limits: JSON has no infinity
		return strconv.AppendFloat(b, d, 'g', -1, 64)
	}
	if a.h.o.ShortFloats {
		return floatjson.AppendFloat32(b, x)
	}
	return floatjson.AppendWide(b, x)
}
