package s3vectors

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/s3vectors/floatjson"
)

// stub answers at once, so that a benchmark measures this package.
type stub struct {
	Engine
	result sprat.Result
}

func (*stub) Index(context.Context, string, string) (IndexInfo, error) {
	return IndexInfo{Bucket: "media", Name: "songs", Dimension: 384, Metric: sprat.Cosine}, nil
}
func (*stub) Attributes(context.Context, string, string) (map[string][]byte, error) { return nil, nil }
func (*stub) Put(context.Context, string, string, []sprat.Record) error             { return nil }
func (s *stub) Query(context.Context, string, string, []float32, int, sprat.QueryOptions) (*sprat.Result, error) {
	return &s.result, nil
}

func BenchmarkHandler(b *testing.B) {
	engine := &stub{}
	for i := range 10 {
		engine.result.Matches = append(engine.result.Matches, sprat.Match{Key: fmt.Sprint("key-", i), Distance: float64(i) / 10})
	}
	h, err := New(engine, Options{Keys: testKeys})
	if err != nil {
		b.Fatal(err)
	}
	vector := make([]float32, 384)
	for i := range vector {
		vector[i] = float32(math.Sin(float64(i)))
	}
	ix := `{"vectorBucketName":"media","indexName":"songs",`
	data := string(floatjson.AppendFloat32s([]byte(`{"float32":`), vector, true)) + "}"
	var records bytes.Buffer
	for i := range 500 {
		if i > 0 {
			records.WriteByte(',')
		}
		fmt.Fprintf(&records, `{"key":"key-%d","data":%s,"metadata":{"year":%d}}`, i, data, i)
	}
	for name, body := range map[string]string{
		"QueryVectors": ix + `"topK":10,"returnDistance":true,"queryVector":` + data + `}`,
		"PutVectors":   ix + `"vectors":[` + records.String() + `]}`,
	} {
		b.Run(name, func(b *testing.B) {
			hash := sha256.Sum256([]byte(body))
			signed, err := http.NewRequest("POST", "http://localhost:7701/"+name, nil)
			if err == nil {
				err = v4.NewSigner().SignHTTP(context.Background(), aws.Credentials{AccessKeyID: "ADMIN", SecretAccessKey: secret}, signed, hex.EncodeToString(hash[:]), "s3vectors", "us-east-1", time.Now())
			}
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest("POST", "http://localhost:7701/"+name, bytes.NewReader([]byte(body)))
				r.Header = signed.Header.Clone()
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
			}
		})
	}
}
