package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/grpc/client"
	"github.com/spratdb/sprat/server/s3vectors"
)

// New is the engine behind a client of `sprat serve`, whose token must have the role
// admin. The client stays the caller's.
func New(c *client.Client) s3vectors.Engine {
	r := &remote{c: c}
	r.known.infos = map[string]knownIndex{}
	return r
}

type remote struct {
	c *client.Client
	// known is what indexes are like, so that most requests are one call.
	known struct {
		sync.Mutex
		infos map[string]knownIndex // by bucket/index
	}
}

type knownIndex struct {
	info  s3vectors.IndexInfo
	until time.Time
}

const (
	infoLife = time.Second
	maxInfos = 10_000
)

// remoteError finds what only a remote engine can have; other errors are those that the
// library has on the other side.
func remoteError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, client.ErrBusy):
		return errors.Join(s3vectors.ErrTooManyRequests, err)
	case status.Code(err) == codes.Unavailable:
		return errors.Join(s3vectors.ErrUnavailable, err)
	}
	return err
}

func (r *remote) CreateBucket(ctx context.Context, name string, attributes map[string][]byte) error {
	return remoteError(r.c.CreateBucket(ctx, name, attributes))
}

func (r *remote) Bucket(ctx context.Context, name string) (sprat.BucketInfo, error) {
	info, err := r.c.Bucket(ctx, name)
	return info, remoteError(err)
}

func (r *remote) Buckets(ctx context.Context, p s3vectors.Page) (list []sprat.BucketInfo, more bool, err error) {
	list, next, err := r.c.Buckets(ctx, client.Page(p))
	return list, next != "", remoteError(err)
}

func (r *remote) DeleteBucket(ctx context.Context, name string) error {
	return remoteError(r.c.DeleteBucket(ctx, name))
}

func (r *remote) CreateIndex(ctx context.Context, bucket, index string, cfg sprat.IndexConfig, attributes map[string][]byte) error {
	defer r.forget(bucket, index)
	_, err := r.c.CreateIndex(ctx, bucket, index, cfg, client.CreateOptions{Attributes: attributes, BucketMustExist: true})
	return remoteError(err)
}

func indexInfo(ix *client.IndexInfo) s3vectors.IndexInfo {
	return s3vectors.IndexInfo{Bucket: ix.Bucket, Name: ix.Name, Created: ix.Created, Dimension: ix.Config.Dimension, Metric: ix.Config.Metric, NonFilterable: ix.Config.NonFilterable}
}

func (r *remote) Index(ctx context.Context, bucket, index string) (s3vectors.IndexInfo, error) {
	name := bucket + "/" + index
	r.known.Lock()
	hit, ok := r.known.infos[name]
	r.known.Unlock()
	if ok && time.Now().Before(hit.until) {
		return hit.info, nil
	}
	found, err := r.c.Index(ctx, bucket, index)
	if err != nil {
		return s3vectors.IndexInfo{}, remoteError(err)
	}
	if found.Err != nil {
		return s3vectors.IndexInfo{}, fmt.Errorf("index %q: %w: %w", name, sprat.ErrCorrupt, found.Err)
	}
	info := indexInfo(&found)
	r.known.Lock()
	defer r.known.Unlock()
	if len(r.known.infos) >= maxInfos {
		clear(r.known.infos)
	}
	r.known.infos[name] = knownIndex{info: info, until: time.Now().Add(infoLife)}
	return info, nil
}

// forget drops what is known of an index.
func (r *remote) forget(bucket, index string) {
	r.known.Lock()
	defer r.known.Unlock()
	delete(r.known.infos, bucket+"/"+index)
}

// failed is the error of a call on an index, which is forgotten when it is gone.
func (r *remote) failed(err error, bucket, index string) error {
	if errors.Is(err, sprat.ErrNotFound) {
		r.forget(bucket, index)
	}
	return remoteError(err)
}

func (r *remote) Indexes(ctx context.Context, bucket string, p s3vectors.Page) (list []s3vectors.IndexInfo, more bool, err error) {
	found, next, err := r.c.Indexes(ctx, bucket, client.Page(p))
	for i := range found {
		list = append(list, indexInfo(&found[i]))
	}
	return list, next != "", remoteError(err)
}

func (r *remote) DeleteIndex(ctx context.Context, bucket, index string) error {
	defer r.forget(bucket, index)
	return remoteError(r.c.DeleteIndex(ctx, bucket, index))
}

func (r *remote) Attributes(ctx context.Context, bucket, index string) (map[string][]byte, error) {
	all, err := r.c.Attributes(ctx, bucket, index)
	return all, remoteError(err)
}

func (r *remote) SetAttributes(ctx context.Context, bucket, index string, change map[string][]byte) error {
	return remoteError(r.c.SetAttributes(ctx, bucket, index, change))
}

func (r *remote) Put(ctx context.Context, bucket, index string, records []sprat.Record) error {
	return r.failed(r.c.Put(ctx, bucket, index, records, sprat.PutOptions{StrictMetadata: true}), bucket, index)
}

func (r *remote) Get(ctx context.Context, bucket, index string, keys []string, want sprat.Fields) ([]sprat.Record, error) {
	records, err := r.c.Get(ctx, bucket, index, keys, want)
	return records, r.failed(err, bucket, index)
}

func (r *remote) Delete(ctx context.Context, bucket, index string, keys []string) error {
	_, err := r.c.Delete(ctx, bucket, index, keys)
	return r.failed(err, bucket, index)
}

func (r *remote) List(ctx context.Context, bucket, index string, o sprat.ListOptions) (sprat.ListPage, error) {
	page, err := r.c.List(ctx, bucket, index, o)
	return page, r.failed(err, bucket, index)
}

func (r *remote) Query(ctx context.Context, bucket, index string, q []float32, k int, o sprat.QueryOptions) (*sprat.Result, error) {
	result, err := r.c.Query(ctx, bucket, index, q, k, o)
	return result, r.failed(err, bucket, index)
}
