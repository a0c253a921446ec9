package ops

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Limits of NewServer, and of scrapes at one time.
const (
	headTime   = 5 * time.Second
	readTime   = 5 * time.Second
	writeTime  = time.Minute
	idleTime   = 2 * time.Minute
	maxHead    = 16 << 10
	maxScrapes = 4
)

// Options configure a handler.
type Options struct {
	// Registry holds the metrics. Required.
	Registry *prometheus.Registry
	// Ready says why calls are not served, nil when they are. Default: always nil.
	Ready func() error
	// Logger is told of figures that cannot be had. Default: nothing.
	Logger *slog.Logger
}

// New returns a handler of the routes.
func New(o Options) (http.Handler, error) {
	if o.Registry == nil {
		return nil, fmt.Errorf("ops: a registry is required")
	}
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	routes.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := o.Ready(); err != nil {
			answer(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		answer(w, http.StatusOK, "ready")
	})
	routes.Handle("GET /metrics", promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes, EnableOpenMetrics: true,
	}))
	return routes, nil
}

// answer writes a line of text. A client that is gone needs none.
func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text)
}

// NewServer returns a server for the handler, with limits for slow and flooding
// clients.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headTime, ReadTimeout: readTime, WriteTimeout: writeTime,
		IdleTimeout: idleTime, MaxHeaderBytes: maxHead, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
