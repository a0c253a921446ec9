package client

import (
	"context"
	"errors"
	"time"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/wire"
)

// IndexInfo describes an index.
type IndexInfo struct {
	Bucket, Name string
	Created      time.Time
	Config       sprat.IndexConfig
	Dials        sprat.Dials
	Vectors      uint64
	// Err says why it cannot be used, in a list; only the names are known then.
	Err error
}

func indexInfo(m *spratv1.Index) IndexInfo {
	info := IndexInfo{Bucket: m.GetBucket(), Name: m.GetName()}
	if m.GetError() != "" {
		info.Err = errors.New(m.GetError())
		return info
	}
	info.Created, info.Dials, info.Vectors = m.GetCreated().AsTime(), wire.DialsOf(m.GetDials()), m.GetVectors()
	info.Config, info.Err = wire.IndexConfigOf(m.GetConfig())
	return info
}

// Page is a part of a listing by name. The zero value is the first page.
type Page struct {
	After  string // names behind this one
	Prefix string // of the names wanted
	Limit  int    // most names, up to 1,000; 0 is 100
}

// CreateBucket makes a bucket with attributes, which may be nil. Errors: ErrInvalid,
// ErrExists.
func (c *Client) CreateBucket(ctx context.Context, name string, attributes map[string][]byte) error {
	if err := checkNames(name, ""); err != nil {
		return err
	}
	_, err := c.catalog.CreateBucket(ctx, &spratv1.CreateBucketRequest{Bucket: name, Attributes: attributes})
	return wire.Error(err)
}

// Bucket describes a bucket. Errors: ErrInvalid, ErrNotFound.
func (c *Client) Bucket(ctx context.Context, name string) (sprat.BucketInfo, error) {
	if err := checkNames(name, ""); err != nil {
		return sprat.BucketInfo{}, err
	}
	answer, err := c.catalog.GetBucket(ctx, &spratv1.GetBucketRequest{Bucket: name})
	if err != nil {
		return sprat.BucketInfo{}, wire.Error(err)
	}
	return wire.BucketOf(answer.GetBucket()), nil
}

// Buckets lists buckets in order of their names. next is the After of the page that
// follows, "" at the end. Errors: ErrInvalid.
func (c *Client) Buckets(ctx context.Context, p Page) (list []sprat.BucketInfo, next string, err error) {
	if err := checkTexts("after", p.After, p.Prefix); err != nil {
		return nil, "", err
	}
	answer, err := c.catalog.ListBuckets(ctx, &spratv1.ListBucketsRequest{After: p.After, Prefix: p.Prefix, Limit: wire.Int32(p.Limit)})
	if err != nil {
		return nil, "", wire.Error(err)
	}
	for _, b := range answer.GetBuckets() {
		list = append(list, wire.BucketOf(b))
	}
	return list, answer.GetNext(), nil
}

// DeleteBucket removes an empty bucket. Errors: ErrInvalid, ErrNotFound, ErrNotEmpty.
func (c *Client) DeleteBucket(ctx context.Context, name string) error {
	if err := checkNames(name, ""); err != nil {
		return err
	}
	_, err := c.catalog.DeleteBucket(ctx, &spratv1.DeleteBucketRequest{Bucket: name})
	return wire.Error(err)
}

// CreateOptions change one CreateIndex. The zero value means every default.
type CreateOptions struct {
	Attributes map[string][]byte
	// BucketMustExist gives ErrNotFound without the bucket, which is made otherwise.
	BucketMustExist bool
}

