package grpc

import (
	"context"
	"errors"
	"sort"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/wire"
)

// Pages of names.
const (
	defaultPage = 100
	maxPage     = 1000
)

type catalogService struct {
	spratv1.UnimplementedCatalogServer
	s *Server
}

func (c *catalogService) CreateBucket(_ context.Context, r *spratv1.CreateBucketRequest) (*spratv1.CreateBucketResponse, error) {
	store := c.s.store
	if err := store.CreateBucket(r.GetBucket()); err != nil {
		return nil, err
	}
	if len(r.GetAttributes()) > 0 {
		if err := store.SetAttributes(r.GetBucket(), present(r.GetAttributes())); err != nil {
			return nil, errors.Join(err, store.DropBucket(r.GetBucket()))
		}
	}
	info, err := store.Bucket(r.GetBucket())
	if err != nil {
		return nil, err
	}
	return &spratv1.CreateBucketResponse{Bucket: wire.Bucket(info)}, nil
}

// present makes empty values empty and not nil, which would remove them.
func present(m map[string][]byte) map[string][]byte {
	for name, value := range m {
		if value == nil {
			m[name] = []byte{}
		}
	}
	return m
}

func (c *catalogService) GetBucket(_ context.Context, r *spratv1.GetBucketRequest) (*spratv1.GetBucketResponse, error) {
	info, err := c.s.store.Bucket(r.GetBucket())
	if err != nil {
		return nil, err
	}
	return &spratv1.GetBucketResponse{Bucket: wire.Bucket(info)}, nil
}

func (c *catalogService) ListBuckets(_ context.Context, r *spratv1.ListBucketsRequest) (*spratv1.ListBucketsResponse, error) {
	names, err := c.s.store.Buckets()
	if err != nil {
		return nil, err
	}
	page, next, err := pageOf(names, r.GetAfter(), r.GetPrefix(), r.GetLimit())
	if err != nil {
		return nil, err
	}
	answer := &spratv1.ListBucketsResponse{Next: next}
	for _, name := range page {
		info, err := c.s.store.Bucket(name)
		if errors.Is(err, sprat.ErrNotFound) {
			continue // it went meanwhile
		}
		if err != nil {
			return nil, err
		}
		answer.Buckets = append(answer.Buckets, wire.Bucket(info))
	}
	return answer, nil
}

// pageOf cuts a page from sorted names. next is its last name when others follow.
func pageOf(names []string, after, prefix string, limit int32) (page []string, next string, err error) {
	if limit < 0 || limit > maxPage {
		return nil, "", &sprat.InputError{Field: "limit", Want: "0 to 1,000", Got: decimal(limit)}
	}
	if limit == 0 {
		limit = defaultPage
	}
	names = names[sort.Search(len(names), func(i int) bool { return names[i] > after && names[i] >= prefix }):]
	end := sort.Search(len(names), func(i int) bool { return !strings.HasPrefix(names[i], prefix) })
	if end > int(limit) {
		return names[:limit], names[limit-1], nil
	}
	return names[:end], "", nil
}

func (c *catalogService) DeleteBucket(_ context.Context, r *spratv1.DeleteBucketRequest) (*spratv1.DeleteBucketResponse, error) {
	if err := c.s.store.DropBucket(r.GetBucket()); err != nil {
		return nil, err
	}
	return &spratv1.DeleteBucketResponse{}, nil
}

func (c *catalogService) CreateIndex(ctx context.Context, r *spratv1.CreateIndexRequest) (*spratv1.CreateIndexResponse, error) {
	store := c.s.store
	cfg, err := wire.IndexConfigOf(r.GetConfig())
	if err != nil {
		return nil, err
	}
	if r.GetBucketMustExist() {
		if _, err := store.Bucket(r.GetBucket()); err != nil {
			return nil, err
		}
	}
	ix, err := store.CreateIndex(ctx, r.GetBucket(), r.GetIndex(), cfg)
	if err != nil {
		return nil, err
	}
	if len(r.GetAttributes()) > 0 {
		if err := store.SetAttributes(ix.Name(), present(r.GetAttributes())); err != nil {
			return nil, errors.Join(err, store.DropIndex(context.WithoutCancel(ctx), r.GetBucket(), r.GetIndex()))
		}
	}
	return &spratv1.CreateIndexResponse{Index: describe(ix, r.GetBucket(), r.GetIndex())}, nil
}

