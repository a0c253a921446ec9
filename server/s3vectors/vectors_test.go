package s3vectors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"testing"

	"github.com/spratdb/sprat"
)

// withIndex makes media/songs of 4 dimensions, whose key "bulk" is non-filterable, and
// returns the start of a body that names it.
func (s *service) withIndex(metric string) string {
	s.t.Helper()
	if a := s.post("CreateVectorBucket", `{"vectorBucketName":"media"}`); a.status != 200 && a.status != 409 {
		s.t.Fatal(a.body)
	}
	s.must("CreateIndex", `{"vectorBucketName":"media","indexName":"songs","dataType":"float32","dimension":4,"distanceMetric":"`+metric+`","metadataConfiguration":{"nonFilterableMetadataKeys":["bulk"]}}`)
	return `{"vectorBucketName":"media","indexName":"songs",`
}

func put(key, data, metadata string) string {
	text := fmt.Sprintf(`{"key":%q,"data":{"float32":%s}`, key, data)
	if metadata != "" {
		text += `,"metadata":` + metadata
	}
	return text + "}"
}

func TestPutAndGet(t *testing.T) {
	s := start(t, anonymousAdmin)
	ix := s.withIndex("cosine")
	s.want("PutVectors", ix+`"vectors":[`+put("a", "[1,0,-2.5e-09,0.4]", `{ "year" : 1999.0, "tags":["x","y"], "big":9007199254740993, "s":"\u00e9\/" }`)+","+put("b", `[0.1,0.2,0.3,1.5e-45]`, "")+`]}`, 200, "", `{}`)
	s.want("GetVectors", ix+`"keys":["a","b","nobody","a"],"returnData":true,"returnMetadata":true}`, 200, "", `{"vectors":[`+
		`{"key":"a","data":{"float32":[1.0,0.0,-2.4999999848063226e-09,0.4000000059604645]},"metadata":{"year":1999.0,"tags":["x","y"],"big":9007199254740993,"s":"é/"}},`+
		`{"key":"b","data":{"float32":[0.10000000149011612,0.20000000298023224,0.30000001192092896,1.401298464324817e-45]},"metadata":{}}]}`)
	s.want("GetVectors", ix+`"keys":["b"]}`, 200, "", `{"vectors":[{"key":"b"}]}`)
	s.want("GetVectors", ix+`"keys":["c"],"returnData":false}`, 200, "", `{"vectors":[]}`)
	// A put replaces the whole vector.
	s.must("PutVectors", ix+`"vectors":[`+put("a", "[0,1,0,0]", "")+`]}`)
	s.want("GetVectors", ix+`"keys":["a"],"returnData":true,"returnMetadata":true}`, 200, "", `{"vectors":[{"key":"a","data":{"float32":[0.0,1.0,0.0,0.0]},"metadata":{}}]}`)
	s.want("DeleteVectors", ix+`"keys":["a","nobody","a"]}`, 200, "", `{}`)
	s.want("GetVectors", ix+`"keys":["a","b"]}`, 200, "", `{"vectors":[{"key":"b"}]}`)
}

func TestShortFloats(t *testing.T) {
	s := start(t, func(o *Options) { anonymousAdmin(o); o.ShortFloats = true; o.PlainEuclidean = true })
	ix := s.withIndex("euclidean")
	s.must("PutVectors", ix+`"vectors":[`+put("a", "[0.4,0,0,0]", "")+`]}`)
	s.want("GetVectors", ix+`"keys":["a"],"returnData":true}`, 200, "", `{"vectors":[{"key":"a","data":{"float32":[0.4,0.0,0.0,0.0]}}]}`)
	s.want("QueryVectors", ix+`"topK":1,"queryVector":{"float32":[0.4,3,4,0]},"returnDistance":true}`, 200, "", `{"vectors":[{"distance":5.0,"key":"a"}],"distanceMetric":"euclidean"}`)
}

