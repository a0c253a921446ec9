package s3snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// ErrConfig marks a Config or URL that cannot be right. Test with errors.Is.
var ErrConfig = errors.New("invalid object store configuration")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, args...))
}

// redactedError is an error of the SDK whose text held a secret: a server can
// send back what was in the request.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }

// Is keeps errors.Is without giving out the error that holds the secret.
func (e *redactedError) Is(target error) bool { return errors.Is(e.err, target) }

// failed returns the error of an operation on an object, marked as fs.ErrNotExist
// or fs.ErrExist where that is what it says.
func (t *target) failed(ctx context.Context, op, name string, err error) error {
	where := fmt.Sprintf("%s %s in %s", op, name, t)
	status, code := answer(err)
	switch {
	case status == http.StatusNotFound && code != "NoSuchBucket":
		return fmt.Errorf("%s: %w", where, fs.ErrNotExist)
	case code == "PreconditionFailed", code == "ConditionalRequestConflict":
		return fmt.Errorf("%s: %w", where, fs.ErrExist)
	}
	return fmt.Errorf("%s: %w", where, t.redact(ctx, err))
}

// answer returns the HTTP status and the code in an error of the server, zero
// values where there are none.
func answer(err error) (status int, code string) {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	return status, code
}

// redact takes secrets out of the text of an error.
func (t *target) redact(ctx context.Context, err error) error {
	text := err.Error()
	// From the cache of the SDK, mostly. Without credentials there is no secret.
	keys, keysErr := t.client.Options().Credentials.Retrieve(context.WithoutCancel(ctx))
	if keysErr != nil {
		return err
	}
	clean := text
	for _, secret := range []string{keys.SecretAccessKey, keys.SessionToken} {
		if secret != "" {
			clean = strings.ReplaceAll(clean, secret, "(redacted)")
		}
	}
	if clean == text {
		return err
	}
	return &redactedError{clean, err}
}
