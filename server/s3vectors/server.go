package s3vectors

import (
	"log/slog"
	"net/http"
	"time"
)

// Limits of NewServer.
const (
	headTime = 10 * time.Second
	idleTime = 2 * time.Minute
	maxHead  = 64 << 10
)

// NewServer returns a server for a handler with the limits that keep slow, half-open
// and flooding clients from holding memory: the head of a request must come within 10
// seconds and have at most 64 KiB, an idle connection ends after 2 minutes. Bodies and
// answers have limits of their own, see Handler. log may be nil.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHead,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
