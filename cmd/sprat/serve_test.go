package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/grpc/client"
)

// served is a serve command that runs.
type served struct {
	serveReady
	stop  context.CancelFunc
	ended chan outcome
}

// startServe runs serve with free ports until stop.
func startServe(t *testing.T, data string, flags ...string) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{stop: cancel, ended: make(chan outcome, 1)}
	t.Cleanup(cancel)
	args := append([]string{"serve", "--data", data, "--memory-limit", "256MiB", "--grpc-addr", "127.0.0.1:0",
		"--s3vectors-addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0", "--json"}, flags...)
	out, in := io.Pipe()
	go func() {
		var log strings.Builder
		code := runContext(ctx, args, in, &log)
		in.Close()
		s.ended <- outcome{code: code, stderr: log.String()}
	}()
	if err := json.NewDecoder(out).Decode(&s.serveReady); err != nil {
		t.Fatalf("%v: %s", err, (<-s.ended).stderr)
	}
	return s
}

func (s *served) dial(t *testing.T, token string) *client.Client {
	t.Helper()
	c, err := client.New(s.GRPC, client.Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func httpGet(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestServe: all three doors of an empty folder, and what they did is there when the
// server is started again.
func TestServe(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	ctx := t.Context()
	for round := range 2 {
		s := startServe(t, data)
		c := s.dial(t, "")
		if round == 0 {
			if _, err := c.CreateIndex(ctx, "b", "i", sprat.IndexConfig{Dimension: 2, Metric: sprat.Dot}, client.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := c.Put(ctx, "b", "i", []sprat.Record{{Key: "k", Vector: []float32{1, 2}}}, sprat.PutOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := c.Query(ctx, "b", "i", []float32{1, 1}, 1, sprat.QueryOptions{}); err != nil || len(got.Matches) != 1 || got.Matches[0].Distance != 3 {
			t.Errorf("round %d: %+v, %v", round, got, err)
		}
		for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ready"} {
			if code, body := httpGet(t, "http://"+s.Ops+path); code != http.StatusOK || body != want+"\n" {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
		if code, body := httpGet(t, "http://"+s.S3Vectors+"/"); code < 400 {
			t.Errorf("S3 Vectors without a signature: %d %s", code, body)
		}
		_, metrics := httpGet(t, "http://"+s.Ops+"/metrics")
		for _, want := range []string{`sprat_index_vectors{index="b/i"} 1`, `grpc_server_handled_total{grpc_code="OK",grpc_method="Query"`,
			"sprat_s3vectors_requests_total{", "go_goroutines", "process_resident_memory_bytes"} {
			if !strings.Contains(metrics, want) {
				t.Errorf("no metric %s", want)
			}
		}
		s.stop()
		if o := <-s.ended; o.code != exitDone || !strings.Contains(o.stderr, "msg=stopped") || !strings.Contains(o.stderr, "grpc="+s.GRPC) {
			t.Errorf("exit %d\n%s", o.code, o.stderr)
		}
	}
}

// TestServeTokens: tokens and snapshots reach the server, and a stream that is open
// does not keep it from ending.
func TestServeTokens(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	file := filepath.Join(dir, "tokens")
	if err := os.WriteFile(file, []byte("admin me 0123456789abcdef\nread you fedcba9876543210\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, filepath.Join(dir, "data"), "--tokens", file, "--snapshots", filepath.Join(dir, "kept"), "--s3vectors-addr", "", "--drain", "20s")
	if s.S3Vectors != "" {
		t.Errorf("S3 Vectors is served on %s", s.S3Vectors)
	}
	if _, err := s.dial(t, "").Stats(ctx); !errors.Is(err, client.ErrUnauthenticated) {
		t.Errorf("without a token: %v", err)
	}
	if err := s.dial(t, "fedcba9876543210").CreateBucket(ctx, "b", nil); !errors.Is(err, client.ErrForbidden) {
		t.Errorf("with the role read: %v", err)
	}
	c := s.dial(t, "0123456789abcdef")
	if _, err := c.CreateIndex(ctx, "b", "i", sprat.IndexConfig{Dimension: 2, Metric: sprat.Dot}, client.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Snapshot(ctx, sprat.SnapshotOptions{}); err != nil {
		t.Error(err)
	}
	stream, err := c.PutStream(ctx, "b", "i", sprat.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for n := range 5 {
		if err := stream.Send([]sprat.Record{{Key: fmt.Sprint(n), Vector: []float32{1, 2}}}); err != nil {
			t.Fatal(err)
		}
		if _, refused, err := stream.Ack(); refused != nil || err != nil {
			t.Fatal(refused, err)
		}
	}
	s.stop()
	if o := <-s.ended; o.code != exitDone || strings.Contains(o.stderr, "cdef") {
		t.Errorf("exit %d\n%s", o.code, o.stderr)
	}
	if _, _, err := stream.Ack(); err == nil {
		t.Error("the stream goes on")
	}
}

func TestServeBadUsage(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for flags, want := range map[string]string{
		"--grpc-addr= --s3vectors-addr= --ops-addr=":                  "nothing is to be served",
		"--tls-client-ca ca.pem":                                      "--tls-client-ca goes with",
		"--tls-cert a.pem":                                            "[tls-cert tls-key]",
		"--drain 0s":                                                  "want a time above 0",
		"--s3vectors-addr= --ops-addr= --rate-limit -1":               "rate -1",
		"--s3vectors-addr= --ops-addr= --grpc-addr :0 --rate-burst 2": "burst 2",
		"--s3vectors-addr= --ops-addr= --max-message 1KiB":            "want 64 KiB to 1 GiB",
	} {
		o := execute(append([]string{"serve", "--data", data, "--memory-limit", "256MiB"}, words(flags)...)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, want) {
			t.Errorf("%s: exit %d, %s", flags, o.code, o.stderr)
		}
	}
	o := execute("serve", "--data", data, "--memory-limit", "256MiB", "--grpc-addr", "127.0.0.1:none")
	if o.code != exitFailed {
		t.Errorf("a bad address: exit %d, %s", o.code, o.stderr)
	}
}
