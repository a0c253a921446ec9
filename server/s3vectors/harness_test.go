package s3vectors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	aws3v "github.com/aws/aws-sdk-go-v2/service/s3vectors"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/s3vectors/accesskeys"
)

const secret = "a-secret-of-tests/+="

var testKeys = accesskeys.Static{
	"ADMIN":  {User: "root", ID: "ADMIN", Secret: secret, Role: accesskeys.Admin},
	"WRITER": {User: "writer", ID: "WRITER", Secret: secret, Role: accesskeys.Write},
	"READER": {User: "reader", ID: "READER", Secret: secret, Role: accesskeys.Read},
	"NOBODY": {User: "nobody", ID: "NOBODY", Secret: secret, Role: accesskeys.None},
}

// service is a live server on loopback over a store in a temporary folder.
type service struct {
	t       *testing.T
	store   *sprat.Store
	handler *Handler
	server  *httptest.Server
	log     *syncBuffer
	// before, when set, sees each request first, and tells whether it answered it.
	before atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

// syncBuffer is a log.
type syncBuffer struct{ text atomic.Pointer[string] }

func (b *syncBuffer) Write(p []byte) (int, error) {
	for {
		old := b.text.Load()
		text := string(p)
		if old != nil {
			text = *old + text
		}
		if b.text.CompareAndSwap(old, &text) {
			return len(p), nil
		}
	}
}

func (b *syncBuffer) String() string {
	if text := b.text.Load(); text != nil {
		return *text
	}
	return ""
}

func newStore(t *testing.T) *sprat.Store {
	t.Helper()
	store, err := sprat.Open(t.TempDir(), sprat.Options{MemoryLimit: 256 << 20, IOEngine: "pread"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// start serves a new store. change may alter the options, whose keys are testKeys.
func start(t *testing.T, change func(*Options)) *service {
	t.Helper()
	s := &service{t: t, store: newStore(t), log: &syncBuffer{}}
	o := Options{Keys: testKeys, StrictFilter: true, Logger: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if change != nil {
		change(&o)
	}
	s.serve(Local(s.store), o)
	return s
}

func (s *service) serve(engine Engine, o Options) {
	s.t.Helper()
	h, err := New(engine, o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.handler = h
	s.server = httptest.NewUnstartedServer(nil)
	s.server.Config = NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before := s.before.Load(); before != nil && (*before)(w, r) {
			return
		}
		h.ServeHTTP(w, r)
	}), nil)
	s.server.Start()
	s.t.Cleanup(s.server.Close)
}

func anonymousAdmin(o *Options) { o.Anonymous = accesskeys.Admin }

// client is an AWS SDK client that signs with a key.
func (s *service) client(key string, change ...func(*aws3v.Options)) *aws3v.Client {
	o := aws3v.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(s.server.URL), HTTPClient: s.server.Client(),
		Credentials: credentials.NewStaticCredentialsProvider(key, secret, ""), RetryMaxAttempts: 1,
	}
	return aws3v.New(o, change...)
}

// answer is what came back over the wire.
type answer struct {
	status int
	body   string
	head   http.Header
}

// send sends an unsigned request.
func (s *service) send(method, path, body string) answer {
	s.t.Helper()
	r, err := http.NewRequest(method, s.server.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return s.do(r)
}

func (s *service) do(r *http.Request) answer {
	s.t.Helper()
	res, err := s.server.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{res.StatusCode, string(text), res.Header}
}

// post sends an operation and returns the answer, which must be JSON.
func (s *service) post(operation, body string) answer {
	s.t.Helper()
	a := s.send("POST", "/"+operation, body)
	if !json.Valid([]byte(a.body)) || a.head.Get("Content-Type") != "application/json" || a.head.Get("X-Amzn-Requestid") == "" {
		s.t.Fatalf("%s: not an answer of this service: %d %q %v", operation, a.status, a.body, a.head)
	}
	return a
}

// must sends an operation that has to succeed.
func (s *service) must(operation, body string) string {
	s.t.Helper()
	a := s.post(operation, body)
	if a.status != 200 {
		s.t.Fatalf("%s %s: %d %s", operation, body, a.status, a.body)
	}
	return a.body
}

// want compares an answer with the code and JSON expected; code "" is success.
func (s *service) want(operation, body string, status int, code, expected string) {
	s.t.Helper()
	a := s.post(operation, body)
	if a.status != status || a.head.Get("X-Amzn-ErrorType") != code {
		s.t.Errorf("%s %.200s: got %d %s %.300s, want %d %s", operation, body, a.status, a.head.Get("X-Amzn-ErrorType"), a.body, status, code)
		return
	}
	if code != "" && expected != "" {
		expected = `{"__type":"` + code + `",` + strings.TrimPrefix(expected, "{")
	}
	if expected != "" && !sameJSON(a.body, expected) {
		s.t.Errorf("%s %.200s:\n got %s\nwant %s", operation, body, a.body, expected)
	}
}

func sameJSON(a, b string) bool {
	var x, y bytes.Buffer
	canonical := func(out *bytes.Buffer, text string) bool {
		var v any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if d.Decode(&v) != nil {
			return false
		}
		return json.NewEncoder(out).Encode(v) == nil
	}
	return canonical(&x, a) && canonical(&y, b) && x.String() == y.String()
}

// failing is an engine some of whose calls fail.
type failing struct {
	Engine
	err atomic.Pointer[error]
}

func (f *failing) fail(err error) { f.err.Store(&err) }

func (f *failing) Index(ctx context.Context, bucket, index string) (IndexInfo, error) {
	if err := f.err.Load(); err != nil && *err != nil {
		if errors.Is(*err, errPanic) {
			panic(*err)
		}
		return IndexInfo{}, *err
	}
	return f.Engine.Index(ctx, bucket, index)
}

var errPanic = errors.New("a fault of the engine")
