package s3vectors

import (
	"context"
	"encoding/base64"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/spratdb/sprat/server/s3vectors/floatjson"
)

// creation are the members that both create operations have.
var creation = members{"encryptionConfiguration": readEncryption, "tags": readTags}

func checkCreateBucket(_ *Handler, q *request, v *violations) {
	if q.bucketName == nil {
		v.missing("/vectorBucketName")
	}
	v.names(q)
	q.encryption.check(v)
	v.checkTags(q.tags)
}

// newBucketTarget is the bucket to be made.
func (h *Handler) newBucketTarget(q *request) error {
	q.target = resource{bucket: *q.bucketName}
	return checkBucketName(q.target.bucket)
}

func (h *Handler) createBucket(ctx context.Context, c *call) ([]byte, error) {
	q := c.q
	attributes, err := h.firstAttributes(q, q.encryption.encode)
	if err != nil {
		return nil, err
	}
	defer h.policies.forget(q.target.bucket)
	if err := h.engine.CreateBucket(ctx, q.target.bucket, attributes); err != nil {
		return nil, createError(err, textBucketExists, "")
	}
	b := floatjson.AppendString([]byte(`{"vectorBucketArn":`), h.arn(q.target))
	return append(b, '}'), nil
}

// firstAttributes are those that a bucket or index is made with.
func (h *Handler) firstAttributes(q *request, encryption func() []byte) (map[string][]byte, error) {
	if err := h.pairing(q.encryption); err != nil {
		return nil, err
	}
	if err := ownTags(q.tags, q.tagCount); err != nil {
		return nil, err
	}
	attributes := map[string][]byte{attrEncryption: encryption()}
	putTags(attributes, q.tags)
	return attributes, nil
}

// createError is engineError for creations: what exists is a conflict.
func createError(err error, exists, missing string) error {
	if isExists(err) {
		return conflict(exists)
	}
	return engineError(err, missing, true)
}

func (h *Handler) getBucket(ctx context.Context, c *call) ([]byte, error) {
	t := c.q.target
	info, err := h.engine.Bucket(ctx, t.bucket)
	if err != nil {
		return nil, engineError(err, textBucketNotFound, false)
	}
	attributes, err := h.engine.Attributes(ctx, t.bucket, "")
	if err != nil {
		return nil, engineError(err, textBucketNotFound, false)
	}
	b := h.appendBucket([]byte(`{"vectorBucket":`), info.Name, info.Created)
	b = append(b[:len(b)-1], `,"encryptionConfiguration":`...)
	b = append(b, encryptionOf(attributes)...)
	return append(b, '}', '}'), nil
}

func (h *Handler) appendBucket(b []byte, name string, created time.Time) []byte {
	b = floatjson.AppendString(append(b, `{"vectorBucketName":`...), name)
	b = floatjson.AppendString(append(b, `,"vectorBucketArn":`...), h.arn(resource{bucket: name}))
	b = appendTime(append(b, `,"creationTime":`...), created)
	return append(b, '}')
}

// appendTime writes seconds since 1970, with milliseconds.
func appendTime(b []byte, t time.Time) []byte {
	ms := int64(0)
	if !t.IsZero() {
		ms = t.UnixMilli()
	}
	b = strconv.AppendInt(b, ms/1000, 10)
	if f := ms % 1000; f != 0 {
		b = append(b, '.', byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
	}
	return b
}

func (h *Handler) deleteBucket(ctx context.Context, c *call) ([]byte, error) {
	defer h.policies.forget(c.q.target.bucket)
	err := h.engine.DeleteBucket(ctx, c.q.target.bucket)
	if isNotEmpty(err) {
		return nil, conflict(textNotEmpty)
	}
	return emptyAnswer, engineError(err, textBucketNotFound, false)
}

// maxNames is the largest page of a listing by name, and its default.
const maxNames = 500

// checkListing checks the members of the listings by name.
func checkListing(_ *Handler, q *request, v *violations) {
	v.names(q)
	v.optionalBetween("/maxResults", q.maxResults, 1, maxNames)
	v.optionalLength("/nextToken", q.nextToken, 1, 512)
	v.optionalLength("/prefix", q.prefix, 1, 63)
}

func (h *Handler) listBuckets(ctx context.Context, c *call) ([]byte, error) {
	b := []byte(`{"vectorBuckets":[`)
	return h.list(c.q, b, func(page Page, b []byte) ([]byte, []string, bool, error) {
		list, more, err := h.engine.Buckets(ctx, page)
		var names []string
		for _, info := range list {
			names = append(names, info.Name)
			if shownForm.MatchString(info.Name) {
				b = append(h.appendBucket(b, info.Name, info.Created), ',')
			}
		}
		return b, names, more, engineError(err, "", false)
	})
}

// list pages through names: next appends a page, each item with a comma behind it, and
// returns the names of the page.
func (h *Handler) list(q *request, b []byte, next func(Page, []byte) (out []byte, names []string, more bool, err error)) ([]byte, error) {
	page := Page{Limit: maxNames}
	if q.maxResults != nil {
		page.Limit = int(*q.maxResults)
	}
	if q.prefix != nil {
		page.Prefix = *q.prefix
	}
	if q.nextToken != nil {
		var ok bool
		if page.After, ok = parseNameToken(*q.nextToken); !ok {
			return nil, badInput("nextToken", "Invalid nextToken")
		}
	}
	b, names, more, err := next(page, b)
	if err != nil {
		return nil, err
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	b = append(b, ']')
	if more && len(names) > 0 {
		b = floatjson.AppendString(append(b, `,"nextToken":`...), nameToken(names[len(names)-1]))
	}
	return append(b, '}'), nil
}

// A token of a listing by name is base64url of: version 1, CRC32C of the name (4), the
// name.
const nameTokenVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func nameToken(name string) string {
	sum := crc32.Checksum([]byte(name), castagnoli)
	b := append([]byte{nameTokenVersion, byte(sum), byte(sum >> 8), byte(sum >> 16), byte(sum >> 24)}, name...)
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseNameToken(token string) (name string, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < 6 {
		return "", false
	}
	name = string(b[5:])
	return name, nameToken(name) == token
}
