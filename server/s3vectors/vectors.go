package s3vectors

import (
	"context"
	"errors"
	"strconv"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/s3vectors/floatjson"
)

func checkPutVectors(_ *Handler, q *request, v *violations) {
	v.names(q)
	q.vectors.check(v)
}

func (h *Handler) putVectors(ctx context.Context, c *call) ([]byte, error) {
	t := c.q.target
	info, err := h.engine.Index(ctx, t.bucket, t.index)
	if err != nil {
		return nil, engineError(err, textIndexNotFound, false)
	}
	records, err := c.q.vectors.records(&info)
	if err != nil {
		return nil, err
	}
	return emptyAnswer, putError(h.engine.Put(ctx, t.bucket, t.index, records))
}

// putError tells which record the engine refused.
func putError(err error) error {
	var (
		row   *sprat.RowError
		input *sprat.InputError
	)
	if !errors.As(err, &row) || !errors.As(err, &input) {
		return engineError(err, textIndexNotFound, true)
	}
	path := "vectors[" + strconv.FormatInt(row.Row, 10) + "]"
	switch input.Field {
	case "metadata":
		return badRecord(row.Key, path+".metadata", metadataText(input))
	case "key":
		return badInput(path, "Invalid key: want "+input.Want+", got "+input.Got)
	}
	return badRecord(row.Key, path, "invalid "+input.Field+": want "+input.Want+", got "+input.Got)
}

// metadataText is the message about a document. One that is longer as text than the
// engine keeps is as one that is too large.
func metadataText(e *sprat.InputError) string {
	if e.Got == sprat.MalformedJSON {
		return "Metadata is malformed"
	}
	if len(e.Got) < 10 || e.Got[0] >= '0' && e.Got[0] <= '9' {
		return "Metadata object must have at most 40960 bytes"
	}
	return e.Got
}

func checkGetVectors(_ *Handler, q *request, v *violations) {
	v.names(q)
	q.keys.check(v, maxGet)
}

func checkDeleteVectors(_ *Handler, q *request, v *violations) {
	v.names(q)
	q.keys.check(v, maxDelete)
}

func (h *Handler) deleteVectors(ctx context.Context, c *call) ([]byte, error) {
	t := c.q.target
	keys, err := c.q.keys.unique()
	if err != nil {
		return nil, err
	}
	return emptyAnswer, engineError(h.engine.Delete(ctx, t.bucket, t.index, keys), textIndexNotFound, false)
}

func (h *Handler) getVectors(ctx context.Context, c *call) ([]byte, error) {
	q, t := c.q, c.q.target
	keys, err := q.keys.unique()
	if err != nil {
		return nil, err
	}
	info, err := h.engine.Index(ctx, t.bucket, t.index)
	if err != nil {
		return nil, engineError(err, textIndexNotFound, false)
	}
	want := sprat.Fields{Vectors: q.returnData, Metadata: q.returnMetadata}
	if err := c.answerRoom(ctx, len(keys)*recordBytes(&info, want)); err != nil {
		return nil, err
	}
	records, err := h.engine.Get(ctx, t.bucket, t.index, keys, want)
	if err != nil {
		return nil, engineError(err, textIndexNotFound, false)
	}
	b := []byte(`{"vectors":[`)
	for i := range records {
		if i > 0 {
			b = append(b, ',')
		}
		b = h.appendRecord(b, &records[i], want)
	}
	return append(b, ']', '}'), nil
}

// recordBytes is what a record may take in an answer and while it is made.
func recordBytes(info *IndexInfo, want sprat.Fields) int {
	n := 6*sprat.MaxKeyBytes/4 + 64
	if want.Vectors {
		n += info.Dimension * (4 + 22)
	}
	if want.Metadata {
		n += 2 * sprat.MaxMetadataBytes
	}
	return n
}

// appendRecord writes a vector of GetVectors or ListVectors.
func (h *Handler) appendRecord(b []byte, r *sprat.Record, want sprat.Fields) []byte {
	b = floatjson.AppendString(append(b, `{"key":`...), r.Key)
	if want.Vectors {
		b = append(b, `,"data":{"float32":`...)
		b = append(floatjson.AppendFloat32s(b, r.Vector, !h.o.ShortFloats), '}')
	}
	if want.Metadata {
		b = appendMetadata(b, r.Metadata)
	}
	return append(b, '}')
}

// appendMetadata writes a document as it was kept; none is an empty one.
func appendMetadata(b, document []byte) []byte {
	b = append(b, `,"metadata":`...)
	if len(document) == 0 {
		return append(b, '{', '}')
	}
	return append(b, document...)
}
