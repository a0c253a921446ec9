package wire

import (
	"context"
	"errors"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spratdb/sprat"
)

// What a server answers besides the errors of package sprat. Test with errors.Is.
var (
	// ErrUnauthenticated says that the call carried no token, or none that is known.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrForbidden says that the token's role does not allow the method.
	ErrForbidden = errors.New("not allowed")
	// ErrBusy says that the server takes no more calls at the moment: the rate limit or
	// the number of calls in progress. A later call may succeed.
	ErrBusy = errors.New("too many calls")
	// ErrNoSnapshots says that the server was started without a target for snapshots.
	ErrNoSnapshots = errors.New("the server has no target for snapshots")
)

// Domain of the google.rpc.ErrorInfo in a status.
const Domain = "sprat"

// kind is one kind of error: its sentinel, how it is named in ErrorInfo, and its code.
type kind struct {
	sentinel error
	reason   string
	code     codes.Code
}

// kinds is in order of precedence, for errors that are several.
var kinds = []kind{
	{sprat.ErrInvalid, "INVALID", codes.InvalidArgument},
	{sprat.ErrCorrupt, "CORRUPT", codes.DataLoss},
	{sprat.ErrVolumeFull, "VOLUME_FULL", codes.ResourceExhausted},
	{sprat.ErrMemoryLimit, "MEMORY_LIMIT", codes.ResourceExhausted},
	{sprat.ErrNotFound, "NOT_FOUND", codes.NotFound},
	{sprat.ErrExists, "EXISTS", codes.AlreadyExists},
	{sprat.ErrNotEmpty, "NOT_EMPTY", codes.FailedPrecondition},
	{sprat.ErrInUse, "IN_USE", codes.FailedPrecondition},
	{sprat.ErrFormat, "FORMAT", codes.FailedPrecondition},
	{sprat.ErrNotStore, "NOT_STORE", codes.FailedPrecondition},
	{sprat.ErrClosed, "CLOSED", codes.Unavailable},
	{ErrNoSnapshots, "NO_SNAPSHOTS", codes.FailedPrecondition},
	{ErrBusy, "BUSY", codes.ResourceExhausted},
	{ErrUnauthenticated, "UNAUTHENTICATED", codes.Unauthenticated},
	{ErrForbidden, "FORBIDDEN", codes.PermissionDenied},
	{context.DeadlineExceeded, "DEADLINE", codes.DeadlineExceeded},
	{context.Canceled, "CANCELED", codes.Canceled},
}

// StatusError is the error of a call. Its text is that of the server.
type StatusError struct {
	Status *status.Status
	cause  error // nil when it is none that this package knows
}

// Error is the message of the status.
func (e *StatusError) Error() string { return e.Status.Message() }

// Unwrap returns the error of package sprat, or of this one, that the status stands for.
func (e *StatusError) Unwrap() error { return e.cause }

// GRPCStatus lets status.FromError find the status.
func (e *StatusError) GRPCStatus() *status.Status { return e.Status }

// Error turns the error of a gRPC call into one that errors.Is and errors.As find the
// errors of package sprat in. Errors that are no statuses are returned as they are.
func Error(err error) error {
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	return &StatusError{Status: st, cause: causeOf(st)}
}

// causeOf rebuilds what Status was given.
func causeOf(st *status.Status) error {
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == Domain {
			return rebuild(info)
		}
	}
	switch st.Code() { // gRPC itself made the status
	case codes.DeadlineExceeded:
		return context.DeadlineExceeded
	case codes.Canceled:
		return context.Canceled
	case codes.Unauthenticated:
		return ErrUnauthenticated
	case codes.PermissionDenied:
		return ErrForbidden
	}
	return nil
}

func rebuild(info *errdetails.ErrorInfo) error {
	var cause error
	for i := range kinds {
		if kinds[i].reason == info.GetReason() {
			cause = kinds[i].sentinel
		}
	}
	m := info.GetMetadata()
	number := func(name string) int64 {
		n, err := strconv.ParseInt(m[name], 10, 64)
		if err != nil {
			return 0 // an older server does not tell
		}
		return n
	}
	switch cause {
	case sprat.ErrInvalid:
		if m["field"] != "" {
			cause = &sprat.InputError{Field: m["field"], Want: m["want"], Got: m["got"]}
		}
	case sprat.ErrCorrupt:
		cause = &sprat.CorruptionError{Path: m["path"], Offset: number("offset"), Err: errors.New(m["cause"])}
	case sprat.ErrMemoryLimit:
		cause = &sprat.MemoryLimitError{What: m["what"], Limit: number("limit"), Needed: number("needed")}
	case sprat.ErrVolumeFull:
		cause = &sprat.VolumeFullError{Path: m["path"], Free: number("free"), Needed: number("needed"), Err: errors.New(m["cause"])}
	}
	if row, ok := m["row"]; ok && row != "" {
		return &sprat.RowError{Row: number("row"), Key: m["key"], Err: cause}
	}
	return cause
}
