package s3vectors

import (
	"context"
	"errors"
	"time"

	"github.com/spratdb/sprat"
)

// What an engine may answer besides the errors of package sprat.
var (
	// ErrTooManyRequests says that the engine takes no more requests for a moment. The
	// client is told so, and comes again.
	ErrTooManyRequests = errors.New("too many requests")
	// ErrUnavailable says that the engine cannot be reached. The client comes again.
	ErrUnavailable = errors.New("the engine cannot be reached")
)

// Engine keeps buckets, indexes and vectors. Implementations are safe for concurrent
// use. Errors are those of package sprat: ErrNotFound, ErrExists, ErrNotEmpty,
// *InputError, *RowError, ErrVolumeFull, ErrMemoryLimit, ErrClosed, the context's, and
// the two above.
// What is passed in is not kept after a call returns.
type Engine interface {
	// CreateBucket makes a bucket with attributes.
	CreateBucket(ctx context.Context, name string, attributes map[string][]byte) error
	// Bucket describes a bucket.
	Bucket(ctx context.Context, name string) (sprat.BucketInfo, error)
	// Buckets lists buckets in the order of their names; more says that there are
	// others behind the last.
	Buckets(ctx context.Context, page Page) (list []sprat.BucketInfo, more bool, err error)
	// DeleteBucket removes an empty bucket.
	DeleteBucket(ctx context.Context, name string) error

	// CreateIndex makes an index with attributes, in a bucket that is there.
	CreateIndex(ctx context.Context, bucket, index string, cfg sprat.IndexConfig, attributes map[string][]byte) error
	// Index describes an index. It is called once for most requests and should be fast.
	Index(ctx context.Context, bucket, index string) (IndexInfo, error)
	// Indexes lists the indexes of a bucket, as Buckets does.
	Indexes(ctx context.Context, bucket string, page Page) (list []IndexInfo, more bool, err error)
	// DeleteIndex removes an index and its vectors.
	DeleteIndex(ctx context.Context, bucket, index string) error

	// Attributes returns the small values kept for a bucket (index "") or an index.
	Attributes(ctx context.Context, bucket, index string) (map[string][]byte, error)
	// SetAttributes changes them as one; nil removes a value.
	SetAttributes(ctx context.Context, bucket, index string, change map[string][]byte) error

	// Put inserts or replaces vectors, all or none, and refuses the metadata that S3
	// Vectors refuses (sprat.PutOptions.StrictMetadata).
	Put(ctx context.Context, bucket, index string, records []sprat.Record) error
	// Get returns the vectors of the keys, without those that are not there.
	Get(ctx context.Context, bucket, index string, keys []string, want sprat.Fields) ([]sprat.Record, error)
	// Delete removes vectors; keys that are not there are no error.
	Delete(ctx context.Context, bucket, index string, keys []string) error
	// List returns a page of vectors.
	List(ctx context.Context, bucket, index string, o sprat.ListOptions) (sprat.ListPage, error)
	// Query returns the vectors nearest to q. Of the options it honours Metadata, Filter
	// and StrictFilter.
	Query(ctx context.Context, bucket, index string, q []float32, k int, o sprat.QueryOptions) (*sprat.Result, error)
}

// Page is a part of a listing by name.
type Page struct {
	After  string // names behind this one; "" for the first
	Prefix string // of names
	Limit  int    // at least 1
}

// IndexInfo describes an index.
type IndexInfo struct {
	Bucket, Name  string
	Created       time.Time
	Dimension     int
	Metric        sprat.Metric
	NonFilterable []string
}
