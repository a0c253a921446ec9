package s3vectors

import (
	"context"
	"strconv"
	"unicode/utf8"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/s3vectors/floatjson"
)

// maxNonFilterable is how many keys may be non-filterable, and maxMetadataKey how many
// characters each may have.
const (
	maxNonFilterable = 10
	maxMetadataKey   = 63
)

// indexShape are the members that say what an index is like.
var indexShape = members{
	"indexName":             text(func(q *request) **string { return &q.indexName }),
	"dataType":              text(func(q *request) **string { return &q.dataType }),
	"dimension":             integer(func(q *request) **int64 { return &q.dimension }),
	"distanceMetric":        text(func(q *request) **string { return &q.metric }),
	"metadataConfiguration": readMetadataConfiguration,
}

func readMetadataConfiguration(q *request, s *floatjson.Scanner) error {
	return s.Object(func(name []byte) error {
		switch {
		case s.TakeNull():
		case string(name) == "nonFilterableMetadataKeys":
			q.nonFilterable, q.nonFilterableCount = nil, 0
			return s.Array(func(int) error {
				key, err := s.String()
				if q.nonFilterableCount++; q.nonFilterableCount <= maxNonFilterable {
					q.nonFilterable = append(q.nonFilterable, key)
				}
				return err
			})
		case string(name) == "textSearchConfigurations":
			return present(func(q *request) *bool { return &q.textSearch })(q, s)
		}
		return nil
	})
}

func checkCreateIndex(_ *Handler, q *request, v *violations) {
	v.names(q)
	if q.indexName == nil {
		v.missing("/indexName")
	}
	if q.dataType == nil {
		v.missing("/dataType")
	} else {
		v.enum("/dataType", *q.dataType, "float32")
	}
	if q.dimension == nil {
		v.missing("/dimension")
	}
	v.optionalBetween("/dimension", q.dimension, 1, sprat.MaxDimension)
	if q.metric == nil {
		v.missing("/distanceMetric")
	} else {
		v.enum("/distanceMetric", *q.metric, "euclidean", "cosine")
	}
	const keys = "/metadataConfiguration/nonFilterableMetadataKeys"
	if q.nonFilterableCount > maxNonFilterable {
		v.length(keys, q.nonFilterableCount, 1, maxNonFilterable)
	}
	for i, key := range q.nonFilterable {
		v.length(keys+"/"+strconv.Itoa(i), utf8.RuneCountInString(key), 1, maxMetadataKey)
	}
	q.encryption.check(v)
	v.checkTags(q.tags)
}

// newIndexTarget is the index to be made.
func (h *Handler) newIndexTarget(q *request) error {
	if err := h.bucketTarget(q); err != nil {
		return err
	}
	q.target.index = *q.indexName
	return checkIndexName(q.target.index)
}

func (h *Handler) createIndex(ctx context.Context, c *call) ([]byte, error) {
	q, t := c.q, c.q.target
	if q.textSearch {
		return nil, badInput("metadataConfiguration", "Full-text search is not available in this service")
	}
	// An index has the encryption of its bucket unless it says otherwise.
	bucket, err := h.engine.Attributes(ctx, t.bucket, "")
	if err != nil {
		return nil, engineError(err, textBucketNotFound, false)
	}
	attributes, err := h.firstAttributes(q, func() []byte {
		if q.encryption == nil {
			return encryptionOf(bucket)
		}
		return q.encryption.encode()
	})
	if err != nil {
		return nil, err
	}
	metric, err := sprat.ParseMetric(*q.metric)
	if err != nil {
		return nil, internal(err)
	}
	cfg := sprat.IndexConfig{Dimension: int(*q.dimension), Metric: metric, NonFilterable: q.nonFilterable}
	if err := h.engine.CreateIndex(ctx, t.bucket, t.index, cfg, attributes); err != nil {
		return nil, createError(err, textIndexExists, textBucketNotFound)
	}
	b := floatjson.AppendString([]byte(`{"indexArn":`), h.arn(t))
	return append(b, '}'), nil
}

func (h *Handler) getIndex(ctx context.Context, c *call) ([]byte, error) {
	t := c.q.target
	info, err := h.engine.Index(ctx, t.bucket, t.index)
	if err != nil {
		return nil, engineError(err, textIndexNotFound, false)
	}
	attributes, err := h.engine.Attributes(ctx, t.bucket, t.index)
	if err != nil {
		return nil, engineError(err, textIndexNotFound, false)
	}
	b := h.appendIndex([]byte(`{"index":`), &info)
	b = append(b[:len(b)-1], `,"dataType":"float32","dimension":`...)
	b = strconv.AppendInt(b, int64(info.Dimension), 10)
	b = floatjson.AppendString(append(b, `,"distanceMetric":`...), info.Metric.String())
	if len(info.NonFilterable) > 0 {
		b = append(b, `,"metadataConfiguration":{"nonFilterableMetadataKeys":[`...)
		for i, key := range info.NonFilterable {
			if i > 0 {
				b = append(b, ',')
			}
			b = floatjson.AppendString(b, key)
		}
		b = append(b, ']', '}')
	}
	b = append(append(b, `,"encryptionConfiguration":`...), encryptionOf(attributes)...)
	return append(b, '}', '}'), nil
}

func (h *Handler) appendIndex(b []byte, info *IndexInfo) []byte {
	b = floatjson.AppendString(append(b, `{"vectorBucketName":`...), info.Bucket)
	b = floatjson.AppendString(append(b, `,"indexName":`...), info.Name)
	b = floatjson.AppendString(append(b, `,"indexArn":`...), h.arn(resource{bucket: info.Bucket, index: info.Name}))
	b = appendTime(append(b, `,"creationTime":`...), info.Created)
	return append(b, '}')
}

func (h *Handler) listIndexes(ctx context.Context, c *call) ([]byte, error) {
	bucket := c.q.target.bucket
	b := []byte(`{"indexes":[`)
	return h.list(c.q, b, func(page Page, b []byte) ([]byte, []string, bool, error) {
		list, more, err := h.engine.Indexes(ctx, bucket, page)
		var names []string
		for i := range list {
			names = append(names, list[i].Name)
			if shownForm.MatchString(list[i].Name) {
				b = append(h.appendIndex(b, &list[i]), ',')
			}
		}
		return b, names, more, engineError(err, textBucketNotFound, false)
	})
}

func (h *Handler) deleteIndex(ctx context.Context, c *call) ([]byte, error) {
	t := c.q.target
	return emptyAnswer, engineError(h.engine.DeleteIndex(ctx, t.bucket, t.index), textIndexNotFound, false)
}
