package s3vectors

import (
	"context"
	"errors"
	"sort"
	"strings"

	"github.com/spratdb/sprat"
)

// Local is the engine of a store in this process. The store stays the caller's, who
// closes it after the last request.
func Local(store *sprat.Store) Engine { return &local{store} }

type local struct{ store *sprat.Store }

func scope(bucket, index string) string {
	if index == "" {
		return bucket
	}
	return bucket + "/" + index
}

func (l *local) CreateBucket(_ context.Context, name string, attributes map[string][]byte) error {
	if err := l.store.CreateBucket(name); err != nil {
		return err
	}
	if err := l.store.SetAttributes(name, attributes); err != nil {
		return errors.Join(err, l.store.DropBucket(name))
	}
	return nil
}

func (l *local) Bucket(_ context.Context, name string) (sprat.BucketInfo, error) {
	return l.store.Bucket(name)
}

// pageOf cuts a page from sorted names.
func pageOf(names []string, p Page) (page []string, more bool) {
	names = names[sort.Search(len(names), func(i int) bool { return names[i] > p.After && names[i] >= p.Prefix }):]
	end := sort.Search(len(names), func(i int) bool { return !strings.HasPrefix(names[i], p.Prefix) })
	if end > p.Limit {
		return names[:p.Limit], true
	}
	return names[:end], false
}

func (l *local) Buckets(_ context.Context, p Page) (list []sprat.BucketInfo, more bool, err error) {
	names, err := l.store.Buckets()
	if err != nil {
		return nil, false, err
	}
	names, more = pageOf(names, p)
	for _, name := range names {
		info, err := l.store.Bucket(name)
		if errors.Is(err, sprat.ErrNotFound) {
			continue // it went meanwhile
		}
		if err != nil {
			return nil, false, err
		}
		list = append(list, info)
	}
	return list, more, nil
}

func (l *local) DeleteBucket(_ context.Context, name string) error { return l.store.DropBucket(name) }

func (l *local) CreateIndex(ctx context.Context, bucket, index string, cfg sprat.IndexConfig, attributes map[string][]byte) error {
	if _, err := l.store.Bucket(bucket); err != nil { // the store would make one
		return err
	}
	if _, err := l.store.CreateIndex(ctx, bucket, index, cfg); err != nil {
		return err
	}
	if err := l.store.SetAttributes(scope(bucket, index), attributes); err != nil {
		return errors.Join(err, l.store.DropIndex(context.WithoutCancel(ctx), bucket, index))
	}
	return nil
}

func (l *local) Index(_ context.Context, bucket, index string) (IndexInfo, error) {
	ix, err := l.store.Index(bucket, index)
	if err != nil {
		return IndexInfo{}, err
	}
	cfg := ix.Config()
	return IndexInfo{Bucket: bucket, Name: index, Created: ix.Created(), Dimension: cfg.Dimension, Metric: cfg.Metric, NonFilterable: cfg.NonFilterable}, nil
}

func (l *local) Indexes(ctx context.Context, bucket string, p Page) (list []IndexInfo, more bool, err error) {
	if _, err := l.store.Bucket(bucket); err != nil {
		return nil, false, err
	}
	all, err := l.store.Indexes()
	if err != nil {
		return nil, false, err
	}
	var names []string
	for _, full := range all {
		if b, name, _ := strings.Cut(full, "/"); b == bucket {
			names = append(names, name)
		}
	}
	names, more = pageOf(names, p)
	for _, name := range names {
		info, err := l.Index(ctx, bucket, name)
		if errors.Is(err, sprat.ErrNotFound) {
			continue // it went meanwhile
		}
		if err != nil { // it is damaged: it is there all the same
			info = IndexInfo{Bucket: bucket, Name: name}
		}
		list = append(list, info)
	}
	return list, more, nil
}

func (l *local) DeleteIndex(ctx context.Context, bucket, index string) error {
	return l.store.DropIndex(ctx, bucket, index)
}

func (l *local) Attributes(_ context.Context, bucket, index string) (map[string][]byte, error) {
	return l.store.Attributes(scope(bucket, index))
}

func (l *local) SetAttributes(_ context.Context, bucket, index string, change map[string][]byte) error {
	return l.store.SetAttributes(scope(bucket, index), change)
}

func (l *local) Put(ctx context.Context, bucket, index string, records []sprat.Record) error {
	ix, err := l.store.Index(bucket, index)
	if err != nil {
		return err
	}
	return ix.PutWith(ctx, records, sprat.PutOptions{StrictMetadata: true})
}

func (l *local) Get(ctx context.Context, bucket, index string, keys []string, want sprat.Fields) ([]sprat.Record, error) {
	ix, err := l.store.Index(bucket, index)
	if err != nil {
		return nil, err
	}
	return ix.Get(ctx, keys, want)
}

func (l *local) Delete(ctx context.Context, bucket, index string, keys []string) error {
	ix, err := l.store.Index(bucket, index)
	if err != nil {
		return err
	}
	_, err = ix.Delete(ctx, keys)
	return err
}

func (l *local) List(ctx context.Context, bucket, index string, o sprat.ListOptions) (sprat.ListPage, error) {
	ix, err := l.store.Index(bucket, index)
	if err != nil {
		return sprat.ListPage{}, err
	}
	return ix.List(ctx, o)
}

func (l *local) Query(ctx context.Context, bucket, index string, q []float32, k int, o sprat.QueryOptions) (*sprat.Result, error) {
	ix, err := l.store.Index(bucket, index)
	if err != nil {
		return nil, err
	}
	return ix.Query(ctx, q, k, o)
}