func describe(ix *sprat.Index, bucket, name string) *spratv1.Index {
	cfg := ix.Config()
	return &spratv1.Index{
		Bucket: bucket, Name: name, Created: timestamppb.New(ix.Created()), Config: wire.IndexConfig(&cfg),
		Dials: wire.Dials(ix.Dials()), Vectors: ix.Len(),
	}
}

func (c *catalogService) GetIndex(_ context.Context, r *spratv1.GetIndexRequest) (*spratv1.GetIndexResponse, error) {
	ix, err := c.s.store.Index(r.GetBucket(), r.GetIndex())
	if err != nil {
		return nil, err
	}
	return &spratv1.GetIndexResponse{Index: describe(ix, r.GetBucket(), r.GetIndex())}, nil
}

func (c *catalogService) ListIndexes(_ context.Context, r *spratv1.ListIndexesRequest) (*spratv1.ListIndexesResponse, error) {
	if _, err := c.s.store.Bucket(r.GetBucket()); err != nil {
		return nil, err
	}
	all, err := c.s.store.Indexes()
	if err != nil {
		return nil, err
	}
	inside := r.GetBucket() + "/"
	var names []string
	for _, full := range all {
		if name, ok := strings.CutPrefix(full, inside); ok {
			names = append(names, name)
		}
	}
	page, next, err := pageOf(names, r.GetAfter(), r.GetPrefix(), r.GetLimit())
	if err != nil {
		return nil, err
	}
	answer := &spratv1.ListIndexesResponse{Next: next}
	for _, name := range page {
		ix, err := c.s.store.Index(r.GetBucket(), name)
		switch {
		case err == nil:
			answer.Indexes = append(answer.Indexes, describe(ix, r.GetBucket(), name))
		case errors.Is(err, sprat.ErrNotFound): // it went meanwhile
		case errors.Is(err, sprat.ErrClosed):
			return nil, err
		default:
			answer.Indexes = append(answer.Indexes, &spratv1.Index{Bucket: r.GetBucket(), Name: name, Error: err.Error()})
		}
	}
	return answer, nil
}

func (c *catalogService) DeleteIndex(ctx context.Context, r *spratv1.DeleteIndexRequest) (*spratv1.DeleteIndexResponse, error) {
	if err := c.s.store.DropIndex(ctx, r.GetBucket(), r.GetIndex()); err != nil {
		return nil, err
	}
	return &spratv1.DeleteIndexResponse{}, nil
}

func (c *catalogService) TuneIndex(_ context.Context, r *spratv1.TuneIndexRequest) (*spratv1.TuneIndexResponse, error) {
	ix, err := c.s.store.Index(r.GetBucket(), r.GetIndex())
	if err != nil {
		return nil, err
	}
	if err := ix.SetDials(wire.DialsOf(r.GetDials())); err != nil {
		return nil, err
	}
	return &spratv1.TuneIndexResponse{Dials: wire.Dials(ix.Dials())}, nil
}

// scope names whose attributes are meant.
func scope(bucket, index string) string {
	if index == "" {
		return bucket
	}
	return bucket + "/" + index
}

func (c *catalogService) GetAttributes(_ context.Context, r *spratv1.GetAttributesRequest) (*spratv1.GetAttributesResponse, error) {
	m, err := c.s.store.Attributes(scope(r.GetBucket(), r.GetIndex()))
	if err != nil {
		return nil, err
	}
	return &spratv1.GetAttributesResponse{Attributes: m}, nil
}

func (c *catalogService) SetAttributes(_ context.Context, r *spratv1.SetAttributesRequest) (*spratv1.SetAttributesResponse, error) {
	change := make(map[string][]byte, len(r.GetSet())+len(r.GetRemove()))
	for name, value := range present(r.GetSet()) {
		change[name] = value
	}
	for _, name := range r.GetRemove() {
		if _, both := change[name]; both {
			return nil, &sprat.InputError{Field: "remove", Want: "names that are not set as well", Got: name}
		}
		change[name] = nil
	}
	if err := c.s.store.SetAttributes(scope(r.GetBucket(), r.GetIndex()), change); err != nil {
		return nil, err
	}
	return &spratv1.SetAttributesResponse{}, nil
}
