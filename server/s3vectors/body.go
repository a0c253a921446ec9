package s3vectors

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// maxBody is the largest body, inclusive.
	maxBody = 20 << 20
	// maxDrained is how much of a body that is too large is read all the same, so that
	// the client sees the answer and not a broken connection, which it would retry.
	maxDrained = 64 << 20

	// expansion is what a request takes for each byte of its body: the text, floats of
	// two characters, and compact metadata.
	expansion = 4
	// smallBody is up to which length bodies have memory of their own, so that queries
	// do not wait for loads.
	smallBody  = 256 << 10
	smallShare = 32 << 20

	// leastRate, in bytes a second, is how fast bodies must come and answers must go,
	// after transferGrace.
	leastRate     = 128 << 10
	transferGrace = 10 * time.Second
)

// transferTime is how long n bytes may take.
func (h *Handler) transferTime(n int64) time.Duration {
	return h.grace + time.Duration(n)*time.Second/leastRate
}

// readBody reads the body within the memory for bodies. release gives that back, when
// nothing refers to the body any more.
func (c *call) readBody() (body []byte, release func(), err error) {
	length := c.r.ContentLength
	if length > maxBody {
		c.drain(maxDrained)
		return nil, nil, tooLarge()
	}
	if length == 0 || c.r.Body == nil {
		return nil, func() {}, nil
	}
	room, weight := c.h.bodies, int64(maxBody*expansion)
	if length > 0 {
		weight = length * expansion
	}
	if weight <= smallBody*expansion {
		room = c.h.small
	}
	if err := c.acquire(c.r.Context(), room, weight); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			room.Release(weight)
		}
	}()
	if body, err = c.readAll(length); err != nil {
		return nil, nil, err
	}
	c.bytes = int64(len(body))
	return body, func() { room.Release(weight) }, nil
}

// acquire waits for memory, for as long as a request may take. What cannot be had is
// no fault of the client, which tries again.
func (c *call) acquire(ctx context.Context, room *semaphore.Weighted, weight int64) error {
	if room.TryAcquire(weight) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.h.o.Timeout)
	defer cancel()
	if err := room.Acquire(ctx, weight); err != nil {
		return unavailable(err)
	}
	return nil
}

// answerRoom waits for memory for an answer of so many bytes, and for making it. It is
// held until the client has taken the answer.
func (c *call) answerRoom(ctx context.Context, bytes int) error {
	weight := min(int64(bytes), c.h.o.AnswerMemory)
	if err := c.acquire(ctx, c.h.answers, weight); err != nil {
		return err
	}
	c.answerHeld = weight
	return nil
}

// keepRoom gives memory for answers back but for what is still needed.
func (c *call) keepRoom(bytes int64) {
	if c.answerHeld > bytes {
		c.h.answers.Release(c.answerHeld - bytes)
		c.answerHeld = bytes
	}
}

// readAll reads a body of a stated length, or of any when that is negative.
func (c *call) readAll(length int64) (body []byte, err error) {
	control := http.NewResponseController(c.w)
	most := int64(maxBody)
	if length >= 0 {
		most = length
	}
	// An embedding server that has no deadlines keeps its own.
	_ = control.SetReadDeadline(time.Now().Add(c.h.transferTime(most)))
	if length >= 0 {
		body = make([]byte, length)
		_, err = io.ReadFull(c.r.Body, body)
	} else {
		body, err = io.ReadAll(io.LimitReader(c.r.Body, maxBody+1))
	}
	if err != nil {
		return nil, broken(err)
	}
	_ = control.SetReadDeadline(time.Time{})
	if len(body) > maxBody {
		c.drain(maxDrained)
		return nil, tooLarge()
	}
	return body, nil
}

// broken is what became of a body that did not arrive whole.
func broken(err error) error {
	var e *apiError
	var timeout net.Error
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		e = timedOut(err)
	} else {
		e = malformed(err)
	}
	e.close = true
	return e
}

func tooLarge() *apiError {
	e := badInput("", textTooLarge)
	e.fields, e.close = nil, true
	return e
}

// drain reads what is left of a body, up to a limit and not slower than the least rate.
func (c *call) drain(limit int64) {
	if strings.EqualFold(c.r.Header.Get("Expect"), "100-continue") {
		return // the client waits for a word and will not send it
	}
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(c.h.transferTime(limit)))
	_, _ = io.Copy(io.Discard, io.LimitReader(c.r.Body, limit)) // the answer is the same
}
