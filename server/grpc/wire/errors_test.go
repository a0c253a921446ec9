package wire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/grpc/wire"
)

// TestErrors: every error has its code and reason, and is the same error on the other
// side.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		err    error
		code   codes.Code
		reason string
		is     error
	}{
		{sprat.ErrInvalid, codes.InvalidArgument, "INVALID", sprat.ErrInvalid},
		{&sprat.InputError{Field: "k", Want: "1", Got: "2"}, codes.InvalidArgument, "INVALID", sprat.ErrInvalid},
		{sprat.ErrNotFound, codes.NotFound, "NOT_FOUND", sprat.ErrNotFound},
		{sprat.ErrExists, codes.AlreadyExists, "EXISTS", sprat.ErrExists},
		{sprat.ErrNotEmpty, codes.FailedPrecondition, "NOT_EMPTY", sprat.ErrNotEmpty},
		{sprat.ErrInUse, codes.FailedPrecondition, "IN_USE", sprat.ErrInUse},
		{sprat.ErrFormat, codes.FailedPrecondition, "FORMAT", sprat.ErrFormat},
		{sprat.ErrNotStore, codes.FailedPrecondition, "NOT_STORE", sprat.ErrNotStore},
		{&sprat.CorruptionError{Path: "f", Offset: 1 << 40, Err: errors.New("checksum")}, codes.DataLoss, "CORRUPT", sprat.ErrCorrupt},
		{&sprat.MemoryLimitError{What: "x", Limit: 1, Needed: 2}, codes.ResourceExhausted, "MEMORY_LIMIT", sprat.ErrMemoryLimit},
		{&sprat.VolumeFullError{Path: "p", Free: 3, Needed: 4, Err: errors.New("ENOSPC")}, codes.ResourceExhausted, "VOLUME_FULL", sprat.ErrVolumeFull},
		{sprat.ErrClosed, codes.Unavailable, "CLOSED", sprat.ErrClosed},
		{wire.ErrBusy, codes.ResourceExhausted, "BUSY", wire.ErrBusy},
		{wire.ErrUnauthenticated, codes.Unauthenticated, "UNAUTHENTICATED", wire.ErrUnauthenticated},
		{wire.ErrForbidden, codes.PermissionDenied, "FORBIDDEN", wire.ErrForbidden},
		{wire.ErrNoSnapshots, codes.FailedPrecondition, "NO_SNAPSHOTS", wire.ErrNoSnapshots},
		{context.DeadlineExceeded, codes.DeadlineExceeded, "", context.DeadlineExceeded},
		{context.Canceled, codes.Canceled, "", context.Canceled},
		{errors.New("an operation failed"), codes.Internal, "", nil},
	} {
		for _, err := range []error{c.err, fmt.Errorf("while doing it: %w", c.err), &sprat.RowError{Row: 3, Key: "key", Err: c.err}} {
			st := wire.Status(err, "vectors")
			if st.Code() != c.code || st.Message() != err.Error() {
				t.Errorf("%v: status %v", err, st)
			}
			back := wire.Error(st.Err())
			if back.Error() != err.Error() || c.is != nil && !errors.Is(back, c.is) || status.Code(back) != c.code {
				t.Errorf("%v: came back as %v", err, back)
			}
			if reason := reasonOf(st); c.reason != "" && reason != c.reason {
				t.Errorf("%v: reason %q, want %q", err, reason, c.reason)
			}
			if row := (*sprat.RowError)(nil); c.reason != "" && errors.As(err, &row) {
				got := (*sprat.RowError)(nil)
				if !errors.As(back, &got) || got.Row != 3 || got.Key != "key" || got.Err.Error() != c.err.Error() {
					t.Errorf("%v: came back with row %+v", err, got)
				}
			}
		}
	}
}

func reasonOf(st *status.Status) string {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == wire.Domain {
			return info.GetReason()
		}
	}
	return ""
}

