package s3snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/spratdb/sprat/internal/archive"
)

const (
	testAccess = "AKIDEXAMPLE"
	testSecret = "wJalrXUtnFEMI-K7MDENG-bPxRfiCY-EXAMPLEKEY"
	testToken  = "IQoJb3JpZ2luX2Vj-EXAMPLETOKEN"
)

// server is an S3 server in this process, with faults to order.
type server struct {
	*httptest.Server
	inner http.Handler

	mu       sync.Mutex
	faults   []fault // for the next requests whose method is the fault's
	pageSize int     // when set, the most keys of a list
	requests map[string]int
	wrongSum int // Puts without the checksum of their content
}

// fault is what a request gets instead of an answer.
type fault struct {
	method string
	status int    // 0: the answer breaks off in the middle
	code   string // of the error
	text   string
}

func newServer(t *testing.T) *server {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	s := &server{inner: gofakes3.New(backend).Server(), requests: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// order makes the next requests fail, in this order for each method.
func (s *server) order(faults ...fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

func (s *server) next(method string) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[method]++
	for i, f := range s.faults {
		if f.method == method {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
			return &f
		}
	}
	return nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if sum := sha256.Sum256(body); r.Method == http.MethodPut &&
		r.Header.Get("X-Amz-Checksum-Sha256") != base64.StdEncoding.EncodeToString(sum[:]) {
		s.mu.Lock()
		s.wrongSum++
		s.mu.Unlock()
	}
	f := s.next(r.Method)
	switch {
	case f == nil:
		if query := r.URL.Query(); query.Get("list-type") == "2" && s.pageSize > 0 {
			query.Set("max-keys", strconv.Itoa(s.pageSize))
			r.URL.RawQuery = query.Encode()
		}
		s.inner.ServeHTTP(w, r)
	case f.status == 0:
		answer := httptest.NewRecorder()
		s.inner.ServeHTTP(answer, r)
		w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
		_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
	default:
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(f.status)
		_, _ = io.WriteString(w, "<Error><Code>"+f.code+"</Code><Message>"+f.text+"</Message></Error>")
	}
}

// isolate keeps the settings of whoever runs the tests out of them.
func isolate(t *testing.T) {
	t.Helper()
	nowhere := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": nowhere, "AWS_SHARED_CREDENTIALS_FILE": nowhere, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "", "AWS_REGION": "",
		"AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "",
		"AWS_CA_BUNDLE": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "",
		"AWS_WEB_IDENTITY_TOKEN_FILE": "", "HTTP_PROXY": "", "http_proxy": "",
	} {
		t.Setenv(name, value)
	}
}

func (s *server) config(prefix string) Config {
	return Config{Bucket: "bucket", Prefix: prefix, Endpoint: s.URL, PathStyle: true,
		AccessKey: testAccess, SecretKey: testSecret, SessionToken: testToken, maxBackoff: time.Millisecond}
}

func (s *server) target(t *testing.T, prefix string) archive.Objects {
	t.Helper()
	isolate(t)
	o, err := New(context.Background(), s.config(prefix))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// count returns how many requests of a method came while f ran.
func (s *server) count(method string, f func()) int {
	s.mu.Lock()
	before := s.requests[method]
	s.mu.Unlock()
	f()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[method] - before
}

// unreachable is an endpoint at which nothing listens.
func unreachable(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.String()
}
