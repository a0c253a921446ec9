package s3vectors

import (
	"context"
	"net/url"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/spratdb/sprat/server/s3vectors/floatjson"
)

// Attributes of a bucket or index that this package keeps. A tag is an attribute of
// its own, named by a hash of its key, which may be longer than a name; so changes of
// different tags do not undo each other.
const (
	attrPolicy     = "s3vectors/policy"
	attrEncryption = "s3vectors/encryption"
	attrTag        = "s3vectors/tag/"
)

const (
	maxTags   = 50
	keptTags  = 4 * maxTags // of a request that has too many anyway
	maxTagKey = 128
	maxTagVal = 256
	maxTagARN = 1011
)

func readTags(q *request, s *floatjson.Scanner) error {
	q.tags, q.tagCount, q.hasTags = map[string]string{}, 0, true
	return s.Object(func(name []byte) error {
		key := string(name)
		value, err := s.String()
		if _, again := q.tags[key]; !again {
			q.tagCount++
		}
		if len(q.tags) < keptTags {
			q.tags[key] = value
		}
		return err
	})
}

// sortedTags are the keys of tags in order.
func sortedTags(tags map[string]string) []string {
	keys := make([]string, 0, len(tags))
	for key := range tags {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// checkTags adds the constraints that tags break.
func (v *violations) checkTags(tags map[string]string) {
	for _, key := range sortedTags(tags) {
		v.tagKey("/tags", key)
		path := "/tags/" + key
		v.length(path, utf8.RuneCountInString(tags[key]), 0, maxTagVal)
		if !tagForm.MatchString(tags[key]) {
			v.pattern(path, tagPattern)
		}
	}
}

func (v *violations) tagKey(path, key string) {
	v.length(path, utf8.RuneCountInString(key), 1, maxTagKey)
	if !tagForm.MatchString(key) {
		v.pattern(path, tagPattern)
	}
}

// ownTags refuses tags that are AWS's, and too many.
func ownTags(tags map[string]string, count int) error {
	if count > maxTags {
		return badInput("tags", textTooManyTags)
	}
	for _, key := range sortedTags(tags) {
		switch {
		case strings.HasPrefix(key, "aws:"):
			return badInput("tags", textSystemTag)
		case len(key) >= 4 && strings.EqualFold(key[:4], "aws:"):
			return badInput("tags", "Invalid System Tag: "+key+` must be prefixed with "aws:" in lowercase.`)
		}
	}
	return nil
}

// tagsOf are the tags among attributes.
func tagsOf(attributes map[string][]byte) map[string]string {
	tags := map[string]string{}
	for name, kept := range attributes {
		if strings.HasPrefix(name, attrTag) {
			if key, value, ok := strings.Cut(string(kept), "\x00"); ok {
				tags[key] = value
			}
		}
	}
	return tags
}

// putTags adds tags to a change of attributes.
func putTags(change map[string][]byte, tags map[string]string) {
	for key, value := range tags {
		change[attrTag+hashName(key)] = []byte(key + "\x00" + value)
	}
}

func checkTagTarget(h *Handler, q *request, v *violations) {
	v.length("/resourceArn", utf8.RuneCountInString(q.resourceARN), 0, maxTagARN)
}

// tagTarget finds the resource of a tag operation.
func (h *Handler) tagTarget(q *request) error {
	if !bucketARNForm.MatchString(q.resourceARN) && !indexARNForm.MatchString(q.resourceARN) {
		return badInput("resourceArn", "Invalid resource ARN")
	}
	q.target = h.parseARN(q.resourceARN)
	return nil
}

func (h *Handler) listTags(ctx context.Context, c *call) ([]byte, error) {
	t := c.q.target
	attributes, err := h.engine.Attributes(ctx, t.bucket, t.index)
	if err != nil {
		return nil, engineError(err, t.missing(), false)
	}
	tags := tagsOf(attributes)
	b := []byte(`{"tags":{`)
	for i, key := range sortedTags(tags) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(floatjson.AppendString(b, key), ':')
		b = floatjson.AppendString(b, tags[key])
	}
	return append(b, '}', '}'), nil
}

func checkTagResource(h *Handler, q *request, v *violations) {
	checkTagTarget(h, q, v)
	if !q.hasTags {
		v.missing("/tags")
	}
	v.checkTags(q.tags)
}

func (h *Handler) tagResource(ctx context.Context, c *call) ([]byte, error) {
	t := c.q.target
	if err := ownTags(c.q.tags, c.q.tagCount); err != nil {
		return nil, err
	}
	attributes, err := h.engine.Attributes(ctx, t.bucket, t.index)
	if err != nil {
		return nil, engineError(err, t.missing(), false)
	}
	all := tagsOf(attributes)
	for key, value := range c.q.tags {
		all[key] = value
	}
	if len(all) > maxTags {
		return nil, badInput("tags", textTooManyTags)
	}
	change := map[string][]byte{}
	putTags(change, c.q.tags)
	return emptyAnswer, h.setAttributes(ctx, t, change)
}

// tagKeysOf takes the repeated tagKeys of a query string.
func tagKeysOf(r *url.URL) ([]string, error) {
	values, err := url.ParseQuery(r.RawQuery)
	return values["tagKeys"], err
}

func checkUntag(h *Handler, q *request, v *violations) {
	checkTagTarget(h, q, v)
	if len(q.tagKeys) == 0 {
		v.missing("/tagKeys")
	}
	for _, key := range q.tagKeys {
		v.tagKey("/tagKeys", key)
	}
}

func (h *Handler) untagResource(ctx context.Context, c *call) ([]byte, error) {
	change := map[string][]byte{}
	for _, key := range c.q.tagKeys {
		change[attrTag+hashName(key)] = nil
	}
	return emptyAnswer, h.setAttributes(ctx, c.q.target, change)
}

// setAttributes changes attributes and forgets what was cached of them.
func (h *Handler) setAttributes(ctx context.Context, t resource, change map[string][]byte) error {
	defer h.policies.forget(t.bucket) // also when it is not known whether it was changed
	return engineError(h.engine.SetAttributes(ctx, t.bucket, t.index, change), t.missing(), false)
}