func TestFieldPath(t *testing.T) {
	in := &sprat.InputError{Field: "vector", Want: "3 components", Got: "2"}
	for want, err := range map[string]error{"vector": in, "queries[7].vector": &sprat.RowError{Row: 7, Err: in}} {
		var got string
		for _, d := range wire.Status(err, "queries").Details() {
			if bad, ok := d.(*errdetails.BadRequest); ok {
				got = bad.GetFieldViolations()[0].GetField()
			}
		}
		if got != want {
			t.Errorf("field %q, want %q", got, want)
		}
	}
}

// TestStatusKept: what is a status already stays as it is, and nil stays nil.
func TestStatusKept(t *testing.T) {
	if wire.Status(nil, "").Err() != nil || wire.Error(nil) != nil {
		t.Error("nil became an error")
	}
	st := status.New(codes.OutOfRange, "text")
	if got := wire.Status(st.Err(), ""); got.Code() != codes.OutOfRange {
		t.Errorf("got %v", got)
	}
	plain := errors.New("no status")
	if got := wire.Error(plain); got != plain {
		t.Errorf("got %v", got)
	}
	for code, want := range map[codes.Code]error{codes.DeadlineExceeded: context.DeadlineExceeded, codes.Canceled: context.Canceled,
		codes.Unauthenticated: wire.ErrUnauthenticated, codes.PermissionDenied: wire.ErrForbidden} {
		if got := wire.Error(status.Error(code, "by gRPC")); !errors.Is(got, want) {
			t.Errorf("%v became %v", code, got)
		}
	}
	if errors.Is(wire.Error(status.Error(codes.Unavailable, "connection refused")), sprat.ErrClosed) {
		t.Error("a server that is not there is taken for a closed store")
	}
}

// TestInputErrors: any input error comes back as it was when it is short, and fits
// whatever it holds.
func TestInputErrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.IntRange(0, 3000), func(n int) string { return strings.Repeat("é", n) }))
		in := &sprat.InputError{Field: rapid.StringN(1, 20, 60).Draw(t, "field"), Want: text.Draw(t, "want"), Got: text.Draw(t, "got")}
		row := &sprat.RowError{Row: rapid.Int64Min(0).Draw(t, "row"), Key: text.Draw(t, "key"), Err: in}
		st := wire.Status(row, "vectors")
		message, err := proto.Marshal(st.Proto())
		if err != nil || len(message) > 6<<10 {
			t.Fatalf("%d bytes, %v", len(message), err)
		}
		var back *sprat.InputError
		var backRow *sprat.RowError
		got := wire.Error(st.Err())
		if !errors.As(got, &back) || !errors.As(got, &backRow) || backRow.Row != row.Row || back.Field != in.Field {
			t.Fatalf("came back as %v", got)
		}
		for there, here := range map[string]string{in.Want: back.Want, in.Got: back.Got, row.Key: backRow.Key} {
			if short := len(there) <= 512 && utf8.ValidString(there); short && here != there || !utf8.ValidString(here) {
				t.Fatalf("%q became %q", there, here)
			}
		}
	})
}

// FuzzError: no status of a foreign server is more than an error.
func FuzzError(f *testing.F) {
	for _, err := range []error{sprat.ErrNotFound, &sprat.RowError{Row: 1, Err: &sprat.InputError{Field: "k"}}, &sprat.CorruptionError{Err: errors.New("x")}} {
		text, fault := proto.Marshal(wire.Status(err, "vectors").Proto())
		if fault != nil {
			f.Fatal(fault)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var st spb.Status
		if proto.Unmarshal(text, &st) != nil {
			return
		}
		err := wire.Error(status.FromProto(&st).Err())
		if (err == nil) != (st.GetCode() == 0) {
			t.Fatalf("code %d became %v", st.GetCode(), err)
		}
		if err != nil && err.Error() != st.GetMessage() {
			t.Fatalf("message %q became %q", st.GetMessage(), err)
		}
	})
}
