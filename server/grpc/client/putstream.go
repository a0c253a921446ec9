package client

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/wire"
)

// PutStream is a stream of puts to one index. One goroutine may Send while another
// calls Ack.
type PutStream struct {
	stream grpc.BidiStreamingClient[spratv1.PutStreamRequest, spratv1.PutStreamResponse]
	cancel context.CancelFunc

	bucket, index string
	options       *spratv1.PutOptions
	begun         bool
}

// PutStream begins a stream of puts. End it with Close.
func (c *Client) PutStream(ctx context.Context, bucket, index string, o sprat.PutOptions) (*PutStream, error) {
	if err := checkNames(bucket, index); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.vectors.PutStream(ctx)
	if err != nil {
		cancel()
		return nil, wire.Error(err)
	}
	return &PutStream{stream: stream, cancel: cancel, bucket: bucket, index: index, options: putOptions(o)}, nil
}

// Send sends records to put, all or none. It waits only while the server is far
// behind, so acknowledgements must be read meanwhile. io.EOF says that the stream has
// ended; Ack says why.
func (p *PutStream) Send(records []sprat.Record) error {
	if err := checkKeys(records); err != nil {
		return err
	}
	r := &spratv1.PutStreamRequest{Vectors: wire.Vectors(records)}
	if !p.begun {
		r.Bucket, r.Index, r.Options = p.bucket, p.index, p.options
	}
	if err := p.stream.Send(r); err != nil {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return wire.Error(err)
	}
	p.begun = true
	return nil
}

// Done says that there is nothing more to send.
func (p *PutStream) Done() error { return wire.Error(p.stream.CloseSend()) }

// Ack waits for the next acknowledgement, in the order of Send: request counts from 0,
// and refused says why its records were not put, nil when they are durable. err ends
// the stream: io.EOF after Done and the last acknowledgement.
func (p *PutStream) Ack() (request uint64, refused, err error) {
	ack, err := p.stream.Recv()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return 0, nil, io.EOF
		}
		return 0, nil, wire.Error(err)
	}
	return ack.GetRequest(), wire.Error(status.FromProto(ack.GetError()).Err()), nil
}

// Close ends the stream. What was not acknowledged may have been put or not.
func (p *PutStream) Close() { p.cancel() }
