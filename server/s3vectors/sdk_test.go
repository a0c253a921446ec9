package s3vectors

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	aws3v "github.com/aws/aws-sdk-go-v2/service/s3vectors"
	"github.com/aws/aws-sdk-go-v2/service/s3vectors/document"
	"github.com/aws/aws-sdk-go-v2/service/s3vectors/types"
)

func floats(xs ...float32) *types.VectorDataMemberFloat32 {
	return &types.VectorDataMemberFloat32{Value: xs}
}

// TestSDK runs all 19 operations through the Go SDK, as a program would.
func TestSDK(t *testing.T) {
	s := start(t, nil)
	ctx, c := context.Background(), s.client("ADMIN")
	bucket, index := aws.String("media"), aws.String("songs")
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	made, err := c.CreateVectorBucket(ctx, &aws3v.CreateVectorBucketInput{VectorBucketName: bucket, Tags: map[string]string{"a": "b"}, EncryptionConfiguration: &types.EncryptionConfiguration{SseType: types.SseTypeAes256}})
	ok(err)
	if *made.VectorBucketArn != arnOf("media") {
		t.Errorf("%s", *made.VectorBucketArn)
	}
	got, err := c.GetVectorBucket(ctx, &aws3v.GetVectorBucketInput{VectorBucketName: bucket})
	ok(err)
	if b := got.VectorBucket; *b.VectorBucketName != "media" || b.EncryptionConfiguration.SseType != types.SseTypeAes256 || s.handler.o.Now().Sub(*b.CreationTime).Abs().Minutes() > 5 {
		t.Errorf("%+v", b)
	}
	buckets, err := c.ListVectorBuckets(ctx, &aws3v.ListVectorBucketsInput{Prefix: aws.String("me")})
	ok(err)
	if len(buckets.VectorBuckets) != 1 || buckets.NextToken != nil {
		t.Errorf("%+v", buckets)
	}
	indexMade, err := c.CreateIndex(ctx, &aws3v.CreateIndexInput{VectorBucketName: bucket, IndexName: index, DataType: types.DataTypeFloat32, Dimension: aws.Int32(3), DistanceMetric: types.DistanceMetricEuclidean,
		MetadataConfiguration: &types.MetadataConfiguration{NonFilterableMetadataKeys: []string{"text"}}})
	ok(err)
	shape, err := c.GetIndex(ctx, &aws3v.GetIndexInput{IndexArn: indexMade.IndexArn})
	ok(err)
	if ix := shape.Index; *ix.Dimension != 3 || ix.DistanceMetric != types.DistanceMetricEuclidean || ix.MetadataConfiguration.NonFilterableMetadataKeys[0] != "text" || ix.EncryptionConfiguration.SseType != types.SseTypeAes256 || ix.CreationTime.IsZero() {
		t.Errorf("%+v", ix)
	}
	indexes, err := c.ListIndexes(ctx, &aws3v.ListIndexesInput{VectorBucketName: bucket})
	ok(err)
	if len(indexes.Indexes) != 1 || *indexes.Indexes[0].IndexArn != *indexMade.IndexArn {
		t.Errorf("%+v", indexes)
	}
	document1 := map[string]any{"year": 1999, "genre": []string{"jazz", "soul"}, "live": true, "text": "é \"quoted\" 😀", "score": 0.25}
	_, err = c.PutVectors(ctx, &aws3v.PutVectorsInput{VectorBucketName: bucket, IndexName: index, Vectors: []types.PutInputVector{
		{Key: aws.String("a"), Data: floats(1, 1, 1), Metadata: document.NewLazyDocument(document1)},
		{Key: aws.String("ключ 鍵 😀 \"\\/"), Data: floats(2, 2, 2.5)},
	}})
	ok(err)
	vectors, err := c.GetVectors(ctx, &aws3v.GetVectorsInput{IndexArn: indexMade.IndexArn, Keys: []string{"ключ 鍵 😀 \"\\/", "a"}, ReturnData: true, ReturnMetadata: true})
	ok(err)
	if len(vectors.Vectors) != 2 {
		t.Fatalf("%+v", vectors)
	}
	for _, v := range vectors.Vectors {
		if *v.Key != "a" {
			continue
		}
		var back map[string]any
		ok(v.Metadata.UnmarshalSmithyDocument(&back))
		if form := "%v %v %v %v"; fmt.Sprintf(form, back["text"], back["genre"], back["year"], back["live"]) != fmt.Sprintf(form, document1["text"], document1["genre"], 1999, true) {
			t.Errorf("metadata %v", back)
		}
		if x := v.Data.(*types.VectorDataMemberFloat32).Value; x[0] != 1 || len(x) != 3 {
			t.Errorf("%v", x)
		}
	}
	found, err := c.QueryVectors(ctx, &aws3v.QueryVectorsInput{VectorBucketName: bucket, IndexName: index, TopK: aws.Int32(5), QueryVector: floats(2, 2, 2), ReturnDistance: true, ReturnMetadata: true,
		Filter: document.NewLazyDocument(map[string]any{"$and": []any{map[string]any{"genre": map[string]any{"$in": []string{"soul"}}}, map[string]any{"year": map[string]any{"$lt": 2000}}}})})
	ok(err)
	if len(found.Vectors) != 1 || *found.Vectors[0].Distance != 3 || found.DistanceMetric != types.DistanceMetricEuclidean {
		t.Errorf("%+v", found)
	}
	listed, err := c.ListVectors(ctx, &aws3v.ListVectorsInput{VectorBucketName: bucket, IndexName: index, ReturnMetadata: true})
	ok(err)
	if len(listed.Vectors) != 2 || listed.NextToken != nil {
		t.Errorf("%+v", listed)
	}
	_, err = c.DeleteVectors(ctx, &aws3v.DeleteVectorsInput{VectorBucketName: bucket, IndexName: index, Keys: []string{"a", "b"}})
	ok(err)

	text := onePolicy("Allow", "reader", "s3vectors:*", "*", "")
	_, err = c.PutVectorBucketPolicy(ctx, &aws3v.PutVectorBucketPolicyInput{VectorBucketName: bucket, Policy: &text})
	ok(err)
	kept, err := c.GetVectorBucketPolicy(ctx, &aws3v.GetVectorBucketPolicyInput{VectorBucketName: bucket})
	ok(err)
	if *kept.Policy != text {
		t.Errorf("%s", *kept.Policy)
	}
	_, err = c.DeleteVectorBucketPolicy(ctx, &aws3v.DeleteVectorBucketPolicyInput{VectorBucketName: bucket})
	ok(err)
	_, err = c.TagResource(ctx, &aws3v.TagResourceInput{ResourceArn: indexMade.IndexArn, Tags: map[string]string{"k/1": "v", "k 2": ""}})
	ok(err)
	_, err = c.UntagResource(ctx, &aws3v.UntagResourceInput{ResourceArn: indexMade.IndexArn, TagKeys: []string{"k 2", "x&y=z"[:1]}})
	ok(err)
	tags, err := c.ListTagsForResource(ctx, &aws3v.ListTagsForResourceInput{ResourceArn: indexMade.IndexArn})
	ok(err)
	if fmt.Sprint(tags.Tags) != "map[k/1:v]" {
		t.Errorf("%v", tags.Tags)
	}
	_, err = c.DeleteIndex(ctx, &aws3v.DeleteIndexInput{IndexArn: indexMade.IndexArn})
	ok(err)
	_, err = c.DeleteVectorBucket(ctx, &aws3v.DeleteVectorBucketInput{VectorBucketArn: made.VectorBucketArn})
	ok(err)
}

