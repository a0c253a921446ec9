package s3vectors

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/s3vectors/floatjson"
	"github.com/spratdb/sprat/server/s3vectors/sigv4"
)

// apiError is an error as a client sees it.
type apiError struct {
	status  int
	code    string
	message string
	fields  []fieldError // of a ValidationException
	reason  string       // what AWS does not tell; SDKs leave it alone
	close   bool         // the connection cannot be used again
	cause   error        // for the log
}

// fieldError is an entry of fieldList.
type fieldError struct{ path, message string }

// Error is the code and the message.
func (e *apiError) Error() string { return e.code + ": " + e.message }

// Unwrap returns the cause.
func (e *apiError) Unwrap() error { return e.cause }

// Texts of AWS.
const (
	textBucketNotFound = "The specified vector bucket could not be found"
	textIndexNotFound  = "The specified index could not be found"
	textPolicyNotFound = "The specified vector bucket policy could not be found"
	textBucketExists   = "A vector bucket with the specified name already exists"
	textIndexExists    = "An index with the specified name already exists"
	textNotEmpty       = "The specified vector bucket is not empty"
	textBucketRef      = "Must specify either vectorBucketName or vectorBucketArn but not both"
	textIndexRef       = "Must specify either indexArn or both vectorBucketName and indexName"
	textBusy           = "Currently unable to handle the request"
	textTooLarge       = "Request body exceeds max allowed size"
	textKeyBytes       = "Record key length exceeds the maximum allowed"
	textDuplicateKeys  = "Request must not contain duplicate keys"
	textQueryVector    = "Query vector contains invalid values or is invalid for this index"
	textTooManyTags    = "Too many tags specified"
	textSystemTag      = "System tags cannot be added/updated by requester"
)

func notFound(message string) *apiError {
	return &apiError{status: http.StatusNotFound, code: "NotFoundException", message: message}
}

func conflict(message string) *apiError {
	return &apiError{status: http.StatusConflict, code: "ConflictException", message: message}
}

// badInput is a ValidationException about one field, whose own message it has.
func badInput(path, message string) *apiError {
	return badField(message, path, message)
}

// badField is a ValidationException with a message of its own for the field.
func badField(message, path, fieldMessage string) *apiError {
	return &apiError{status: http.StatusBadRequest, code: "ValidationException", message: message, fields: []fieldError{{path, fieldMessage}}}
}

// malformed is the answer to what is no JSON, or not of the right types.
func malformed(cause error) *apiError {
	return &apiError{status: http.StatusBadRequest, code: "SerializationException", cause: cause}
}

func unavailable(cause error) *apiError {
	return &apiError{status: http.StatusServiceUnavailable, code: "ServiceUnavailableException", message: textBusy, cause: cause}
}

func timedOut(cause error) *apiError {
	return &apiError{status: http.StatusRequestTimeout, code: "RequestTimeoutException", message: "The request timed out", cause: cause}
}

func internal(cause error) *apiError {
	return &apiError{status: http.StatusInternalServerError, code: "InternalServerException", message: "An internal error occurred", cause: cause}
}

func denied(message string) *apiError {
	return &apiError{status: http.StatusForbidden, code: "AccessDeniedException", message: message}
}

// signatureError gives a refused signature the names of AWS.
func signatureError(err error) *apiError {
	var e *sigv4.Error
	if !errors.As(err, &e) {
		return internal(err)
	}
	out := &apiError{status: http.StatusForbidden, message: e.Message}
	switch e.Reason {
	case sigv4.Missing:
		out.code = "MissingAuthenticationTokenException"
	case sigv4.Incomplete:
		out.status, out.code = http.StatusBadRequest, "IncompleteSignatureException"
	case sigv4.UnknownKey:
		out.code = "UnrecognizedClientException"
	case sigv4.Expired:
		out.code = "ExpiredTokenException"
	default:
		out.code = "InvalidSignatureException"
	}
	return out
}

