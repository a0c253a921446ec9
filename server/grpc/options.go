package grpc

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/grpc/tokens"
)

// Tokens finds users; tokens.File and tokens.List do.
type Tokens interface {
	// Find returns the user of a token. It is safe for concurrent use.
	Find(token string) (tokens.User, bool)
}

// Options configure a Server. The zero value of a field means its default.
type Options struct {
	// Tokens are the users. Default: everyone may do everything.
	Tokens Tokens
	// TLS secures connections; see server/grpc/certs. Default: none.
	TLS *tls.Config
	// Snapshots is where snapshots go. Default: they are refused.
	Snapshots sprat.SnapshotTarget

	// Rate is how many calls a user may make in a second, on average, and Burst how many
	// at once; a request of PutStream counts as a call. Default: any number.
	Rate  float64
	Burst int // default: Rate, at least 1
	// MaxTime bounds how long a call may take, but for those of Operations, DeleteIndex
	// and streams. Default 60 seconds.
	MaxTime time.Duration
	// MaxMessageBytes bounds a message in either direction. Default 32 MiB.
	MaxMessageBytes int
	// MaxCalls bounds the calls in progress. Default 1,024. What they hold is at most
	// MaxCalls messages.
	MaxCalls int
	// MaxCallsPerConnection bounds those of one connection; more wait with the client.
	// Default 256.
	MaxCallsPerConnection int

	// Logger is told of faults, at info level of what clients did wrong, and at debug
	// level of every call. Default: nothing.
	Logger *slog.Logger
	// Registry takes the metrics. Default: none are kept.
	Registry prometheus.Registerer
}

const (
	defaultMaxTime    = time.Minute
	defaultMessage    = 32 << 20
	defaultCalls      = 1024
	defaultConnection = 256

	minMessage = 64 << 10
	maxMessage = 1 << 30
	maxCalls   = 1 << 20
)

// complete fills in defaults and checks.
func (o *Options) complete() error {
	o.MaxTime = cmp.Or(o.MaxTime, defaultMaxTime)
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, defaultMessage)
	o.MaxCalls = cmp.Or(o.MaxCalls, defaultCalls)
	o.MaxCallsPerConnection = cmp.Or(o.MaxCallsPerConnection, defaultConnection)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Rate > 0 && o.Burst == 0 {
		o.Burst = max(1, int(min(o.Rate, maxCalls)))
	}
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("grpc: "+format, args...))
		}
	}
	check(o.Rate >= 0, "rate %v: want calls per second, 0 for any number", o.Rate)
	check(o.Burst >= 0 && (o.Burst == 0 || o.Rate > 0), "burst %d: want at least 1, with a rate", o.Burst)
	check(o.MaxTime > 0, "longest call %v: want more than 0", o.MaxTime)
	check(o.MaxMessageBytes >= minMessage && o.MaxMessageBytes <= maxMessage, "largest message of %d bytes: want 64 KiB to 1 GiB", o.MaxMessageBytes)
	check(o.MaxCalls > 0 && o.MaxCalls <= maxCalls, "%d calls in progress: want 1 to %d", o.MaxCalls, maxCalls)
	check(o.MaxCallsPerConnection > 0 && o.MaxCallsPerConnection <= maxCalls, "%d calls of a connection: want 1 to %d", o.MaxCallsPerConnection, maxCalls)
	return errors.Join(errs...)
}
