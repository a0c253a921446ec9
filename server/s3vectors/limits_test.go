package s3vectors

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// filler reads as n spaces.
type filler struct{ n int64 }

func (f *filler) Read(p []byte) (int, error) {
	if f.n == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), f.n)
	for i := range p[:n] {
		p[i] = ' '
	}
	f.n -= n
	return int(n), nil
}

// TestBodyLimit: 20 MiB are taken, one byte more is not, with or without a length.
func TestBodyLimit(t *testing.T) {
	s := start(t, anonymousAdmin)
	send := func(n int64, length bool) answer {
		r, err := http.NewRequest("POST", s.server.URL+"/ListVectorBuckets", io.MultiReader(strings.NewReader("{}"), &filler{n - 2}))
		if err != nil {
			t.Fatal(err)
		}
		if length {
			r.ContentLength = n
		}
		return s.do(r)
	}
	if a := send(maxBody, true); a.status != 200 {
		t.Errorf("the largest body: %d %s", a.status, a.body)
	}
	if a := send(1000, false); a.status != 200 {
		t.Errorf("a body without a length: %d %s", a.status, a.body)
	}
	for _, length := range []bool{true, false} {
		for _, n := range []int64{maxBody + 1} {
			if a := send(n, length); a.status != 400 || a.body != `{"__type":"ValidationException","message":"Request body exceeds max allowed size"}` {
				t.Errorf("length given %v: %d bytes: %d %s", length, n, a.status, a.body)
			}
		}
	}
}

// dial opens a connection and sends text.
func (s *service) dial(text string) (net.Conn, *bufio.Reader) {
	s.t.Helper()
	c, err := net.Dial("tcp", s.server.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// TestStalledBody: a client that stops in the middle of a body is answered and cut off.
func TestStalledBody(t *testing.T) {
	s := start(t, anonymousAdmin)
	s.handler.grace = time.Millisecond
	_, in := s.dial("POST /ListVectorBuckets HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != 408 || res.Header.Get("X-Amzn-ErrorType") != "RequestTimeoutException" || !res.Close {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if _, err := in.ReadByte(); err == nil {
		t.Error("the connection is still open")
	}
}

// TestBodyMemory: bodies in progress do not take more than they may, and others are told
// to come again; small ones are not held up.
func TestBodyMemory(t *testing.T) {
	s := start(t, func(o *Options) { anonymousAdmin(o); o.BodyMemory = minBodyMemory; o.Timeout = time.Second })
	head := fmt.Sprintf("POST /ListVectorBuckets HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", maxBody)
	arrived := make(chan struct{})
	// The first holds its share while it sends nothing.
	slow, in := s.dial(head + "{}")
	go func() {
		defer close(arrived)
		for s.handler.bodies.TryAcquire(minBodyMemory - smallShare) { // not yet
			s.handler.bodies.Release(minBodyMemory - smallShare)
		}
	}()
	<-arrived
	second, err := http.NewRequest("POST", s.server.URL+"/ListVectorBuckets", io.MultiReader(strings.NewReader("{}"), &filler{maxBody - 2}))
	if err != nil {
		t.Fatal(err)
	}
	second.ContentLength = maxBody
	if a := s.do(second); a.status != 503 || a.head.Get("X-Amzn-ErrorType") != "ServiceUnavailableException" {
		t.Errorf("the second: %d %s", a.status, a.body)
	}
	if a := s.post("ListVectorBuckets", "{}"); a.status != 200 {
		t.Errorf("a small one: %d %s", a.status, a.body)
	}
	if _, err := io.Copy(slow, &filler{maxBody - 2}); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != 200 {
		t.Errorf("the first: %v, %v", res, err)
	}
}

// TestHeaderFlood: heads of requests are bounded before the handler sees them.
func TestHeaderFlood(t *testing.T) {
	s := start(t, anonymousAdmin)
	text := "POST /ListVectorBuckets HTTP/1.1\r\nHost: x\r\n"
	for i := range 2000 {
		text += fmt.Sprintf("X-Filler-%d: %s\r\n", i, strings.Repeat("x", 60))
	}
	c, err := net.Dial("tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() { _, _ = io.WriteString(c, text+"\r\n") }() // the server may close before the end
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", res.StatusCode)
	}
}

// TestMemoryComesBack: what requests held is free after them, failed ones included.
func TestMemoryComesBack(t *testing.T) {
	s := start(t, anonymousAdmin)
	ix := s.withIndex("cosine")
	s.must("PutVectors", ix+`"vectors":[`+put("a", "[1,2,3,4]", "")+`]}`)
	for _, body := range []string{`"keys":["a"]}`, `"keys":[]}`, `"keys":{`} {
		s.post("GetVectors", ix+body)
	}
	s.post("QueryVectors", ix+`"topK":10000,"queryVector":{"float32":[1,1,1,1]}}`)
	s.post("ListVectors", ix+`"x":1}`)
	s.server.Close() // waits for the ends of requests
	for name, free := range map[string]bool{
		"answers": s.handler.answers.TryAcquire(s.handler.o.AnswerMemory), "bodies": s.handler.bodies.TryAcquire(s.handler.o.BodyMemory - smallShare), "small": s.handler.small.TryAcquire(smallShare),
	} {
		if !free {
			t.Errorf("%s: not all of it is free", name)
		}
	}
}

// TestSlowReader: an answer that its client does not take is given up after a while,
// and its memory comes back.
func TestSlowReader(t *testing.T) {
	s := start(t, anonymousAdmin)
	ix := s.withIndex("cosine")
	var items, keys []string
	for i := range 30 {
		items = append(items, put(fmt.Sprint(i), "[1,1,1,1]", `{"bulk":"`+strings.Repeat("x", 40000)+`"}`))
		keys = append(keys, fmt.Sprintf("%q", fmt.Sprint(i)))
	}
	s.must("PutVectors", ix+`"vectors":[`+strings.Join(items, ",")+`]}`)
	body := ix + `"keys":[` + strings.Join(keys, ",") + `],"returnMetadata":true}`
	w := &stuck{head: http.Header{}}
	r, err := http.NewRequest("POST", "http://x/GetVectors", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	s.handler.ServeHTTP(w, r)
	if w.deadline.IsZero() || !s.handler.answers.TryAcquire(s.handler.o.AnswerMemory) {
		t.Errorf("deadline %v, or memory for answers is not free", w.deadline)
	}
}

// stuck is a client that takes nothing until the deadline.
type stuck struct {
	head     http.Header
	deadline time.Time
}

func (s *stuck) Header() http.Header { return s.head }
func (s *stuck) WriteHeader(int)     {}
func (s *stuck) SetWriteDeadline(t time.Time) error {
	if s.deadline.IsZero() {
		s.deadline = t
	}
	return nil
}
func (s *stuck) SetReadDeadline(time.Time) error { return nil }
func (s *stuck) Write([]byte) (int, error) {
	return 0, fmt.Errorf("deadline %v: %w", s.deadline, io.ErrShortWrite)
}
