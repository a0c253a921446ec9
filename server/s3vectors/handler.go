package s3vectors

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spratdb/sprat/server/s3vectors/sigv4"
)

// call is one request on its way.
type call struct {
	h     *Handler
	w     http.ResponseWriter
	r     *http.Request
	op    *operation
	id    string // of the request
	start time.Time
	who   caller
	q     *request
	bytes int64 // of the body

	answerHeld int64 // of the memory for answers

	status int
	code   string // of the error
	wrote  bool
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op, arn := h.route(r)
	if h.o.Fallback != nil && !h.owns(op, r) {
		h.o.Fallback.ServeHTTP(w, r)
		return
	}
	c := &call{h: h, w: w, r: r, op: op, id: requestID(), start: h.o.Now(), q: &request{resourceARN: arn}}
	defer c.finish()
	answer, err := c.serve()
	if err != nil {
		c.fail(err)
		return
	}
	c.keepRoom(int64(len(answer)))
	c.write(http.StatusOK, answer)
}

// owns says that a request is for this service rather than for the fallback.
func (h *Handler) owns(op *operation, r *http.Request) bool {
	service := sigv4.Service(r.Header.Get("Authorization"))
	switch {
	case op == nil:
		return service == h.verifier.Service
	case op.tags:
		return service == h.verifier.Service || service == "" // an object of a bucket "tags"?
	}
	return true
}

// route finds the operation of a request, and for tags their resource.
func (h *Handler) route(r *http.Request) (op *operation, arn string) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), h.o.BasePath+"/")
	if !ok {
		return nil, ""
	}
	if escaped, ok := strings.CutPrefix(path, "tags/"); ok {
		arn, err := url.PathUnescape(escaped)
		if err != nil {
			return nil, ""
		}
		return tagOperations[r.Method], arn
	}
	if r.Method != http.MethodPost {
		return nil, ""
	}
	return operations[path], ""
}

func requestID() string {
	id, err := uuid.NewRandom()
	if err != nil {
		return uuid.Nil.String() // no randomness; a request is not refused for that
	}
	return id.String()
}

// serve takes the steps that the package comment lists.
func (c *call) serve() ([]byte, error) {
	if c.op == nil {
		return nil, c.unknown()
	}
	pending, err := c.authenticate()
	if err != nil {
		c.drain(maxBody)
		return nil, err
	}
	body, release, err := c.readBody()
	if err != nil {
		return nil, err
	}
	defer release()
	if pending != nil {
		if err := pending.Finish(sha256.Sum256(body)); err != nil {
			return nil, signatureError(err)
		}
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), c.h.o.Timeout)
	defer cancel()
	if err := c.understand(body); err != nil {
		return nil, err
	}
	if err := c.authorize(ctx); err != nil {
		return nil, err
	}
	if c.q.target.foreign {
		return nil, notFound(c.q.target.missing())
	}
	return c.op.run(c.h, ctx, c)
}

func (c *call) unknown() error {
	c.drain(maxBody)
	return &apiError{status: http.StatusNotFound, code: "UnknownOperationException", message: "The operation is not known to this service"}
}

// authenticate finds out who sent the request, as far as its head tells. Nothing is
// pending when it is anonymous.
func (c *call) authenticate() (*sigv4.Pending, error) {
	h := c.h
	if h.o.Anonymous != "" && c.r.Header["Authorization"] == nil {
		c.who = caller{anonymous: true, role: h.o.Anonymous}
		return nil, nil
	}
	pending, err := h.verifier.Begin(c.r)
	if err != nil {
		return nil, signatureError(err)
	}
	key, _ := h.o.Keys.Lookup(pending.AccessKeyID)
	c.who = caller{user: key.User, role: key.Role, arn: "arn:aws:iam::" + h.o.Account + ":user/" + key.User}
	return pending, nil
}

// understand parses the request and checks the constraints of the model.
func (c *call) understand(body []byte) (err error) {
	if c.op.members != nil {
		err = c.op.members.parse(c.q, body)
	} else if c.q.tagKeys, err = tagKeysOf(c.r.URL); err != nil {
		err = malformed(err)
	}
	if err != nil {
		return err
	}
	var v violations
	c.op.check(c.h, c.q, &v)
	if err := v.err(); err != nil {
		return err
	}
	if c.op.target != nil {
		return c.op.target(c.h, c.q)
	}
	return nil
}

// authorize checks that the caller may do what the request asks for, with all that it
// brings along.
func (c *call) authorize(ctx context.Context) error {
	operations := []string{c.op.name}
	switch {
	case c.op.creates && len(c.q.tags) > 0:
		operations = append(operations, "TagResource")
	case c.op.name == "ListVectors" && (c.q.returnData || c.q.returnMetadata),
		c.op.name == "QueryVectors" && (c.q.returnMetadata || c.q.filter != nil):
		operations = append(operations, "GetVectors")
	}
	for _, name := range operations {
		if err := c.allow(ctx, name, c.q.target); err != nil {
			return err
		}
	}
	return nil
}

// fail answers an error.
func (c *call) fail(err error) {
	var e *apiError
	if !errors.As(err, &e) {
		e = internal(err)
	}
	if e.status >= http.StatusInternalServerError {
		c.h.o.Logger.Error("s3vectors request failed", "operation", c.name(), "request", c.id, "status", e.status, "err", e.cause)
	}
	c.code = e.code
	c.w.Header().Set("X-Amzn-ErrorType", e.code)
	if e.close {
		c.w.Header().Set("Connection", "close")
	}
	c.write(e.status, e.body())
}

func (c *call) name() string {
	if c.op == nil {
		return ""
	}
	return c.op.name
}

// write sends an answer, at no less than a least rate.
func (c *call) write(status int, body []byte) {
	c.status, c.wrote = status, true
	control := http.NewResponseController(c.w)
	// An embedding server that has no deadlines keeps its own.
	_ = control.SetWriteDeadline(time.Now().Add(c.h.transferTime(int64(len(body)))))
	head := c.w.Header()
	head.Set("Content-Type", "application/json")
	head.Set("Content-Length", strconv.Itoa(len(body)))
	head.Set("X-Amzn-Requestid", c.id)
	c.w.WriteHeader(status)
	if _, err := bytes.NewReader(body).WriteTo(c.w); err != nil {
		c.h.o.Logger.Debug("s3vectors answer was not taken", "request", c.id, "err", err)
	}
	_ = control.SetWriteDeadline(time.Time{})
}

// finish turns a panic into an answer and reports the request.
func (c *call) finish() {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler {
			panic(p)
		}
		c.keepRoom(0)
		c.h.o.Logger.Error("s3vectors request panicked", "operation", c.name(), "request", c.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		if c.wrote {
			panic(http.ErrAbortHandler) // the answer is broken: so is the connection
		}
		c.fail(internal(errors.New("panic")))
	}
	c.keepRoom(0)
	took := c.h.o.Now().Sub(c.start)
	c.h.o.Logger.Debug("s3vectors request", "operation", c.name(), "request", c.id, "user", c.who.user,
		"status", c.status, "code", c.code, "took", took, "body_bytes", c.bytes)
	if c.h.o.Observe != nil {
		c.h.o.Observe(Observation{Operation: c.name(), Status: c.status, Code: c.code, Duration: took, BodyBytes: c.bytes})
	}
}