// CreateIndex makes an empty index. Errors: ErrInvalid, ErrExists, ErrNotFound,
// ErrMemoryLimit.
func (c *Client) CreateIndex(ctx context.Context, bucket, index string, cfg sprat.IndexConfig, o CreateOptions) (IndexInfo, error) {
	if err := checkNames(bucket, index); err != nil {
		return IndexInfo{}, err
	}
	if err := checkTexts("non-filterable", cfg.NonFilterable...); err != nil {
		return IndexInfo{}, err
	}
	answer, err := c.catalog.CreateIndex(ctx, &spratv1.CreateIndexRequest{Bucket: bucket, Index: index,
		Config: wire.IndexConfig(&cfg), Attributes: o.Attributes, BucketMustExist: o.BucketMustExist})
	if err != nil {
		return IndexInfo{}, wire.Error(err)
	}
	return indexInfo(answer.GetIndex()), nil
}

// Index describes an index. Errors: ErrInvalid, ErrNotFound, ErrCorrupt.
func (c *Client) Index(ctx context.Context, bucket, index string) (IndexInfo, error) {
	if err := checkNames(bucket, index); err != nil {
		return IndexInfo{}, err
	}
	answer, err := c.catalog.GetIndex(ctx, &spratv1.GetIndexRequest{Bucket: bucket, Index: index})
	if err != nil {
		return IndexInfo{}, wire.Error(err)
	}
	return indexInfo(answer.GetIndex()), nil
}

// Indexes lists the indexes of a bucket, as Buckets does. Errors: ErrInvalid,
// ErrNotFound.
func (c *Client) Indexes(ctx context.Context, bucket string, p Page) (list []IndexInfo, next string, err error) {
	if err := checkTexts("after", bucket, p.After, p.Prefix); err != nil {
		return nil, "", err
	}
	answer, err := c.catalog.ListIndexes(ctx, &spratv1.ListIndexesRequest{Bucket: bucket, After: p.After, Prefix: p.Prefix, Limit: wire.Int32(p.Limit)})
	if err != nil {
		return nil, "", wire.Error(err)
	}
	for _, x := range answer.GetIndexes() {
		list = append(list, indexInfo(x))
	}
	return list, answer.GetNext(), nil
}

// DeleteIndex removes an index with its vectors. Errors: ErrInvalid, ErrNotFound.
func (c *Client) DeleteIndex(ctx context.Context, bucket, index string) error {
	if err := checkNames(bucket, index); err != nil {
		return err
	}
	_, err := c.catalog.DeleteIndex(ctx, &spratv1.DeleteIndexRequest{Bucket: bucket, Index: index})
	return wire.Error(err)
}

// TuneIndex replaces the defaults of an index's queries. Errors: ErrInvalid,
// ErrNotFound.
func (c *Client) TuneIndex(ctx context.Context, bucket, index string, d sprat.Dials) error {
	if err := checkNames(bucket, index); err != nil {
		return err
	}
	_, err := c.catalog.TuneIndex(ctx, &spratv1.TuneIndexRequest{Bucket: bucket, Index: index, Dials: wire.Dials(d)})
	return wire.Error(err)
}

// Attributes are the small values kept for a bucket (index "") or an index. Errors:
// ErrInvalid, ErrNotFound.
func (c *Client) Attributes(ctx context.Context, bucket, index string) (map[string][]byte, error) {
	if err := checkNames(bucket, index); err != nil {
		return nil, err
	}
	answer, err := c.catalog.GetAttributes(ctx, &spratv1.GetAttributesRequest{Bucket: bucket, Index: index})
	if err != nil {
		return nil, wire.Error(err)
	}
	return answer.GetAttributes(), nil
}

// SetAttributes changes them, all as one; nil removes a value. Errors: ErrInvalid,
// ErrNotFound.
func (c *Client) SetAttributes(ctx context.Context, bucket, index string, change map[string][]byte) error {
	if err := checkNames(bucket, index); err != nil {
		return err
	}
	r := &spratv1.SetAttributesRequest{Bucket: bucket, Index: index, Set: map[string][]byte{}}
	for name, value := range change {
		if err := checkTexts("attribute", name); err != nil {
			return err
		}
		if value == nil {
			r.Remove = append(r.Remove, name)
			continue
		}
		r.Set[name] = value
	}
	_, err := c.catalog.SetAttributes(ctx, r)
	return wire.Error(err)
}