// TestRecordRefused: one bad record refuses the call, and nothing is written.
func TestRecordRefused(t *testing.T) {
	s := start(t, anonymousAdmin)
	ix := s.withIndex("cosine")
	good := put("good", "[1,2,3,4]", "")
	record := func(field, why string) string {
		message, _ := json.Marshal("Invalid record for key 'bad': " + why)
		inner, _ := json.Marshal(why)
		return fmt.Sprintf(`{"message":%s,"fieldList":[{"path":%q,"message":%s}]}`, message, field, inner)
	}
	for _, c := range []struct{ data, metadata, want string }{
		{"[1]", "", record("vectors[1]", "vector must have length 4, but has length 1")},
		{"[]", "", record("vectors[1]", "vector must have length 4, but has length 0")},
		{"[" + strings.Repeat("1,", 5000) + "1]", "", record("vectors[1]", "vector must have length 4, but has length 5001")},
		{`["NaN",1,1,1]`, "", record("vectors[1]", "vector contains NaNs or Infs")},
		{`[1,"Infinity",1,1]`, "", record("vectors[1]", "vector contains NaNs or Infs")},
		{`[1,1,1,"-Infinity"]`, "", record("vectors[1]", "vector contains NaNs or Infs")},
		{`[1e39,1,1,1]`, "", record("vectors[1]", "vector contains NaNs or Infs")},
		{`[3.40282357e38,1,1,1]`, "", record("vectors[1]", "vector contains NaNs or Infs")},
		{`[0,0,0,0]`, "", record("vectors[1]", "cosine distance does not support vectors with zero norm")},
		{`[1e-46,1e-46,-1e-46,0]`, "", record("vectors[1]", "cosine distance does not support vectors with zero norm")},
		{"[1,1,1,1]", `{"a":null}`, record("vectors[1].metadata", "Metadata values must be strings, numbers, booleans, or arrays")},
		{"[1,1,1,1]", `{"a":{}}`, record("vectors[1].metadata", "Metadata values must be strings, numbers, booleans, or arrays")},
		{"[1,1,1,1]", `{"a":[true]}`, record("vectors[1].metadata", "Metadata array values must be strings or numbers")},
		{"[1,1,1,1]", `{"a":[1,"x"]}`, record("vectors[1].metadata", "Metadata array values must be strings or numbers")},
		{"[1,1,1,1]", `{"a":[]}`, record("vectors[1].metadata", "Empty arrays are not allowed in metadata")},
		{"[1,1,1,1]", `{"f":"` + strings.Repeat("x", 2036) + `"}`, record("vectors[1].metadata", "Filterable metadata must have at most 2048 bytes")},
		{"[1,1,1,1]", `{"bulk":"` + strings.Repeat("x", 40945) + `"}`, record("vectors[1].metadata", "Metadata object must have at most 40960 bytes")},
		{"[1,1,1,1]", `{"bulk":"` + strings.Repeat(`\u0001`, 20000) + `"}`, record("vectors[1].metadata", "Metadata object must have at most 40960 bytes")},
		{"[1,1,1,1]", `{` + fifty(51) + `}`, record("vectors[1].metadata", "Metadata object must have at most 50 keys")},
		{"[1,1,1,1]", `[]`, record("vectors[1].metadata", "Metadata must be an object")},
		{"[1,1,1,1]", `null`, record("vectors[1].metadata", "Metadata must be an object")},
	} {
		s.want("PutVectors", ix+`"vectors":[`+good+","+put("bad", c.data, c.metadata)+`]}`, 400, validation, c.want)
	}
	s.want("PutVectors", ix+`"vectors":[`+good+","+good+`]}`, 400, validation, refusal("vectors", "Request must not contain duplicate keys"))
	s.want("GetVectors", ix+`"keys":["good"]}`, 200, "", `{"vectors":[]}`)
	for _, metadata := range []string{`{}`, `{"f":"` + strings.Repeat("x", 2035) + `"}`, `{"bulk":"` + strings.Repeat("x", 40944) + `"}`, `{"f":"` + strings.Repeat(`\u00e9`, 1017) + `"}`,
		`{"bulk":"` + strings.Repeat(`\u00e9`, 20000) + `"}`, `{` + fifty(50) + `}`, `{"":"","$eq":1,"a.b":[1,2]}`} {
		s.must("PutVectors", ix+`"vectors":[`+put("good", "[3.4028235e38,1,1,1]", metadata)+`]}`)
	}
}

func fifty(n int) string {
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf(`"k%d":1`, i))
	}
	return strings.Join(keys, ",")
}

