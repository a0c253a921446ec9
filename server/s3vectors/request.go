package s3vectors

import (
	"strconv"
	"unicode/utf8"

	"github.com/spratdb/sprat/server/s3vectors/floatjson"
)

// request is the input of an operation. A nil pointer is a member that was not given,
// or null.
type request struct {
	bucketName, bucketARN, indexName, indexARN *string
	resourceARN                                string // of the tag operations
	prefix, nextToken, policy                  *string
	maxResults, segmentCount, segmentIndex     *int64
	returnData, returnMetadata, returnDistance bool

	dataType, metric   *string
	dimension          *int64
	nonFilterable      []string // no more than maxNonFilterable
	nonFilterableCount int
	textSearch         bool // textSearchConfigurations were given
	encryption         *encryption

	tags     map[string]string
	tagCount int // may exceed what tags keeps
	hasTags  bool
	tagKeys  []string

	vectors  vectorList
	keys     keyList
	topK     *int64
	query    *vector
	filter   []byte // compact; nil for none
	mode     *string
	hasTexts bool // queryTexts were given

	target resource // that the request is about, once its names are checked
}

// member reads the value of one member. Null values do not get here.
type member func(q *request, s *floatjson.Scanner) error

// members are the inputs of an operation by name. Others are ignored, so that newer
// clients keep working.
type members map[string]member

// parse reads the body of a request.
func (m members) parse(q *request, body []byte) error {
	if len(body) == 0 {
		body = []byte("{}")
	}
	s, err := floatjson.NewScanner(body)
	if err != nil {
		return malformed(err)
	}
	err = s.Object(func(name []byte) error {
		read := m[string(name)]
		if read == nil || s.TakeNull() {
			return nil
		}
		return read(q, s)
	})
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return malformed(err)
	}
	return nil
}

// with joins sets of members.
func with(sets ...members) members {
	all := members{}
	for _, set := range sets {
		for name, read := range set {
			all[name] = read
		}
	}
	return all
}

// text is a member that is a string.
func text(at func(q *request) **string) member {
	return func(q *request, s *floatjson.Scanner) error {
		v, err := s.String()
		*at(q) = &v
		return err
	}
}

// integer is a member that is a whole number of 32 bits.
func integer(at func(q *request) **int64) member {
	return func(q *request, s *floatjson.Scanner) error {
		raw, err := s.Number()
		if err != nil {
			return err
		}
		v, err := strconv.ParseInt(string(raw), 10, 32)
		*at(q) = &v
		return err
	}
}

// flag is a member that is a boolean.
func flag(at func(q *request) *bool) member {
	return func(q *request, s *floatjson.Scanner) (err error) {
		*at(q), err = s.Bool()
		return err
	}
}

// present is a member of which only matters that it was given, and is not empty.
func present(at func(q *request) *bool) member {
	return func(q *request, s *floatjson.Scanner) error {
		*at(q) = false
		if s.Peek() != floatjson.Array {
			*at(q) = true
			return s.Skip()
		}
		return s.Array(func(int) error { *at(q) = true; return nil })
	}
}

// Members that several operations have.
var (
	bucketRef = members{
		"vectorBucketName": text(func(q *request) **string { return &q.bucketName }),
		"vectorBucketArn":  text(func(q *request) **string { return &q.bucketARN }),
	}
	indexRef = members{
		"vectorBucketName": text(func(q *request) **string { return &q.bucketName }),
		"indexName":        text(func(q *request) **string { return &q.indexName }),
		"indexArn":         text(func(q *request) **string { return &q.indexARN }),
	}
	paging = members{
		"maxResults": integer(func(q *request) **int64 { return &q.maxResults }),
		"nextToken":  text(func(q *request) **string { return &q.nextToken }),
	}
	prefixed = members{"prefix": text(func(q *request) **string { return &q.prefix })}
	returned = members{
		"returnData":     flag(func(q *request) *bool { return &q.returnData }),
		"returnMetadata": flag(func(q *request) *bool { return &q.returnMetadata }),
	}
)

// optionalLength checks the length of a text in characters, where it was given.
func (v *violations) optionalLength(path string, text *string, least, most int) {
	if text != nil {
		v.length(path, utf8.RuneCountInString(*text), least, most)
	}
}

// optionalBetween checks a number, where it was given.
func (v *violations) optionalBetween(path string, n *int64, least, most int64) {
	if n != nil {
		v.between(path, *n, least, most)
	}
}

// names checks the constraints of the members that name a resource.
func (v *violations) names(q *request) {
	v.optionalLength("/vectorBucketName", q.bucketName, 3, 63)
	if q.bucketARN != nil && !bucketARNForm.MatchString(*q.bucketARN) {
		v.pattern("/vectorBucketArn", bucketARNPattern)
	}
	v.optionalLength("/indexName", q.indexName, 3, 63)
	if q.indexARN != nil && !indexARNForm.MatchString(*q.indexARN) {
		v.pattern("/indexArn", indexARNPattern)
	}
}

// bucketTarget finds the bucket that a request is about, once its constraints hold.
func (h *Handler) bucketTarget(q *request) error {
	switch {
	case (q.bucketName == nil) == (q.bucketARN == nil):
		return badInput("vectorBucketName", textBucketRef)
	case q.bucketARN != nil:
		q.target = h.parseARN(*q.bucketARN)
		return nil
	}
	q.target = resource{bucket: *q.bucketName}
	return checkBucketName(q.target.bucket)
}

// indexTarget finds the index that a request is about.
func (h *Handler) indexTarget(q *request) error {
	byName := q.bucketName != nil && q.indexName != nil
	switch {
	case q.indexARN != nil && q.bucketName == nil && q.indexName == nil:
		q.target = h.parseARN(*q.indexARN)
		return nil
	case q.indexARN != nil || !byName:
		return badInput("indexArn", textIndexRef)
	}
	q.target = resource{bucket: *q.bucketName, index: *q.indexName}
	if err := checkBucketName(q.target.bucket); err != nil {
		return err
	}
	return checkIndexName(q.target.index)
}

func checkBucketName(name string) error {
	if !bucketNameForm.MatchString(name) {
		return badInput("vectorBucketName", "Invalid vector bucket name")
	}
	return nil
}

func checkIndexName(name string) error {
	if !indexNameForm.MatchString(name) {
		return badInput("indexName", "Invalid index name")
	}
	return nil
}
