package wire_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/wire"
)

// fill gives every field below v a value of its own, so that one that is forgotten or
// mixed up with another shows.
func fill(v reflect.Value, next *int) {
	*next++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(*next), 5).UTC()))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), next)
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*next))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(*next))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*next) + 0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *next))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), next)
		fill(v.Index(1), next)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, next)
		v.SetMapIndex(reflect.ValueOf(fmt.Sprint("name ", *next)), value)
	}
}

func filled[T any]() *T {
	v := new(T)
	fill(reflect.ValueOf(v).Elem(), new(int))
	return v
}

// over sends a message through its bytes.
func over[M proto.Message](t *testing.T, m M) M {
	t.Helper()
	text, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	out := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	return out.(M)
}

func equal[T any](t *testing.T, got, want *T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", *got, *want)
	}
}

// TestThereAndBack: no field of a value is lost on the way.
func TestThereAndBack(t *testing.T) {
	stats := filled[sprat.StoreStats]()
	back := wire.StoreStatsOf(over(t, wire.StoreStats(stats)))
	equal(t, &back, stats)

	verify := filled[sprat.VerifyReport]()
	equal(t, wire.VerifyReportOf(over(t, wire.VerifyReport(verify))), verify)
	repair := filled[sprat.RepairReport]()
	equal(t, wire.RepairReportOf(over(t, wire.RepairReport(repair))), repair)
	snapshot := filled[sprat.SnapshotStats]()
	snapshotBack := wire.SnapshotStatsOf(over(t, wire.SnapshotStats(snapshot)))
	equal(t, &snapshotBack, snapshot)
	info := filled[sprat.SnapshotInfo]()
	info.Err = errors.New("broken")
	infoBack := wire.SnapshotInfoOf(over(t, wire.SnapshotInfo(info)))
	equal(t, &infoBack, info)

	result := filled[sprat.Result]()
	equal(t, wire.Result(over(t, wire.Answer(result))), result)
	records := []sprat.Record{*filled[sprat.Record](), {Key: "bare"}}
	recordsBack := wire.Records(over(t, &spratv1.GetResponse{Vectors: wire.Vectors(records)}).GetVectors())
	equal(t, &recordsBack, &records)

	options, now := filled[sprat.QueryOptions](), time.Unix(1000, 0)
	options.Deadline = now.Add(3 * time.Second)
	optionsBack, err := wire.QueryOptionsOf(over(t, wire.QueryOptions(options, now)), now)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, &optionsBack, options)

	dials := filled[sprat.Dials]()
	dialsBack := wire.DialsOf(over(t, wire.Dials(*dials)))
	equal(t, &dialsBack, dials)
	bucket := filled[sprat.BucketInfo]()
	bucketBack := wire.BucketOf(over(t, wire.Bucket(*bucket)))
	equal(t, &bucketBack, bucket)
	config := filled[sprat.IndexConfig]()
	for _, config.Metric = range []sprat.Metric{sprat.Cosine, sprat.Euclidean, sprat.Dot} {
		configBack, err := wire.IndexConfigOf(over(t, wire.IndexConfig(config)))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, &configBack, config)
	}
}

func TestMetricThatThereIsNot(t *testing.T) {
	for _, m := range []*spratv1.IndexConfig{nil, {}, {Metric: 77}, wire.IndexConfig(&sprat.IndexConfig{Metric: 9})} {
		if _, err := wire.IndexConfigOf(m); !errors.Is(err, sprat.ErrInvalid) {
			t.Errorf("%v: %v", m, err)
		}
	}
}

func TestBudget(t *testing.T) {
	now := time.Unix(1000, 0)
	m := wire.QueryOptions(&sprat.QueryOptions{Deadline: now.Add(-time.Second)}, now)
	if o, err := wire.QueryOptionsOf(m, now); err != nil || !o.Deadline.After(now) {
		t.Errorf("a deadline that has passed: %v, %v", o.Deadline, err)
	}
	m.Budget.Seconds = -1
	if _, err := wire.QueryOptionsOf(m, now); !errors.Is(err, sprat.ErrInvalid) {
		t.Errorf("a budget below 0: %v", err)
	}
}

func TestInt32(t *testing.T) {
	for n, want := range map[int]int32{0: 0, -1: -1, math.MaxInt32 + 1: math.MaxInt32, math.MinInt64: math.MinInt32} {
		if got := wire.Int32(n); got != want {
			t.Errorf("%d: %d, want %d", n, got, want)
		}
	}
}
