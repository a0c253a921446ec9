package ops_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/ops"
)

// fill gives every number below v a value of its own and every text, slice and map one
// entry, and returns the texts and numbers by path.
func fill(v reflect.Value, path string, next *int, seen map[string]string) {
	*next++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), path+"."+v.Type().Field(i).Name, next, seen)
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(7000 + *next))
		seen[path] = fmt.Sprint(7000 + *next)
	case reflect.Uint64:
		v.SetUint(uint64(7000 + *next))
		seen[path] = fmt.Sprint(7000 + *next)
	case reflect.Float64:
		v.SetFloat(float64(7000+*next) + 0.5)
		seen[path] = fmt.Sprint(float64(7000+*next) + 0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprintf("text%d", *next))
		seen[path] = v.String()
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path+"[]", next, seen)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, path+"{}", next, seen)
		v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("part%d", *next)), value)
	}
}

func get(t *testing.T, handler http.Handler, method, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

func handler(t *testing.T, stats func() (sprat.StoreStats, error), ready func() error) http.Handler {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(ops.NewCollector(stats)); err != nil {
		t.Fatal(err)
	}
	h, err := ops.New(ops.Options{Registry: registry, Ready: ready})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestEveryFigure: no number of StoreStats is left out of the metrics.
func TestEveryFigure(t *testing.T) {
	var st sprat.StoreStats
	seen, n := map[string]string{}, 0
	fill(reflect.ValueOf(&st).Elem(), "", &n, seen)
	code, body := get(t, handler(t, func() (sprat.StoreStats, error) { return st, nil }, nil), "GET", "/metrics")
	if code != http.StatusOK {
		t.Fatalf("%d: %s", code, body)
	}
	shownElsewhere := map[string]bool{ // not numbers: shown as 1, as a count, or in Stats alone
		".Directory": true, ".Indexes[].Upkeep.Fault": true, ".Indexes[].Damaged[]": true, ".Broken{}": true,
	}
	for path, value := range seen {
		number, text := " "+value+"\n", `"`+value+`"`
		if !shownElsewhere[path] && !strings.Contains(body, number) && !strings.Contains(body, text) {
			t.Errorf("%s = %s is in no metric", path, value)
		}
	}
	for _, line := range []string{`sprat_index_damaged{index="` + st.Indexes[0].Name + `"} 1`, `sprat_index_upkeep_fault{index="` + st.Indexes[0].Name + `"} 1`, "sprat_index_broken{", "sprat_io_direct 1"} {
		if !strings.Contains(body, line) {
			t.Errorf("no %s", line)
		}
	}
	if strings.Contains(body, `"`+st.Directory+`"`) {
		t.Error("a path of the server is in the metrics")
	}
}

// TestNames: the names of metrics are a promise.
func TestNames(t *testing.T) {
	var st sprat.StoreStats
	n := 0
	fill(reflect.ValueOf(&st).Elem(), "", &n, map[string]string{})
	_, body := get(t, handler(t, func() (sprat.StoreStats, error) { return st, nil }, nil), "GET", "/metrics")
	var got strings.Builder
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			got.WriteString(rest)
		}
	}
	golden := filepath.Join("testdata", "metrics.golden")
	if os.Getenv("SPRAT_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("names changed; SPRAT_UPDATE=1 writes testdata anew. Got:\n%s", got.String())
	}
}

func TestRoutes(t *testing.T) {
	fault := errors.New("the store is opening")
	for _, c := range []struct {
		method, path string
		ready        error
		code         int
		body         string
	}{
		{"GET", "/healthz", fault, 200, "ok\n"},
		{"HEAD", "/healthz", nil, 200, "ok\n"}, // net/http drops the body
		{"GET", "/readyz", nil, 200, "ready\n"},
		{"GET", "/readyz", fault, 503, "the store is opening\n"},
		{"POST", "/readyz", nil, 405, "Method Not Allowed\n"},
		{"GET", "/", nil, 404, "404 page not found\n"},
	} {
		h := handler(t, func() (sprat.StoreStats, error) { return sprat.StoreStats{}, nil }, func() error { return c.ready })
		if code, body := get(t, h, c.method, c.path); code != c.code || body != c.body {
			t.Errorf("%s %s, %v: got %d %q", c.method, c.path, c.ready, code, body)
		}
	}
	if _, err := ops.New(ops.Options{}); err == nil {
		t.Error("no registry is taken")
	}
}

// TestClosedStore: the other metrics are served all the same.
func TestClosedStore(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(ops.NewCollector(func() (sprat.StoreStats, error) { return sprat.StoreStats{}, sprat.ErrClosed }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "other", Help: "h"}, func() float64 { return 1 }))
	h, err := ops.New(ops.Options{Registry: registry})
	if err != nil {
		t.Fatal(err)
	}
	if code, body := get(t, h, "GET", "/metrics"); code != http.StatusOK || !strings.Contains(body, "other 1") || strings.Contains(body, "sprat_") {
		t.Errorf("%d %s", code, body)
	}
}

// TestManyIndexes: figures are bounded.
func TestManyIndexes(t *testing.T) {
	st := sprat.StoreStats{Indexes: make([]sprat.IndexStats, 1500)}
	for i := range st.Indexes {
		st.Indexes[i].Name = fmt.Sprintf("b/%d\xff", i) // no UTF-8 either
	}
	_, body := get(t, handler(t, func() (sprat.StoreStats, error) { return st, nil }, nil), "GET", "/metrics")
	if got := strings.Count(body, "\nsprat_index_vectors{"); got != 1000 || !strings.Contains(body, "sprat_indexes 1500\n") {
		t.Errorf("figures of %d indexes", got)
	}
}