// TestSDKErrors: each modelled error arrives as its type.
func TestSDKErrors(t *testing.T) {
	s := start(t, nil)
	s.fill()
	ctx, c := context.Background(), s.client("ADMIN")
	_, err := c.PutVectors(ctx, &aws3v.PutVectorsInput{VectorBucketName: aws.String("media"), IndexName: aws.String("songs"), Vectors: []types.PutInputVector{{Key: aws.String("a"), Data: floats(0, 0, 0, 0)}}})
	var validation *types.ValidationException
	if !errors.As(err, &validation) || *validation.Message != "Invalid record for key 'a': cosine distance does not support vectors with zero norm" ||
		len(validation.FieldList) != 1 || *validation.FieldList[0].Path != "vectors[0]" || *validation.FieldList[0].Message != "cosine distance does not support vectors with zero norm" {
		t.Errorf("%v", err)
	}
	_, err = c.PutVectors(ctx, &aws3v.PutVectorsInput{VectorBucketName: aws.String("media"), IndexName: aws.String("songs"), Vectors: []types.PutInputVector{{Key: aws.String("a"), Data: floats(1, float32(math.NaN()), 0, float32(math.Inf(-1)))}}})
	if !errors.As(err, &validation) || !strings.HasSuffix(*validation.Message, "vector contains NaNs or Infs") {
		t.Errorf("%v", err)
	}
	_, err = c.GetIndex(ctx, &aws3v.GetIndexInput{VectorBucketName: aws.String("media"), IndexName: aws.String("none")})
	var missing *types.NotFoundException
	if !errors.As(err, &missing) || *missing.Message != textIndexNotFound {
		t.Errorf("%v", err)
	}
	_, err = c.CreateVectorBucket(ctx, &aws3v.CreateVectorBucketInput{VectorBucketName: aws.String("media")})
	var conflict *types.ConflictException
	if !errors.As(err, &conflict) {
		t.Errorf("%v", err)
	}
	_, err = s.client("NOBODY").GetIndex(ctx, &aws3v.GetIndexInput{VectorBucketName: aws.String("media"), IndexName: aws.String("songs")})
	var denied *types.AccessDeniedException
	if !errors.As(err, &denied) || !strings.Contains(*denied.Message, "user/nobody is not authorized to perform: s3vectors:GetIndex on resource: "+arnOf("media/index/songs")) {
		t.Errorf("%v", err)
	}
	for status, want := range map[*apiError]any{
		{status: 429, code: "TooManyRequestsException", message: "m"}:      new(*types.TooManyRequestsException),
		{status: 503, code: "ServiceUnavailableException", message: "m"}:   new(*types.ServiceUnavailableException),
		{status: 500, code: "InternalServerException", message: "m"}:       new(*types.InternalServerException),
		{status: 408, code: "RequestTimeoutException", message: "m"}:       new(*types.RequestTimeoutException),
		{status: 402, code: "ServiceQuotaExceededException", message: "m"}: new(*types.ServiceQuotaExceededException),
	} {
		fault := func(w http.ResponseWriter, r *http.Request) bool { writeFault(w, status); return true }
		s.before.Store(&fault)
		if _, err := c.CreateIndex(ctx, &aws3v.CreateIndexInput{VectorBucketName: aws.String("media"), IndexName: aws.String("none"), DataType: types.DataTypeFloat32, Dimension: aws.Int32(1), DistanceMetric: types.DistanceMetricCosine}); !errors.As(err, want) {
			t.Errorf("%s: %v", status.code, err)
		}
	}
}

