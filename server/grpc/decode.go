package grpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/spratdb/sprat"
)

// decodeInside is a service whose messages are decoded inside the interceptors and not
// before them: a call that they refuse costs no decoding, and a malformed message is
// the client's fault, is logged and counted. gRPC itself calls it Internal. The
// interceptors see no request.
func decodeInside(desc *grpc.ServiceDesc) *grpc.ServiceDesc {
	out := *desc
	out.Methods = make([]grpc.MethodDesc, len(desc.Methods))
	for i, m := range desc.Methods {
		name := "/" + desc.ServiceName + "/" + m.MethodName
		out.Methods[i] = grpc.MethodDesc{MethodName: m.MethodName, Handler: func(srv any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			inside := func(ctx context.Context, _ any) (any, error) {
				return m.Handler(srv, ctx, func(v any) error { return read(decode, v) }, nil)
			}
			if intercept == nil {
				return inside(ctx, nil)
			}
			return intercept(ctx, nil, &grpc.UnaryServerInfo{Server: srv, FullMethod: name}, inside)
		}}
	}
	return &out
}

// lenient takes a message off the wire even when it is malformed, and says so in fault:
// gRPC itself would answer Internal before a handler or an interceptor sees it.
type lenient struct {
	message any
	fault   error
}

// read has the message read into v.
func read(receive func(any) error, v any) error {
	l := &lenient{message: v}
	if err := receive(l); err != nil {
		return err
	}
	if l.fault != nil {
		return &sprat.InputError{Field: "request", Want: "a message of this method, with texts in UTF-8", Got: l.fault.Error()}
	}
	return nil
}

// codec is the one of protobuf, that knows lenient.
type codec struct{ encoding.CodecV2 }

// newCodec returns the codec of this server.
func newCodec() codec { return codec{encoding.GetCodecV2(protocodec.Name)} }

// Unmarshal is of encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if l, ok := v.(*lenient); ok {
		l.fault = c.CodecV2.Unmarshal(data, l.message)
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// strictStream is a stream whose malformed messages are the client's fault.
type strictStream struct{ grpc.ServerStream }

func (s strictStream) RecvMsg(m any) error { return read(s.ServerStream.RecvMsg, m) }
