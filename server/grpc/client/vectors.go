package client

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/wire"
)

// checkKeys refuses records whose keys gRPC cannot carry.
func checkKeys(records []sprat.Record) error {
	for i := range records {
		if key := records[i].Key; !utf8.ValidString(key) {
			return &sprat.RowError{Row: int64(i), Key: key, Err: checkTexts("key", key)}
		}
	}
	return nil
}

func checkKeyList(keys []string) error {
	for i, key := range keys {
		if err := checkTexts("key", key); err != nil {
			return &sprat.RowError{Row: int64(i), Key: key, Err: err}
		}
	}
	return nil
}

// Put inserts or replaces vectors, all or none, as sprat.Index.PutWith does.
func (c *Client) Put(ctx context.Context, bucket, index string, records []sprat.Record, o sprat.PutOptions) error {
	if err := checkNames(bucket, index); err != nil {
		return err
	}
	if err := checkKeys(records); err != nil {
		return err
	}
	_, err := c.vectors.Put(ctx, &spratv1.PutRequest{Bucket: bucket, Index: index, Vectors: wire.Vectors(records), Options: putOptions(o)})
	return wire.Error(err)
}

func putOptions(o sprat.PutOptions) *spratv1.PutOptions {
	return &spratv1.PutOptions{StrictMetadata: o.StrictMetadata}
}

// Get returns vectors by key, as sprat.Index.Get does.
func (c *Client) Get(ctx context.Context, bucket, index string, keys []string, want sprat.Fields) ([]sprat.Record, error) {
	if err := checkNames(bucket, index); err != nil {
		return nil, err
	}
	if err := checkKeyList(keys); err != nil {
		return nil, err
	}
	answer, err := c.vectors.Get(ctx, &spratv1.GetRequest{Bucket: bucket, Index: index, Keys: keys,
		ReturnVectors: want.Vectors, ReturnMetadata: want.Metadata})
	if err != nil {
		return nil, wire.Error(err)
	}
	return wire.Records(answer.GetVectors()), nil
}

// List returns a page of vectors, as sprat.Index.List does.
func (c *Client) List(ctx context.Context, bucket, index string, o sprat.ListOptions) (sprat.ListPage, error) {
	if err := checkNames(bucket, index); err != nil {
		return sprat.ListPage{}, err
	}
	if err := checkTexts("token", o.Token); err != nil {
		return sprat.ListPage{}, err
	}
	answer, err := c.vectors.List(ctx, &spratv1.ListRequest{Bucket: bucket, Index: index, Limit: wire.Int32(o.Limit), Token: o.Token,
		Segment: wire.Int32(o.Segment), Segments: wire.Int32(o.Segments), ReturnVectors: o.Vectors, ReturnMetadata: o.Metadata})
	if err != nil {
		return sprat.ListPage{}, wire.Error(err)
	}
	return sprat.ListPage{Records: wire.Records(answer.GetVectors()), Next: answer.GetNext()}, nil
}

// Delete removes vectors and returns how many there were, as sprat.Index.Delete does.
func (c *Client) Delete(ctx context.Context, bucket, index string, keys []string) (int, error) {
	if err := checkNames(bucket, index); err != nil {
		return 0, err
	}
	if err := checkKeyList(keys); err != nil {
		return 0, err
	}
	answer, err := c.vectors.Delete(ctx, &spratv1.DeleteRequest{Bucket: bucket, Index: index, Keys: keys})
	return int(answer.GetDeleted()), wire.Error(err)
}

// Query returns the vectors nearest to q, as sprat.Index.Query does.
func (c *Client) Query(ctx context.Context, bucket, index string, q []float32, k int, o sprat.QueryOptions) (*sprat.Result, error) {
	if err := checkNames(bucket, index); err != nil {
		return nil, err
	}
	answer, err := c.vectors.Query(ctx, &spratv1.QueryRequest{Bucket: bucket, Index: index, Vector: q, K: wire.Int32(k),
		Options: wire.QueryOptions(&o, time.Now())})
	if err != nil {
		return nil, wire.Error(err)
	}
	return wire.Result(answer), nil
}

// DialsFor returns the caps that a query works under, as sprat.Index.DialsFor does.
func (c *Client) DialsFor(ctx context.Context, bucket, index string, k int, o sprat.QueryOptions) (sprat.Dials, error) {
	if err := checkNames(bucket, index); err != nil {
		return sprat.Dials{}, err
	}
	answer, err := c.vectors.ResolveDials(ctx, &spratv1.ResolveDialsRequest{Bucket: bucket, Index: index, K: wire.Int32(k),
		Options: wire.QueryOptions(&o, time.Now())})
	if err != nil {
		return sprat.Dials{}, wire.Error(err)
	}
	return wire.DialsOf(answer.GetDials()), nil
}

// QueryBatch answers up to 1,000 queries with the same options. When one is bad, a
// *sprat.RowError names it and none is answered.
func (c *Client) QueryBatch(ctx context.Context, bucket, index string, queries [][]float32, k int, o sprat.QueryOptions) ([]*sprat.Result, error) {
	if err := checkNames(bucket, index); err != nil {
		return nil, err
	}
	r := &spratv1.QueryBatchRequest{Bucket: bucket, Index: index, K: wire.Int32(k), Options: wire.QueryOptions(&o, time.Now())}
	for _, q := range queries {
		r.Queries = append(r.Queries, &spratv1.QueryBatchRequest_Query{Vector: q})
	}
	answer, err := c.vectors.QueryBatch(ctx, r)
	if err != nil {
		return nil, wire.Error(err)
	}
	results := make([]*sprat.Result, len(answer.GetAnswers()))
	for i, a := range answer.GetAnswers() {
		results[i] = wire.Result(a)
	}
	return results, nil
}
