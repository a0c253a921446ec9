package s3vectors

import (
	"regexp"
	"strings"
)

// Patterns of the API's model.
const (
	bucketARNPattern = `arn:aws[-a-z0-9]*:s3vectors:[a-z0-9-]+:[0-9]{12}:bucket/[a-z0-9][a-z0-9-.]{1,61}[a-z0-9]`
	indexARNPattern  = bucketARNPattern + `/index/[a-z0-9][a-z0-9-.]{1,61}[a-z0-9]`
	kmsARNPattern    = `(arn:aws[-a-z0-9]*:kms:[-a-z0-9]*:[0-9]{12}:key/.+)`
	tagPattern       = `^([\p{L}\p{Z}\p{N}_.:/=+\-@]*)$`
)

var (
	bucketARNForm  = regexp.MustCompile("^" + bucketARNPattern + "$")
	indexARNForm   = regexp.MustCompile("^" + indexARNPattern + "$")
	kmsARNForm     = regexp.MustCompile("^" + kmsARNPattern + "$")
	tagForm        = regexp.MustCompile(tagPattern)
	bucketNameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*[a-z0-9]$`)
	indexNameForm  = regexp.MustCompile(`^[a-z0-9][a-z0-9-.]*[a-z0-9]$`)
	// shownForm are the names that the API can express; others of the engine stay hidden.
	shownForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-.]{1,61}[a-z0-9]$`)
)

// resource is a bucket, or an index of one.
type resource struct {
	bucket, index string
	foreign       bool // of another Region or account: it is not found here
}

// parseARN takes an ARN of either form apart.
func (h *Handler) parseARN(arn string) resource {
	parts := strings.SplitN(arn, ":", 6)
	path := strings.Split(parts[5], "/") // bucket/<name>[/index/<name>]
	r := resource{bucket: path[1], foreign: parts[3] != h.o.Region || parts[4] != h.o.Account}
	if len(path) == 4 {
		r.index = path[3]
	}
	return r
}

// arn is the ARN of a resource.
func (h *Handler) arn(r resource) string {
	arn := "arn:aws:s3vectors:" + h.o.Region + ":" + h.o.Account + ":bucket/" + r.bucket
	if r.index != "" {
		arn += "/index/" + r.index
	}
	return arn
}

// missing is the text for a resource that is not there.
func (r resource) missing() string {
	if r.index != "" {
		return textIndexNotFound
	}
	return textBucketNotFound
}
