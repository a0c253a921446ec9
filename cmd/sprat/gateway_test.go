package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	aws3v "github.com/aws/aws-sdk-go-v2/service/s3vectors"
	"github.com/aws/aws-sdk-go-v2/service/s3vectors/types"

	"github.com/spratdb/sprat"
	sprpc "github.com/spratdb/sprat/server/grpc"
)

// startEngine serves an empty store over gRPC and returns its address.
func startEngine(t *testing.T) string {
	t.Helper()
	store, err := sprat.Open(t.TempDir(), sprat.Options{MemoryLimit: 256 << 20, IOEngine: "pread"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	server, err := sprpc.New(store, sprpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Drain(context.Background()) })
	return listener.Addr().String()
}

// TestGateway: an AWS client works through a gateway, which ends when it is told to.
func TestGateway(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("[ann]\naws_access_key_id = ANN\naws_secret_access_key = secret-of-ann\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	var log strings.Builder
	go func() {
		ended <- runContext(ctx, []string{"gateway", "--engine", startEngine(t), "--s3vectors-addr", "127.0.0.1:0", "--credentials", keys, "--json"}, in, &log)
		in.Close()
	}()
	var ready gatewayReady
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	c := aws3v.New(aws3v.Options{Region: "us-east-1", BaseEndpoint: aws.String("http://" + ready.S3Vectors), Credentials: credentials.NewStaticCredentialsProvider("ANN", "secret-of-ann", "")})
	bucket, index := aws.String("media"), aws.String("songs")
	_, err := c.CreateVectorBucket(ctx, &aws3v.CreateVectorBucketInput{VectorBucketName: bucket})
	if err == nil {
		_, err = c.CreateIndex(ctx, &aws3v.CreateIndexInput{VectorBucketName: bucket, IndexName: index, DataType: types.DataTypeFloat32, Dimension: aws.Int32(2), DistanceMetric: types.DistanceMetricCosine})
	}
	data := &types.VectorDataMemberFloat32{Value: []float32{1, 2}}
	if err == nil {
		_, err = c.PutVectors(ctx, &aws3v.PutVectorsInput{VectorBucketName: bucket, IndexName: index, Vectors: []types.PutInputVector{{Key: aws.String("a"), Data: data}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.QueryVectors(ctx, &aws3v.QueryVectorsInput{VectorBucketName: bucket, IndexName: index, TopK: aws.Int32(1), QueryVector: data, ReturnDistance: true})
	if err != nil || len(found.Vectors) != 1 || *found.Vectors[0].Distance != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	cancel()
	if code := <-ended; code != exitDone {
		t.Errorf("exit %d: %s", code, log.String())
	}
}

func TestGatewayRefused(t *testing.T) {
	t.Setenv("SPRAT_ACCESS_KEY_ID", "")
	t.Setenv("SPRAT_SECRET_ACCESS_KEY", "")
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"gateway", exitUsage, "engine"},
		{"gateway --engine h:1", exitUsage, "give --credentials"},
		{"gateway --engine h:1 --anonymous god", exitUsage, "want one of"},
		{"gateway --engine h:1 --anonymous read --region X!", exitUsage, "region"},
		{"gateway --engine h:1 --credentials " + t.TempDir(), exitFailed, "not a regular file"},
		{"gateway --engine h:1 --anonymous read --engine-token " + os.DevNull, exitFailed, "want one token"},
		{"gateway --engine h:1 --anonymous read --engine-cert x", exitUsage, "engine-key"},
		{"gateway --engine h:1 --anonymous read --s3vectors-addr nowhere", exitFailed, "nowhere"},
	} {
		if o := execute(words(c.line)...); o.code != c.code || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: exit %d, %q, want %d, %q", c.line, o.code, o.stderr, c.code, c.want)
		}
	}
}

// TestAccessKeys: keys come from the file, the environment, or are made in the data
// folder.
func TestAccessKeys(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	var f s3vectorsFlags
	t.Setenv("SPRAT_ACCESS_KEY_ID", "ID-OF-ENV")
	t.Setenv("SPRAT_SECRET_ACCESS_KEY", "")
	if _, err := f.keys("", log); err == nil {
		t.Error("half a pair is accepted")
	}
	t.Setenv("SPRAT_SECRET_ACCESS_KEY", "secret-of-env")
	keys, err := f.keys("", log)
	if err != nil {
		t.Fatal(err)
	}
	if k, ok := keys.Lookup("ID-OF-ENV"); !ok || k.Secret != "secret-of-env" || k.Role != "admin" {
		t.Errorf("%v, %v", k, ok)
	}
	t.Setenv("SPRAT_ACCESS_KEY_ID", "")
	t.Setenv("SPRAT_SECRET_ACCESS_KEY", "")
	data := t.TempDir()
	for range 2 { // made once, found again
		if _, err := f.keys(data, log); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(filepath.Join(data, generatedKeys)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
