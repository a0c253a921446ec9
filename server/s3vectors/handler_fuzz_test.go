package s3vectors

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"testing"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/s3vectors/accesskeys"
)

// FuzzRequest: no body, path or query string brings the service down, or gets an answer
// that is not its JSON.
func FuzzRequest(f *testing.F) {
	var names []string
	for name := range operations {
		names = append(names, name)
	}
	sort.Strings(names)
	ix := `{"vectorBucketName":"media","indexName":"songs",`
	for i := range names {
		f.Add(uint8(i), ix+`"keys":["a"],"topK":3,"queryVector":{"float32":[1,2,3,4]},"filter":{"a":{"$in":[1]}},"returnMetadata":true}`)
		f.Add(uint8(i), ix+`"vectors":[{"key":"a","data":{"float32":[1,2,3,"NaN"]},"metadata":{"a":[1]}}],"segmentCount":2,"maxResults":1}`)
		f.Add(uint8(i), `{"vectorBucketName":"media","indexName":"songs","dataType":"float32","dimension":4,"distanceMetric":"cosine","tags":{"a":"b"},"policy":"{}","nextToken":"AQ"}`)
	}
	f.Add(uint8(200), arnOf("media")+"?tagKeys=a")
	store, err := sprat.Open(f.TempDir(), sprat.Options{MemoryLimit: 256 << 20, IOEngine: "pread"})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { store.Close() })
	h, err := New(Local(store), Options{Anonymous: accesskeys.Admin})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, op uint8, body string) {
		method, path := "POST", "/"+names[int(op)%len(names)]
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		if op >= 200 {
			r = httptest.NewRequest([]string{"GET", "POST", "DELETE"}[op%3], "/tags/x", strings.NewReader("{}"))
			arn, query, _ := strings.Cut(body, "?")
			r.URL.Path, r.URL.RawQuery = "/tags/"+arn, query
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 || !json.Valid(w.Body.Bytes()) || w.Code != http.StatusOK && w.Header().Get("X-Amzn-ErrorType") == "" {
			t.Fatalf("%s %s: %d %s", r.Method, r.URL, w.Code, w.Body)
		}
	})
}