// writeFault answers an error without the handler.
func writeFault(w http.ResponseWriter, e *apiError) {
	w.Header().Set("X-Amzn-ErrorType", e.code)
	w.WriteHeader(e.status)
	_, _ = w.Write(e.body())
}

// TestSDKRetries: a client comes through faults that pass.
func TestSDKRetries(t *testing.T) {
	s := start(t, nil)
	s.fill()
	for _, fault := range []*apiError{{status: 429, code: "TooManyRequestsException"}, {status: 503, code: "ServiceUnavailableException", message: textBusy}, {status: 500, code: "InternalServerException"}} {
		var seen atomic.Int32
		hook := func(w http.ResponseWriter, _ *http.Request) bool {
			if seen.Add(1) <= 2 {
				writeFault(w, fault)
				return true
			}
			return false
		}
		s.before.Store(&hook)
		c := s.client("ADMIN", func(o *aws3v.Options) {
			o.RetryMaxAttempts = 3
			o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) { r.MaxAttempts = 3; r.MaxBackoff = 1 })
		})
		if _, err := c.GetIndex(context.Background(), &aws3v.GetIndexInput{VectorBucketName: aws.String("media"), IndexName: aws.String("songs")}); err != nil || seen.Load() != 3 {
			t.Errorf("%s: %v after %d attempts", fault.code, err, seen.Load())
		}
	}
}