// engineError turns an error of the engine into one for the client. missing is the
// text for what was not found; quota says that the operation may answer that a limit
// was reached.
func engineError(err error, missing string, quota bool) error {
	var input *sprat.InputError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sprat.ErrNotFound):
		return notFound(missing)
	case errors.Is(err, sprat.ErrVolumeFull), errors.Is(err, sprat.ErrMemoryLimit):
		if !quota {
			return unavailable(err)
		}
		return &apiError{status: http.StatusPaymentRequired, code: "ServiceQuotaExceededException",
			message: "The service has no room for this: its volume or its memory limit is reached", cause: err}
	case errors.As(err, &input):
		return inputError(input)
	case errors.Is(err, ErrTooManyRequests):
		return &apiError{status: http.StatusTooManyRequests, code: "TooManyRequestsException", message: "Too many requests", cause: err}
	case errors.Is(err, sprat.ErrClosed), errors.Is(err, ErrUnavailable):
		return unavailable(err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return timedOut(err)
	}
	return internal(err)
}

// inputError is what the engine refused and this package did not.
func inputError(e *sprat.InputError) *apiError {
	switch e.Field {
	case "filter":
		out := badInput("filter", e.Got)
		out.reason = e.Want
		if e.Got == sprat.MalformedJSON {
			return malformed(e)
		}
		return out
	case "token":
		return badInput("nextToken", "Invalid nextToken: want "+e.Want)
	}
	return badInput(e.Field, fmt.Sprintf("Invalid %s: want %s, got %s", e.Field, e.Want, e.Got))
}

// body is the JSON of an error.
func (e *apiError) body() []byte {
	b := []byte(`{"__type":`)
	b = floatjson.AppendString(b, e.code)
	if e.message != "" {
		b = floatjson.AppendString(append(b, `,"message":`...), e.message)
	}
	if e.reason != "" {
		b = floatjson.AppendString(append(b, `,"reason":`...), e.reason)
	}
	if len(e.fields) > 0 {
		b = append(b, `,"fieldList":[`...)
		for i, f := range e.fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = floatjson.AppendString(append(b, `{"path":`...), f.path)
			b = floatjson.AppendString(append(b, `,"message":`...), f.message)
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// violations are the constraints of the API's model that a request breaks.
type violations struct{ list []fieldError }

func (v *violations) add(path, value, constraint string) {
	v.list = append(v.list, fieldError{path, value + " at '" + path + "' failed to satisfy constraint: Member must " + constraint})
}

// length checks a length in characters or elements.
func (v *violations) length(path string, n, least, most int) {
	if n < least || n > most {
		v.add(path, fmt.Sprintf("Value with length %d", n), fmt.Sprintf("have length between %d and %d, inclusive", least, most))
	}
}

func (v *violations) between(path string, n, least, most int64) {
	if n < least || n > most {
		v.add(path, "Value", fmt.Sprintf("be between %d and %d, inclusive", least, most))
	}
}

func (v *violations) missing(path string) { v.add(path, "Value", "not be null") }

func (v *violations) enum(path, value string, allowed ...string) {
	for _, a := range allowed {
		if a == value {
			return
		}
	}
	v.add(path, "Value", "satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
}

func (v *violations) pattern(path, pattern string) {
	v.add(path, "Value", "satisfy regular expression pattern: "+pattern)
}

// err is all of them as one ValidationException.
func (v *violations) err() error {
	if len(v.list) == 0 {
		return nil
	}
	texts := make([]string, len(v.list))
	for i, f := range v.list {
		texts[i] = f.message
	}
	plural := ""
	if len(v.list) > 1 {
		plural = "s"
	}
	return &apiError{status: http.StatusBadRequest, code: "ValidationException", fields: v.list,
		message: fmt.Sprintf("%d validation error%s detected. %s", len(v.list), plural, strings.Join(texts, "; "))}
}

func isExists(err error) bool   { return errors.Is(err, sprat.ErrExists) }
func isNotFound(err error) bool { return errors.Is(err, sprat.ErrNotFound) }
func isNotEmpty(err error) bool { return errors.Is(err, sprat.ErrNotEmpty) }
