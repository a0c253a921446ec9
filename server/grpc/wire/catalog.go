package wire

import (
	"math"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
)

// Int32 is n as the nearest number that a message holds.
func Int32(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

// metrics are the names of metrics; one that there is not is unspecified, and refused.
var metrics = map[sprat.Metric]spratv1.Metric{
	sprat.Cosine: spratv1.Metric_METRIC_COSINE, sprat.Euclidean: spratv1.Metric_METRIC_EUCLIDEAN, sprat.Dot: spratv1.Metric_METRIC_DOT,
}

func metricOf(m spratv1.Metric) (sprat.Metric, error) {
	for out, name := range metrics {
		if name == m {
			return out, nil
		}
	}
	return 0, &sprat.InputError{Field: "metric", Want: "cosine, euclidean or dot", Got: sprat.Metric(m).String()}
}

// IndexConfig is the message of a description of an index.
func IndexConfig(c *sprat.IndexConfig) *spratv1.IndexConfig {
	return &spratv1.IndexConfig{
		Dimension: Int32(c.Dimension), Metric: metrics[c.Metric], PostingBytes: Int32(c.PostingBytes), Copies: Int32(c.Copies),
		Bits: Int32(c.Bits), Seed: c.Seed, NonFilterable: c.NonFilterable,
	}
}

// IndexConfigOf is the description in a message. Errors: ErrInvalid for a metric that
// there is not.
func IndexConfigOf(m *spratv1.IndexConfig) (sprat.IndexConfig, error) {
	metric, err := metricOf(m.GetMetric())
	return sprat.IndexConfig{
		Dimension: int(m.GetDimension()), Metric: metric, PostingBytes: int(m.GetPostingBytes()), Copies: int(m.GetCopies()),
		Bits: int(m.GetBits()), Seed: m.GetSeed(), NonFilterable: m.GetNonFilterable(),
	}, err
}

// Dials is the message of dials.
func Dials(d sprat.Dials) *spratv1.Dials {
	return &spratv1.Dials{RecallTarget: d.RecallTarget, SearchProbe: Int32(d.SearchProbe), RescoreLimit: Int32(d.RescoreLimit)}
}

// DialsOf are the dials of a message.
func DialsOf(m *spratv1.Dials) sprat.Dials {
	return sprat.Dials{RecallTarget: m.GetRecallTarget(), SearchProbe: int(m.GetSearchProbe()), RescoreLimit: int(m.GetRescoreLimit())}
}

// Bucket is the message of a bucket.
func Bucket(b sprat.BucketInfo) *spratv1.Bucket {
	return &spratv1.Bucket{Name: b.Name, Created: timestamppb.New(b.Created)}
}

// BucketOf is the bucket of a message.
func BucketOf(m *spratv1.Bucket) sprat.BucketInfo {
	return sprat.BucketInfo{Name: m.GetName(), Created: m.GetCreated().AsTime()}
}
