package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"github.com/spratdb/sprat"
)

// Longest texts of a status, in bytes. They are in it twice at most, and the details
// are in base64.
const (
	maxMessage = 1024
	maxValue   = 512
)

// Keys is the name of the repeated field of keys.
const Keys = "keys"

// Status is the status of an error, nil for nil. rows names the repeated field that a
// *sprat.RowError counts in, like "vectors". Errors that carry a status keep it.
func Status(err error, rows string) *status.Status {
	if err == nil {
		return nil
	}
	if st, ok := status.FromError(err); ok {
		return st
	}
	for i := range kinds {
		if k := &kinds[i]; errors.Is(err, k.sentinel) {
			return k.status(err, rows)
		}
	}
	return status.New(codes.Internal, cut(err.Error(), maxMessage))
}

func (k *kind) status(err error, rows string) *status.Status {
	info := &errdetails.ErrorInfo{Domain: Domain, Reason: k.reason, Metadata: facts(err)}
	st := status.New(k.code, cut(err.Error(), maxMessage))
	details := []protoadapt.MessageV1{info}
	if in := (*sprat.InputError)(nil); errors.As(err, &in) {
		details = append(details, badRequest(err, in, rows))
	}
	with, fault := st.WithDetails(details...)
	if fault != nil {
		return st // the message says it all
	}
	return with
}

// badRequest names the field as a path in the request.
func badRequest(err error, in *sprat.InputError, rows string) *errdetails.BadRequest {
	field := in.Field
	if row := (*sprat.RowError)(nil); errors.As(err, &row) {
		at := fmt.Sprintf("%s[%d]", rows, row.Row)
		if rows != Keys { // whose rows are the field
			at += "." + field
		}
		field = at
	}
	return &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{
		Field: cut(field, maxValue), Description: cut("want "+in.Want+", got "+in.Got, maxValue),
	}}}
}

// facts are the fields of an error's types.
func facts(err error) map[string]string {
	m := map[string]string{}
	text := func(name, value string) { m[name] = cut(value, maxValue) }
	number := func(name string, value int64) { m[name] = strconv.FormatInt(value, 10) }
	var (
		row     *sprat.RowError
		in      *sprat.InputError
		corrupt *sprat.CorruptionError
		memory  *sprat.MemoryLimitError
		full    *sprat.VolumeFullError
	)
	if errors.As(err, &row) {
		number("row", row.Row)
		m["key"] = cut(row.Key, sprat.MaxKeyBytes)
	}
	switch {
	case errors.As(err, &in):
		text("field", in.Field)
		text("want", in.Want)
		text("got", in.Got)
	case errors.As(err, &corrupt):
		text("path", corrupt.Path)
		number("offset", corrupt.Offset)
		text("cause", textOf(corrupt.Err))
	case errors.As(err, &memory):
		text("what", memory.What)
		number("limit", memory.Limit)
		number("needed", memory.Needed)
	case errors.As(err, &full):
		text("path", full.Path)
		number("free", full.Free)
		number("needed", full.Needed)
		text("cause", textOf(full.Err))
	}
	return m
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// cut makes a text valid UTF-8 of at most n bytes.
func cut(s string, n int) string {
	if len(s) > n {
		s = s[:n-len("…")]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		if len(s) > 0 && s[len(s)-1] >= utf8.RuneSelf {
			s = s[:len(s)-1] // the first byte of a character that was cut
		}
		s += "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