// TestSDKPages: paginators and parallel segments see every vector once.
func TestSDKPages(t *testing.T) {
	s := start(t, nil)
	s.fill()
	ctx, c := context.Background(), s.client("ADMIN")
	bucket, index := aws.String("media"), aws.String("songs")
	want := []string{"a"}
	var batch []types.PutInputVector
	for i := range 250 {
		key := fmt.Sprintf("%s-%d", strings.Repeat("é", i), i)
		want = append(want, key)
		batch = append(batch, types.PutInputVector{Key: aws.String(key), Data: floats(1, float32(i), 3, 4)})
	}
	if _, err := c.PutVectors(ctx, &aws3v.PutVectorsInput{VectorBucketName: bucket, IndexName: index, Vectors: batch}); err != nil {
		t.Fatal(err)
	}
	sort.Strings(want)
	for _, segments := range []int32{0, 1, 4, 16} {
		var mu sync.Mutex
		var got []string
		var wg sync.WaitGroup
		for segment := range max(segments, 1) {
			wg.Go(func() {
				in := &aws3v.ListVectorsInput{VectorBucketName: bucket, IndexName: index, MaxResults: aws.Int32(7)}
				if segments > 0 {
					in.SegmentCount, in.SegmentIndex = aws.Int32(segments), segment
				}
				for p := aws3v.NewListVectorsPaginator(c, in, func(o *aws3v.ListVectorsPaginatorOptions) { o.StopOnDuplicateToken = true }); p.HasMorePages(); {
					page, err := p.NextPage(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, v := range page.Vectors {
						got = append(got, *v.Key)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		sort.Strings(got)
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%d segments: %d keys, want %d", segments, len(got), len(want))
		}
	}
	for i := range 4 {
		if _, err := c.CreateVectorBucket(ctx, &aws3v.CreateVectorBucketInput{VectorBucketName: aws.String(fmt.Sprint("more-", i))}); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for p := aws3v.NewListVectorBucketsPaginator(c, &aws3v.ListVectorBucketsInput{MaxResults: aws.Int32(2)}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n += len(page.VectorBuckets)
	}
	if n != 5 {
		t.Errorf("%d buckets", n)
	}
	found, err := c.QueryVectors(ctx, &aws3v.QueryVectorsInput{VectorBucketName: bucket, IndexName: index, TopK: aws.Int32(10_000), QueryVector: floats(1, 2, 3, 4)})
	if err != nil || len(found.Vectors) != 251 {
		t.Errorf("%d results, %v", len(found.Vectors), err)
	}
}

// TestSDKLarge: 200 vectors of 1,024 dimensions, every bit of them.
func TestSDKLarge(t *testing.T) {
	s := start(t, nil)
	s.fill()
	ctx, c := context.Background(), s.client("ADMIN")
	bucket, index := aws.String("media"), aws.String("wide")
	const dim = 1024
	if _, err := c.CreateIndex(ctx, &aws3v.CreateIndexInput{VectorBucketName: bucket, IndexName: index, DataType: types.DataTypeFloat32, Dimension: aws.Int32(dim), DistanceMetric: types.DistanceMetricCosine}); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	sent := map[string][]float32{}
	var batch []types.PutInputVector
	var keys []string
	for i := range 200 {
		v := make([]float32, dim)
		for j := range v {
			for { // any finite float32
				v[j] = math.Float32frombits(random.Uint32())
				if v[j]-v[j] == 0 {
					break
				}
			}
		}
		key := fmt.Sprint(i)
		sent[key] = v
		if i < 100 {
			keys = append(keys, key)
		}
		batch = append(batch, types.PutInputVector{Key: aws.String(key), Data: floats(v...)})
	}
	if _, err := c.PutVectors(ctx, &aws3v.PutVectorsInput{VectorBucketName: bucket, IndexName: index, Vectors: batch}); err != nil {
		t.Fatal(err)
	}
	got, err := c.GetVectors(ctx, &aws3v.GetVectorsInput{VectorBucketName: bucket, IndexName: index, Keys: keys, ReturnData: true})
	if err != nil || len(got.Vectors) != 100 {
		t.Fatal(len(got.Vectors), err)
	}
	for _, v := range got.Vectors {
		for j, x := range v.Data.(*types.VectorDataMemberFloat32).Value {
			if math.Float32bits(x) != math.Float32bits(sent[*v.Key][j]) {
				t.Fatalf("%s[%d]: got %v, want %v", *v.Key, j, x, sent[*v.Key][j])
			}
		}
	}
}
