package grpc

import (
	"context"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/wire"
)

// maxBatch is the most queries of a batch.
const maxBatch = 1000

func decimal(n int32) string { return strconv.Itoa(int(n)) }

type vectorsService struct {
	spratv1.UnimplementedVectorsServer
	s *Server
}

func (v *vectorsService) Put(ctx context.Context, r *spratv1.PutRequest) (*spratv1.PutResponse, error) {
	ix, err := v.s.store.Index(r.GetBucket(), r.GetIndex())
	if err != nil {
		return nil, err
	}
	if err := put(ctx, ix, r.GetVectors(), r.GetOptions()); err != nil {
		return nil, err
	}
	return &spratv1.PutResponse{}, nil
}

func put(ctx context.Context, ix *sprat.Index, vectors []*spratv1.Vector, o *spratv1.PutOptions) error {
	return ix.PutWith(ctx, wire.Records(vectors), sprat.PutOptions{StrictMetadata: o.GetStrictMetadata()})
}

func (v *vectorsService) Get(ctx context.Context, r *spratv1.GetRequest) (*spratv1.GetResponse, error) {
	ix, err := v.s.store.Index(r.GetBucket(), r.GetIndex())
	if err != nil {
		return nil, err
	}
	records, err := ix.Get(ctx, r.GetKeys(), sprat.Fields{Vectors: r.GetReturnVectors(), Metadata: r.GetReturnMetadata()})
	if err != nil {
		return nil, err
	}
	return &spratv1.GetResponse{Vectors: wire.Vectors(records)}, nil
}

func (v *vectorsService) List(ctx context.Context, r *spratv1.ListRequest) (*spratv1.ListResponse, error) {
	ix, err := v.s.store.Index(r.GetBucket(), r.GetIndex())
	if err != nil {
		return nil, err
	}
	page, err := listBounded(ctx, ix, sprat.ListOptions{
		Limit: int(r.GetLimit()), Token: r.GetToken(), Segment: int(r.GetSegment()), Segments: int(r.GetSegments()),
		Fields: sprat.Fields{Vectors: r.GetReturnVectors(), Metadata: r.GetReturnMetadata()},
	}, v.s.o.MaxMessageBytes)
	if err != nil {
		return nil, err
	}
	return &spratv1.ListResponse{Vectors: wire.Vectors(page.Records), Next: page.Next}, nil
}

func (v *vectorsService) ResolveDials(_ context.Context, r *spratv1.ResolveDialsRequest) (*spratv1.ResolveDialsResponse, error) {
	ix, err := v.s.store.Index(r.GetBucket(), r.GetIndex())
	if err != nil {
		return nil, err
	}
	o, err := wire.QueryOptionsOf(r.GetOptions(), time.Now())
	if err != nil {
		return nil, err
	}
	return &spratv1.ResolveDialsResponse{Dials: wire.Dials(ix.DialsFor(int(r.GetK()), o))}, nil
}

func (v *vectorsService) Delete(ctx context.Context, r *spratv1.DeleteRequest) (*spratv1.DeleteResponse, error) {
	ix, err := v.s.store.Index(r.GetBucket(), r.GetIndex())
	if err != nil {
		return nil, err
	}
	n, err := ix.Delete(ctx, r.GetKeys())
	if err != nil {
		return nil, err
	}
	return &spratv1.DeleteResponse{Deleted: int64(n)}, nil
}

func (v *vectorsService) Query(ctx context.Context, r *spratv1.QueryRequest) (*spratv1.QueryResponse, error) {
	ix, err := v.s.store.Index(r.GetBucket(), r.GetIndex())
	if err != nil {
		return nil, err
	}
	o, err := wire.QueryOptionsOf(r.GetOptions(), time.Now())
	if err != nil {
		return nil, err
	}
	result, err := ix.Query(ctx, r.GetVector(), int(r.GetK()), o)
	if err != nil {
		return nil, err
	}
	return wire.Answer(result), nil
}

// QueryBatch asks the queries side by side: as many at a time as there are processors,
// twice, as they also wait for the volume.
func (v *vectorsService) QueryBatch(ctx context.Context, r *spratv1.QueryBatchRequest) (*spratv1.QueryBatchResponse, error) {
	ix, err := v.s.store.Index(r.GetBucket(), r.GetIndex())
	if err != nil {
		return nil, err
	}
	queries := r.GetQueries()
	if len(queries) > maxBatch {
		return nil, &sprat.InputError{Field: "queries", Want: "at most 1,000", Got: strconv.Itoa(len(queries))}
	}
	o, err := wire.QueryOptionsOf(r.GetOptions(), time.Now())
	if err != nil {
		return nil, err
	}
	answers := make([]*spratv1.QueryResponse, len(queries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	for i, q := range queries {
		group.Go(func() (err error) {
			// A panic here would pass by the interceptor.
			defer func() {
				if p := recover(); p != nil {
					err = v.s.caught(ctx, p)
				}
			}()
			result, err := ix.Query(ctx, q.GetVector(), int(r.GetK()), o)
			if err != nil {
				return &sprat.RowError{Row: int64(i), Err: err}
			}
			answers[i] = wire.Answer(result)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return &spratv1.QueryBatchResponse{Answers: answers}, nil
}
