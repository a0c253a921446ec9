package main

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spratdb/sprat/server/s3vectors"
)

// s3Metrics are the metrics of the S3 Vectors API.
type s3Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	bodies   prometheus.Counter
}

func newS3Metrics() *s3Metrics {
	return &s3Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sprat_s3vectors_requests_total",
			Help: "Requests served, by operation, HTTP status and code of the error."}, []string{"operation", "status", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "sprat_s3vectors_request_seconds",
			Help: "How long requests took.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16)}, []string{"operation"}),
		bodies: prometheus.NewCounter(prometheus.CounterOpts{Name: "sprat_s3vectors_body_bytes_total", Help: "Bytes of request bodies."}),
	}
}

// Describe is of prometheus.Collector.
func (m *s3Metrics) Describe(to chan<- *prometheus.Desc) {
	m.requests.Describe(to)
	m.seconds.Describe(to)
	m.bodies.Describe(to)
}

// Collect is of prometheus.Collector.
func (m *s3Metrics) Collect(to chan<- prometheus.Metric) {
	m.requests.Collect(to)
	m.seconds.Collect(to)
	m.bodies.Collect(to)
}

func (m *s3Metrics) observe(o s3vectors.Observation) {
	m.requests.WithLabelValues(o.Operation, strconv.Itoa(o.Status), o.Code).Inc()
	m.seconds.WithLabelValues(o.Operation).Observe(o.Duration.Seconds())
	m.bodies.Add(float64(o.BodyBytes))
}