func TestEuclideanLimits(t *testing.T) {
	s := start(t, anonymousAdmin)
	ix := s.withIndex("euclidean")
	s.must("PutVectors", ix+`"vectors":[`+put("zero", "[0,0,-0,0]", "")+","+put("long", "[1e15,1e15,1e15,1e15]", "")+`]}`)
	if a := s.post("PutVectors", ix+`"vectors":[`+put("x", "[1e16,0,0,0]", "")+`]}`); a.status != 400 || !strings.Contains(a.body, "magnitude") {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.want("QueryVectors", ix+`"topK":1,"queryVector":{"float32":[0,0,0,2]},"returnDistance":true}`, 200, "", `{"vectors":[{"distance":4.0,"key":"zero"}],"distanceMetric":"euclidean"}`)
}

func TestKeysAndLists(t *testing.T) {
	s := start(t, anonymousAdmin)
	ix := s.withIndex("cosine")
	long := strings.Repeat("k", 1024)
	wide := strings.Repeat("中", 341)
	s.must("PutVectors", ix+`"vectors":[`+put(long, "[1,1,1,1]", "")+","+put(wide, "[1,1,1,1]", "")+`]}`)
	s.want("GetVectors", ix+`"keys":["`+long+`"]}`, 200, "", `{"vectors":[{"key":"`+long+`"}]}`)
	tooWide := strings.Repeat("中", 342)
	for _, c := range []struct{ op, members, path string }{
		{"PutVectors", `"vectors":[` + put(tooWide, "[1,1,1,1]", "") + `]`, "vectors[0]"},
		{"GetVectors", `"keys":["` + tooWide + `"]`, "keys[0]"},
		{"DeleteVectors", `"keys":["` + tooWide + `"]`, "keys[0]"},
	} {
		s.want(c.op, ix+c.members+"}", 400, validation, refusal(c.path, "Record key length exceeds the maximum allowed"))
	}
	s.want("PutVectors", ix+`"vectors":[`+put(long+"k", "[1,1,1,1]", "")+`]}`, 400, validation, constraint("/vectors/0/key", "Value with length 1025", "have length between 1 and 1024, inclusive"))
	s.want("PutVectors", ix+`"vectors":[`+put("", "[1,1,1,1]", "")+`]}`, 400, validation, constraint("/vectors/0/key", "Value with length 0", "have length between 1 and 1024, inclusive"))
	s.want("PutVectors", ix+`"vectors":[{"data":{"float32":[1]}}]}`, 400, validation, constraint("/vectors/0/key", "Value", "not be null"))
	s.want("PutVectors", ix+`"vectors":[{"key":"a"}]}`, 400, validation, constraint("/vectors/0/data", "Value", "not be null"))
	s.want("PutVectors", ix+`"vectors":[]}`, 400, validation, constraint("/vectors", "Value with length 0", "have length between 1 and 500, inclusive"))
	s.want("PutVectors", ix+`"vectors":null}`, 400, validation, constraint("/vectors", "Value", "not be null"))
	for _, data := range []string{`{}`, `{"float64":[1]}`, `{"float32":[1,1,1,1],"other":1}`, `{"float32":null}`, `{"float32":[1],"float32":[1]}`} {
		s.want("PutVectors", ix+`"vectors":[{"key":"a","data":`+data+`}]}`, 400, validation, constraint("/vectors/0/data", "Value", "have exactly one member set"))
	}
	many := func(n int, item func(i int) string) string {
		var items []string
		for i := range n {
			items = append(items, item(i))
		}
		return strings.Join(items, ",")
	}
	s.want("PutVectors", ix+`"vectors":[`+many(501, func(i int) string { return put(fmt.Sprint(i), "[1,1,1,1]", "") })+`]}`, 400, validation, constraint("/vectors", "Value with length 501", "have length between 1 and 500, inclusive"))
	s.must("PutVectors", ix+`"vectors":[`+many(500, func(i int) string { return put(fmt.Sprint(i), "[1,1,1,1]", "") })+`]}`)
	key := func(i int) string { return fmt.Sprintf("%q", fmt.Sprint(i)) }
	s.want("GetVectors", ix+`"keys":[`+many(101, key)+`]}`, 400, validation, constraint("/keys", "Value with length 101", "have length between 1 and 100, inclusive"))
	s.must("GetVectors", ix+`"keys":[`+many(100, key)+`]}`)
	s.want("DeleteVectors", ix+`"keys":[`+many(700, key)+`]}`, 400, validation, constraint("/keys", "Value with length 700", "have length between 1 and 500, inclusive"))
	s.must("DeleteVectors", ix+`"keys":[`+many(500, key)+`]}`)
	s.want("GetVectors", ix+`"keys":[]}`, 400, validation, constraint("/keys", "Value with length 0", "have length between 1 and 100, inclusive"))
	s.want("DeleteVectors", ix+`"x":1}`, 400, validation, constraint("/keys", "Value", "not be null"))
}

func TestMalformed(t *testing.T) {
	s := start(t, anonymousAdmin)
	ix := s.withIndex("cosine")
	for _, body := range []string{
		"{", "[]", "null", `"x"`, "{}{}", `{"a":Infinity}`, `{"x":"\ud800"}`, "{\"x\":\"\xff\"}", ix + `"vectors":{}}`, ix + `"vectors":[1]}`, ix + `"vectors":[null]}`,
		ix + `"vectors":[` + put("a", "[1,1,1,1]", `{"a":Infinity}`) + `]}`, ix + `"vectors":[` + put("a", "[1,1,1,null]", "") + `]}`, ix + `"vectors":[` + put("a", `["1",1,1,1]`, "") + `]}`,
		ix + `"vectors":[{"key":"x\udc00","data":{"float32":[1,1,1,1]}}]}`, ix + `"vectors":[` + put("a", "[1,1,1,1]", `{"\ud800":1}`) + `]}`, `{"unknown":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`,
	} {
		s.want("PutVectors", body, 400, "SerializationException", "")
	}
	if a := s.post("PutVectors", "{"); a.body != `{"__type":"SerializationException"}` {
		t.Errorf("got %s", a.body)
	}
}

func TestListVectors(t *testing.T) {
	s := start(t, anonymousAdmin)
	ix := s.withIndex("cosine")
	var want []string
	var items []string
	for i := range 40 {
		key := fmt.Sprintf("k\"%02d\u00e9", i)
		want = append(want, key)
		quoted, _ := json.Marshal(key)
		items = append(items, fmt.Sprintf(`{"key":%s,"data":{"float32":[1,%d,0,0]},"metadata":{"i":%d}}`, quoted, i, i))
	}
	s.must("PutVectors", ix+`"vectors":[`+strings.Join(items, ",")+`]}`)
	list := func(members string) (keys []string, pages int) {
		token := ""
		for {
			var page struct {
				Vectors []struct {
					Key      string
					Data     *struct{ Float32 []float32 }
					Metadata map[string]any
				}
				NextToken *string
			}
			if err := json.Unmarshal([]byte(s.must("ListVectors", ix+members+token+"}")), &page); err != nil {
				t.Fatal(err)
			}
			pages++
			for _, v := range page.Vectors {
				keys = append(keys, v.Key)
				if (v.Data != nil) != strings.Contains(members, "returnData") || (v.Metadata != nil) != strings.Contains(members, "returnMetadata") {
					t.Fatalf("%s: %+v", members, v)
				}
			}
			if page.NextToken == nil {
				return keys, pages
			}
			token = `,"nextToken":"` + *page.NextToken + `"`
		}
	}
	same := func(what string, keys []string) {
		t.Helper()
		sort.Strings(keys)
		if strings.Join(keys, " ") != strings.Join(want, " ") {
			t.Errorf("%s: got %v", what, keys)
		}
	}
	for _, members := range []string{`"maxResults":1000`, `"maxResults":7,"returnData":true,"returnMetadata":true`, `"segmentCount":1`, `"segmentCount":1,"segmentIndex":0,"maxResults":1`} {
		keys, _ := list(members)
		same(members, keys)
	}
	for _, n := range []int{2, 16} {
		var all []string
		for i := range n {
			members := fmt.Sprintf(`"segmentCount":%d,"maxResults":3`, n)
			if i > 0 { // as the Go SDK sends it
				members += fmt.Sprintf(`,"segmentIndex":%d`, i)
			}
			keys, _ := list(members)
			all = append(all, keys...)
		}
		same(fmt.Sprint(n, " segments"), all)
	}
	var page struct{ NextToken string }
	if err := json.Unmarshal([]byte(s.must("ListVectors", ix+`"maxResults":3}`)), &page); err != nil {
		t.Fatal(err)
	}
	for _, members := range []string{`"nextToken":"x"`, `"nextToken":"` + page.NextToken + `","segmentCount":2`, `"nextToken":"` + page.NextToken[:len(page.NextToken)-2] + `"`} {
		if a := s.post("ListVectors", ix+members+"}"); a.status != 400 || !strings.Contains(a.body, "Invalid nextToken") {
			t.Errorf("%s: %d %s", members, a.status, a.body)
		}
	}
	for members, want := range map[string]string{
		`"maxResults":1001`:                   constraint("/maxResults", "Value", "be between 1 and 1000, inclusive"),
		`"maxResults":0`:                      constraint("/maxResults", "Value", "be between 1 and 1000, inclusive"),
		`"segmentCount":17`:                   constraint("/segmentCount", "Value", "be between 1 and 16, inclusive"),
		`"segmentCount":16,"segmentIndex":16`: constraint("/segmentIndex", "Value", "be between 0 and 15, inclusive"),
		`"segmentCount":2,"segmentIndex":2`:   refusal("segmentIndex", "segmentIndex must be less than segmentCount"),
		`"segmentIndex":1`:                    refusal("segmentCount", "segmentCount must be specified when segmentIndex is specified"),
		`"nextToken":""`:                      constraint("/nextToken", "Value with length 0", "have length between 1 and 2048, inclusive"),
	} {
		s.want("ListVectors", ix+members+"}", 400, validation, want)
	}
	// A token of an index that was dropped does not go on in one of the same name.
	s.must("DeleteIndex", strings.TrimSuffix(ix, ",")+"}")
	s.withIndex("cosine")
	if a := s.post("ListVectors", ix+`"nextToken":"`+page.NextToken+`"}`); a.status != 400 {
		t.Errorf("an old token: %d %s", a.status, a.body)
	}
}

// TestListBytes: a page ends early when it is large, and the listing stays whole.
func TestListBytes(t *testing.T) {
	s := start(t, anonymousAdmin)
	ix := s.withIndex("cosine")
	for part := range 4 {
		var items []string
		for i := range 20 {
			items = append(items, put(fmt.Sprintf("%d-%d", part, i), "[1,1,1,1]", `{"bulk":"`+strings.Repeat("x", 40000)+`"}`))
		}
		s.must("PutVectors", ix+`"vectors":[`+strings.Join(items, ",")+`]}`)
	}
	seen, pages, token := 0, 0, ""
	for {
		body := s.must("ListVectors", ix+`"returnMetadata":true`+token+"}")
		if len(body) > 4<<20 {
			t.Errorf("a page of %d bytes", len(body))
		}
		var page struct {
			Vectors   []struct{ Key string }
			NextToken *string
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			t.Fatal(err)
		}
		seen += len(page.Vectors)
		pages++
		if page.NextToken == nil {
			break
		}
		token = `,"nextToken":"` + *page.NextToken + `"`
	}
	if seen != 80 || pages < 2 {
		t.Errorf("%d vectors on %d pages", seen, pages)
	}
}

func TestQueryVectors(t *testing.T) {
	s := start(t, anonymousAdmin)
	ix := s.withIndex("cosine")
	s.must("PutVectors", ix+`"vectors":[`+put("same", "[1,0,0,0]", `{"n":1}`)+","+put("scaled", "[5,0,0,0]", `{"n":2,"bulk":"x"}`)+","+put("orth", "[0,1,0,0]", "")+","+put("opp", "[-1,0,0,0]", `{"n":3}`)+`]}`)
	q := `"queryVector":{"float32":[1,0,0,0]}`
	s.want("QueryVectors", ix+q+`,"topK":10,"returnDistance":true,"returnMetadata":true}`, 200, "", `{"vectors":[`+
		`{"distance":0.0,"key":"same","metadata":{"n":1}},{"distance":0.0,"key":"scaled","metadata":{"n":2,"bulk":"x"}},`+
		`{"distance":1.0,"key":"orth","metadata":{}},{"distance":2.0,"key":"opp","metadata":{"n":3}}],"distanceMetric":"cosine"}`)
	s.want("QueryVectors", ix+q+`,"topK":1}`, 200, "", `{"vectors":[{"key":"same"}],"distanceMetric":"cosine"}`)
	s.want("QueryVectors", ix+q+`,"topK":10,"filter":{"n":{"$gte":2}}}`, 200, "", `{"vectors":[{"key":"scaled"},{"key":"opp"}],"distanceMetric":"cosine"}`)
	s.want("QueryVectors", ix+q+`,"topK":10,"filter":null,"queryMode":"ENHANCED","nextToken":null}`, 200, "", `{"vectors":[{"key":"same"},{"key":"scaled"},{"key":"orth"},{"key":"opp"}],"distanceMetric":"cosine"}`)
	s.want("QueryVectors", ix+q+`,"topK":10,"filter":{"n":99}}`, 200, "", `{"vectors":[],"distanceMetric":"cosine"}`)
	for members, want := range map[string]string{
		q:                                  constraint("/topK", "Value", "not be null"),
		q + `,"topK":0`:                    constraint("/topK", "Value", "be between 1 and 10000, inclusive"),
		q + `,"topK":10001`:                constraint("/topK", "Value", "be between 1 and 10000, inclusive"),
		`"topK":1`:                         constraint("/queryVector", "Value", "not be null"),
		`"topK":1,"queryVector":{}`:        constraint("/queryVector", "Value", "have exactly one member set"),
		q + `,"topK":1,"queryMode":"FAST"`: constraint("/queryMode", "Value", "satisfy enum value set: [CLASSIC, ENHANCED]"),
		`"topK":1,"queryTexts":[{"text":"x","metadataKey":"y"}]`:      refusal("queryTexts", "Full-text search is not available in this service"),
		q + `,"topK":1,"queryTexts":[{"text":"x","metadataKey":"y"}]`: refusal("queryTexts", "Full-text search is not available in this service"),
		`"topK":1,"queryVector":{"float32":[0,0,0,0]}`:                `{"message":"` + textQueryVector + `","fieldList":[{"path":"vector","message":"Invalid input: cosine distance does not support vectors with zero norm"}]}`,
		`"topK":1,"queryVector":{"float32":[1]}`:                      `{"message":"` + textQueryVector + `","fieldList":[{"path":"vector","message":"Invalid input: vector must have length 4, but has length 1"}]}`,
		`"topK":1,"queryVector":{"float32":["NaN",1,1,1]}`:            `{"message":"` + textQueryVector + `","fieldList":[{"path":"vector","message":"Invalid input: vector contains NaNs or Infs"}]}`,
	} {
		s.want("QueryVectors", ix+members+"}", 400, validation, want)
	}
	for _, filter := range []string{`{}`, `{"a":1,"b":2}`, `{"n":{"$near":1}}`, `{"n":null}`, `[]`, `{"n":{}}`, `{"$and":[]}`, `{"n":{"$gt":"x"}}`} {
		a := s.post("QueryVectors", ix+q+`,"topK":1,"filter":`+filter+`}`)
		if a.status != 400 || !strings.Contains(a.body, `"message":"Invalid filter"`) || !strings.Contains(a.body, `"fieldList":[{"path":"filter","message":"Invalid filter"}]`) {
			t.Errorf("%s: %d %s", filter, a.status, a.body)
		}
	}
	if a := s.post("QueryVectors", ix+q+`,"topK":1,"filter":{"bulk":"x"}}`); a.status != 400 || !strings.Contains(a.body, `"message":"Invalid use of non-filterable metadata in filter"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestLaxFilter(t *testing.T) {
	s := start(t, func(o *Options) { anonymousAdmin(o); o.StrictFilter = false })
	ix := s.withIndex("cosine")
	s.must("PutVectors", ix+`"vectors":[`+put("a", "[1,0,0,0]", `{"n":1,"m":1}`)+","+put("b", "[1,1,0,0]", `{"n":1,"m":2}`)+`]}`)
	q := `"topK":5,"queryVector":{"float32":[1,0,0,0]},"filter":`
	s.want("QueryVectors", ix+q+`{"n":1,"m":2}}`, 200, "", `{"vectors":[{"key":"b"}],"distanceMetric":"cosine"}`)
	s.want("QueryVectors", ix+q+`{}}`, 200, "", `{"vectors":[{"key":"a"},{"key":"b"}],"distanceMetric":"cosine"}`)
}

// TestQueryPages: what does not fit one answer comes on several, of one result that is
// fixed by the first.
func TestQueryPages(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"by count": func(o *Options) { o.QueryPage = 64 },
		"by bytes": func(o *Options) { o.QueryBytes = 8000 },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(o *Options) { anonymousAdmin(o); change(o) })
			ix := s.withIndex("cosine")
			for part := range 2 {
				var items []string
				for i := range 150 {
					angle := float64(part*150+i) / 100
					items = append(items, put(fmt.Sprintf("k%03d", part*150+i), fmt.Sprintf("[%v,%v,0,0]", math.Cos(angle), math.Sin(angle)), fmt.Sprintf(`{"i":%d}`, part*150+i)))
				}
				s.must("PutVectors", ix+`"vectors":[`+strings.Join(items, ",")+`]}`)
			}
			query := `"topK":300,"returnMetadata":true,"returnDistance":true,"queryVector":{"float32":[1,0,0,0]}`
			var keys []string
			token, pages, last := "", 0, -1.0
			for {
				var page struct {
					Vectors []struct {
						Key      string
						Distance float64
						Metadata struct{ I int }
					}
					NextToken *string
				}
				body := s.must("QueryVectors", ix+query+token+"}")
				if again := s.must("QueryVectors", ix+query+token+"}"); token != "" && again != body {
					t.Fatal("a page that is asked for again is another")
				}
				if err := json.Unmarshal([]byte(body), &page); err != nil {
					t.Fatal(err)
				}
				for _, v := range page.Vectors {
					if v.Distance < last || v.Key != fmt.Sprintf("k%03d", v.Metadata.I) {
						t.Fatalf("%+v behind %v", v, last)
					}
					last = v.Distance
					keys = append(keys, v.Key)
				}
				if pages++; page.NextToken == nil {
					break
				}
				token = `,"nextToken":"` + *page.NextToken + `"`
				if pages == 1 { // what comes later is not in the result, what goes is left out
					s.must("PutVectors", ix+`"vectors":[`+put("late", "[1,0.0001,0,0]", "")+`]}`)
					s.must("DeleteVectors", ix+`"keys":["k299"]}`)
				}
			}
			if len(keys) != 299 || pages < 3 || keys[0] != "k000" || keys[298] != "k298" {
				t.Errorf("%d results on %d pages: %v", len(keys), pages, keys)
			}
			for _, other := range []string{strings.Replace(query, "300", "299", 1), strings.Replace(query, "[1,0", "[1,1", 1), query + `,"filter":{"i":1}`} {
				if a := s.post("QueryVectors", ix+other+token+"}"); a.status != 400 || !strings.Contains(a.body, "Invalid nextToken") {
					t.Errorf("a token of another query: %d %.200s", a.status, a.body)
				}
			}
			if a := s.post("QueryVectors", ix+query+`,"nextToken":"abc"}`); a.status != 400 {
				t.Errorf("no token: %d %.200s", a.status, a.body)
			}
		})
	}
}

// TestEngineErrors: what the engine answers has a code and a status, and tells nothing
// of the inside.
func TestEngineErrors(t *testing.T) {
	engine := &failing{}
	s := &service{t: t, store: newStore(t), log: &syncBuffer{}}
	engine.Engine = Local(s.store)
	s.serve(engine, Options{Anonymous: "admin"})
	ix := s.withIndex("cosine")
	body := ix + `"vectors":[` + put("a", "[1,1,1,1]", "") + `]}`
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{fmt.Errorf("x: %w", sprat.ErrNotFound), 404, "NotFoundException"},
		{&sprat.VolumeFullError{Path: "/private/path", Err: errors.New("x")}, 503, "ServiceUnavailableException"},
		{fmt.Errorf("x: %w", ErrTooManyRequests), 429, "TooManyRequestsException"},
		{fmt.Errorf("x: %w", ErrUnavailable), 503, "ServiceUnavailableException"},
		{context.DeadlineExceeded, 408, "RequestTimeoutException"},
		{fmt.Errorf("x: %w", sprat.ErrClosed), 503, "ServiceUnavailableException"},
		{&sprat.CorruptionError{Path: "/private/path", Err: errors.New("x")}, 500, "InternalServerException"},
		{errors.New("/private/path"), 500, "InternalServerException"},
		{errPanic, 500, "InternalServerException"},
	} {
		engine.fail(c.err)
		a := s.post("PutVectors", body)
		if a.status != c.status || a.head.Get("X-Amzn-ErrorType") != c.code || strings.Contains(a.body, "private") {
			t.Errorf("%v: %d %s", c.err, a.status, a.body)
		}
	}
	engine.fail(nil)
	s.must("PutVectors", body)
}
