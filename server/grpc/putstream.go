package grpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/wire"
)

// putStream is a stream of puts. Requests are read one ahead of the one that is being
// applied, so that the next arrives meanwhile; a client that does not read its
// acknowledgements is held up, and takes no more memory than two messages.
type putStream struct {
	s      *Server
	stream grpc.BidiStreamingServer[spratv1.PutStreamRequest, spratv1.PutStreamResponse]

	bucket, index string
	options       *spratv1.PutOptions
}

func (v *vectorsService) PutStream(stream grpc.BidiStreamingServer[spratv1.PutStreamRequest, spratv1.PutStreamResponse]) error {
	p := &putStream{s: v.s, stream: stream}
	requests, ended := p.read()
	for n := uint64(0); ; n++ {
		select {
		case <-v.s.draining: // before another request is begun
			return status.Error(codes.Unavailable, "the server is stopping; what was not acknowledged was not put")
		default:
		}
		select {
		case <-v.s.draining:
			return status.Error(codes.Unavailable, "the server is stopping; what was not acknowledged was not put")
		case err := <-ended:
			return err
		case r := <-requests:
			if err := p.answer(n, r); err != nil {
				return err
			}
		}
	}
}

// read receives on a goroutine of its own, which ends with the stream. ended has nil
// when the client has no more requests.
func (p *putStream) read() (requests chan *spratv1.PutStreamRequest, ended chan error) {
	requests, ended = make(chan *spratv1.PutStreamRequest), make(chan error, 1)
	go func() {
		for {
			r, err := p.stream.Recv()
			if errors.Is(err, io.EOF) {
				err = nil
			}
			if r == nil {
				ended <- err
				return
			}
			select {
			case requests <- r:
			case <-p.stream.Context().Done():
				ended <- p.stream.Context().Err()
				return
			}
		}
	}()
	return requests, ended
}

// answer applies a request and acknowledges it. Errors end the stream: those of the
// stream itself, and those after which no other request can succeed.
func (p *putStream) answer(n uint64, r *spratv1.PutStreamRequest) error {
	if r.GetBucket() != "" || r.GetIndex() != "" {
		p.bucket, p.index = r.GetBucket(), r.GetIndex()
	}
	if r.GetOptions() != nil {
		p.options = r.GetOptions()
	}
	ctx := p.stream.Context()
	ack := &spratv1.PutStreamResponse{Request: n}
	err := p.apply(ctx, r.GetVectors())
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, sprat.ErrClosed):
		return err
	default:
		ack.Error = wire.Status(err, "vectors").Proto()
	}
	return p.stream.Send(ack)
}

func (p *putStream) apply(ctx context.Context, vectors []*spratv1.Vector) error {
	if err := p.s.limits.take(ctx); err != nil {
		return err
	}
	ix, err := p.s.store.Index(p.bucket, p.index)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.s.o.MaxTime)
	defer cancel()
	return put(ctx, ix, vectors, p.options)
}
