package s3vectors

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	aws3v "github.com/aws/aws-sdk-go-v2/service/s3vectors"
	"github.com/aws/aws-sdk-go-v2/service/s3vectors/document"
	"github.com/aws/aws-sdk-go-v2/service/s3vectors/types"
	"github.com/aws/smithy-go"

	"github.com/spratdb/sprat/server/s3vectors/accesskeys"
	"github.com/spratdb/sprat/server/s3vectors/policy"
)

func TestTags(t *testing.T) {
	s := start(t, anonymousAdmin)
	s.must("CreateVectorBucket", `{"vectorBucketName":"media","tags":{"team":"search","empty":""}}`)
	s.withIndex("cosine")
	bucket, index := "/tags/"+url.PathEscape(arnOf("media")), "/tags/"+strings.ReplaceAll(url.QueryEscape(arnOf("media/index/songs")), "+", "%20")
	tags := func(path, want string) {
		t.Helper()
		if a := s.send("GET", path, ""); a.status != 200 || !sameJSON(a.body, `{"tags":`+want+`}`) {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.body, want)
		}
	}
	tags(bucket, `{"team":"search","empty":""}`)
	tags(index, `{}`)
	tags("/tags/"+arnOf("media/index/songs"), `{}`) // unescaped
	change := func(method, path, body string, status int, want string) {
		t.Helper()
		if a := s.send(method, path, body); a.status != status || !sameJSON(a.body, want) {
			t.Errorf("%s %s %.100s: %d %s, want %s", method, path, body, a.status, a.body, want)
		}
	}
	long := strings.Repeat("é", 128)
	change("POST", index, `{"tags":{"a b":"1","Ünï cödé_.:/=+-@9":"välue 1_.:/=+-@","`+long+`":"x","k𝒜":"v𝒜"}}`, 200, `{}`)
	change("POST", index, `{"tags":{"a b":"2"}}`, 200, `{}`)
	tags(index, `{"a b":"2","Ünï cödé_.:/=+-@9":"välue 1_.:/=+-@","`+long+`":"x","k𝒜":"v𝒜"}`)
	change("DELETE", index+"?tagKeys=a%20b&tagKeys=nothing&tagKeys=%C3%9Cn%C3%AF%20c%C3%B6d%C3%A9_.%3A%2F%3D%2B-%409", "", 200, `{}`)
	tags(index, `{"`+long+`":"x","k𝒜":"v𝒜"}`)
	tags(bucket, `{"team":"search","empty":""}`)

	bad := func(want string) string { return `{"__type":"ValidationException",` + strings.TrimPrefix(want, "{") }
	var many []string
	for i := range 51 {
		many = append(many, fmt.Sprintf(`"t%d":""`, i))
	}
	pattern := "satisfy regular expression pattern: " + tagPattern
	for body, want := range map[string]string{
		`{"tags":{` + strings.Join(many, ",") + `}}`:        refusal("tags", "Too many tags specified"),
		`{"tags":{` + strings.Join(many[:49], ",") + `}}`:   refusal("tags", "Too many tags specified"), // with those that are there
		`{"tags":{"aws:x":"1"}}`:                            refusal("tags", "System tags cannot be added/updated by requester"),
		`{"tags":{"AWS:x":"1"}}`:                            refusal("tags", `Invalid System Tag: AWS:x must be prefixed with "aws:" in lowercase.`),
		`{"tags":{"a#":"1"}}`:                               constraint("/tags", "Value", pattern),
		`{"tags":{"team":"a\tb"}}`:                          constraint("/tags/team", "Value", pattern),
		`{"tags":{"":"1"}}`:                                 constraint("/tags", "Value with length 0", "have length between 1 and 128, inclusive"),
		`{"tags":{"a":"` + strings.Repeat("x", 257) + `"}}`: constraint("/tags/a", "Value with length 257", "have length between 0 and 256, inclusive"),
		`{}`: constraint("/tags", "Value", "not be null"),
	} {
		change("POST", index, body, 400, bad(want))
	}
	change("DELETE", index, "", 400, bad(constraint("/tagKeys", "Value", "not be null")))
	change("GET", "/tags/arn%3Aaws%3As3%3A%3A%3Ax", "", 400, bad(refusal("resourceArn", "Invalid resource ARN")))
	change("GET", "/tags/"+strings.Repeat("x", 1012), "", 400, bad(constraint("/resourceArn", "Value with length 1012", "have length between 0 and 1011, inclusive")))
	for _, gone := range []string{"nothing", "media/index/nothing", "nothing/index/nothing"} {
		text := textBucketNotFound
		if strings.Contains(gone, "index") {
			text = textIndexNotFound
		}
		for _, method := range []string{"GET", "DELETE"} {
			change(method, "/tags/"+url.PathEscape(arnOf(gone))+"?tagKeys=a", "", 404, `{"__type":"NotFoundException","message":"`+text+`"}`)
		}
	}
	// They go with their owner.
	s.must("DeleteIndex", `{"vectorBucketName":"media","indexName":"songs"}`)
	s.withIndex("cosine")
	tags(index, `{}`)
	s.want("CreateVectorBucket", `{"vectorBucketName":"more","tags":{"aws:x":""}}`, 400, validation, refusal("tags", textSystemTag))
	s.want("GetVectorBucket", `{"vectorBucketName":"more"}`, 404, missingErr, "")
}

func TestRoutes(t *testing.T) {
	s := start(t, func(o *Options) { anonymousAdmin(o); o.BasePath = "/base" })
	for _, c := range []struct{ method, path string }{
		{"POST", "/ListVectorBuckets"}, {"GET", "/base/ListVectorBuckets"}, {"POST", "/base/listvectorbuckets"}, {"POST", "/base/ListVectorBuckets/"}, {"POST", "/base/"}, {"POST", "/"},
		{"POST", "/base/UpdateIndexMode"}, {"POST", "/base/PutVectorBucketDefaultIndexMode"}, {"POST", "/base/UpdateMetadataConfiguration"}, {"PUT", "/base/tags/x"}, {"GET", "/base//ListVectorBuckets"},
	} {
		a := s.send(c.method, c.path, "{}")
		if a.status != 404 || a.head.Get("X-Amzn-ErrorType") != "UnknownOperationException" || !strings.Contains(a.body, `"__type":"UnknownOperationException"`) {
			t.Errorf("%s %s: %d %s", c.method, c.path, a.status, a.body)
		}
	}
	if a := s.send("POST", "/base/ListVectorBuckets", "{}"); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestFallback: beside another gateway, only what is for this service is served.
func TestFallback(t *testing.T) {
	s := start(t, func(o *Options) {
		o.Fallback = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	})
	ctx := context.Background()
	if _, err := s.client("ADMIN").CreateVectorBucket(ctx, &aws3v.CreateVectorBucketInput{VectorBucketName: aws.String("media")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client("ADMIN").ListTagsForResource(ctx, &aws3v.ListTagsForResourceInput{ResourceArn: aws.String(arnOf("media"))}); err != nil {
		t.Fatal(err)
	}
	s3 := "AWS4-HMAC-SHA256 Credential=ADMIN/20261130/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=00"
	ours := strings.Replace(s3, "/s3/", "/s3vectors/", 1)
	for _, c := range []struct {
		method, path, authorization string
		want                        int
	}{
		{"GET", "/some/object", "", 418}, {"POST", "/UpdateIndexMode", "", 418}, {"POST", "/UpdateIndexMode", ours, 404}, {"POST", "/ListVectorBuckets", "", 403},
		{"POST", "/tags/x", s3, 418}, {"GET", "/tags/x", ours, 400}, {"GET", "/tags/x", "", 403},
	} {
		r, _ := http.NewRequest(c.method, s.server.URL+c.path, nil)
		if c.authorization != "" {
			r.Header.Set("Authorization", c.authorization)
		}
		if a := s.do(r); a.status != c.want {
			t.Errorf("%s %s %q: %d %s, want %d", c.method, c.path, c.authorization, a.status, a.body, c.want)
		}
	}
}

// code is the code of an API error, "" for none.
func code(err error) string {
	var e smithy.APIError
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestSignatures(t *testing.T) {
	clock := time.Now()
	s := start(t, func(o *Options) { o.Now = func() time.Time { return clock } })
	ctx := context.Background()
	call := func(key string, change ...func(*aws3v.Options)) string {
		_, err := s.client(key, change...).ListVectorBuckets(ctx, &aws3v.ListVectorBucketsInput{})
		return code(err)
	}
	if got := call("ADMIN"); got != "" {
		t.Errorf("good: %s", got)
	}
	if got := call("READER", func(o *aws3v.Options) { o.Region = "eu-north-1" }); got != "" {
		t.Errorf("another Region: %s", got)
	}
	if got := call("STRANGER"); got != "UnrecognizedClientException" {
		t.Errorf("unknown key: %s", got)
	}
	if a := s.post("ListVectorBuckets", "{}"); a.status != 403 || a.head.Get("X-Amzn-ErrorType") != "MissingAuthenticationTokenException" {
		t.Errorf("unsigned: %d %s", a.status, a.body)
	}
	clock = clock.Add(6 * time.Minute)
	if got := call("ADMIN"); got != "InvalidSignatureException" {
		t.Errorf("skewed: %s", got)
	}
	clock = clock.Add(-12 * time.Minute)
	if got := call("ADMIN"); got != "InvalidSignatureException" {
		t.Errorf("skewed the other way: %s", got)
	}
	clock = clock.Add(6 * time.Minute)
	// A body that is not the one that was signed, and one that is large.
	tamper := func(w http.ResponseWriter, r *http.Request) bool {
		r.Body = http.NoBody
		r.ContentLength = 0
		return false
	}
	s.before.Store(&tamper)
	if got := call("ADMIN"); got != "InvalidSignatureException" {
		t.Errorf("tampered: %s", got)
	}
	s.before.Store(nil)
	if strings.Contains(s.log.String(), secret) || strings.Contains(s.log.String(), "Signature=") {
		t.Error("the log holds a secret or a signature")
	}
	if n := strings.Count(s.log.String(), "s3vectors request"); n != 7 {
		t.Errorf("%d requests in the log, want 7:\n%s", n, s.log.String())
	}
}

func TestRoles(t *testing.T) {
	s := start(t, nil)
	ctx := context.Background()
	s.fill()
	for key, want := range map[string]map[string]bool{
		"READER": {"GetIndex": true, "QueryVectors": true, "ListVectors": true, "ListTags": true},
		"WRITER": {"GetIndex": true, "QueryVectors": true, "ListVectors": true, "ListTags": true, "PutVectors": true, "DeleteVectors": true},
		"NOBODY": {},
		"ADMIN":  {"GetIndex": true, "QueryVectors": true, "ListVectors": true, "ListTags": true, "PutVectors": true, "DeleteVectors": true, "Tag": true, "PutPolicy": true, "CreateBucket": true},
	} {
		for name, run := range s.actions(ctx, key) {
			err := run()
			if want[name] != (err == nil) || err != nil && code(err) != "AccessDeniedException" {
				t.Errorf("%s %s: %v", key, name, err)
			}
		}
	}
}

// fill makes media/songs with one vector.
func (s *service) fill() {
	s.t.Helper()
	ctx, c := context.Background(), s.client("ADMIN")
	_, err := c.CreateVectorBucket(ctx, &aws3v.CreateVectorBucketInput{VectorBucketName: aws.String("media"), Tags: map[string]string{"Team": "search"}})
	if err == nil {
		_, err = c.CreateIndex(ctx, &aws3v.CreateIndexInput{VectorBucketName: aws.String("media"), IndexName: aws.String("songs"), DataType: types.DataTypeFloat32,
			Dimension: aws.Int32(4), DistanceMetric: types.DistanceMetricCosine, Tags: map[string]string{"Team": "search"}})
	}
	if err == nil {
		err = s.actions(ctx, "ADMIN")["PutVectors"]()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// actions are calls by name.
func (s *service) actions(ctx context.Context, key string) map[string]func() error {
	c := s.client(key)
	bucket, index := aws.String("media"), aws.String("songs")
	data := &types.VectorDataMemberFloat32{Value: []float32{1, 2, 3, 4}}
	return map[string]func() error{
		"GetIndex": func() error {
			_, err := c.GetIndex(ctx, &aws3v.GetIndexInput{VectorBucketName: bucket, IndexName: index})
			return err
		},
		"QueryVectors": func() error {
			_, err := c.QueryVectors(ctx, &aws3v.QueryVectorsInput{VectorBucketName: bucket, IndexName: index, TopK: aws.Int32(1), QueryVector: data})
			return err
		},
		"ListVectors": func() error {
			_, err := c.ListVectors(ctx, &aws3v.ListVectorsInput{VectorBucketName: bucket, IndexName: index})
			return err
		},
		"ListTags": func() error {
			_, err := c.ListTagsForResource(ctx, &aws3v.ListTagsForResourceInput{ResourceArn: aws.String(arnOf("media"))})
			return err
		},
		"PutVectors": func() error {
			_, err := c.PutVectors(ctx, &aws3v.PutVectorsInput{VectorBucketName: bucket, IndexName: index, Vectors: []types.PutInputVector{{Key: aws.String("a"), Data: data}}})
			return err
		},
		"DeleteVectors": func() error {
			_, err := c.DeleteVectors(ctx, &aws3v.DeleteVectorsInput{VectorBucketName: bucket, IndexName: index, Keys: []string{"zzz"}})
			return err
		},
		"Tag": func() error {
			_, err := c.TagResource(ctx, &aws3v.TagResourceInput{ResourceArn: aws.String(arnOf("media")), Tags: map[string]string{"x": "y"}})
			return err
		},
		"PutPolicy": func() error {
			_, err := c.PutVectorBucketPolicy(ctx, &aws3v.PutVectorBucketPolicyInput{VectorBucketName: bucket, Policy: aws.String(onePolicy("Allow", "*", "s3vectors:GetVectorBucket", "*", ""))})
			return err
		},
		"CreateBucket": func() error {
			_, err := c.CreateVectorBucket(ctx, &aws3v.CreateVectorBucketInput{VectorBucketName: aws.String("new-" + strings.ToLower(key))})
			return err
		},
	}
}

func onePolicy(effect, principal, action, on, condition string) string {
	if principal != "*" {
		principal = `{"AWS":"arn:aws:iam::000000000000:user/` + principal + `"}`
	} else {
		principal = `"*"`
	}
	if condition != "" {
		condition = `,"Condition":` + condition
	}
	return fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":%q,"Principal":%s,"Action":%q,"Resource":%q%s}]}`, effect, principal, action, on, condition)
}

func TestPolicies(t *testing.T) {
	s := start(t, nil)
	ctx := context.Background()
	s.fill()
	admin := s.client("ADMIN")
	bucket, index := aws.String("media"), aws.String("songs")
	set := func(text string) {
		t.Helper()
		if _, err := admin.PutVectorBucketPolicy(ctx, &aws3v.PutVectorBucketPolicyInput{VectorBucketName: bucket, Policy: &text}); err != nil {
			t.Fatal(err)
		}
		got, err := admin.GetVectorBucketPolicy(ctx, &aws3v.GetVectorBucketPolicyInput{VectorBucketArn: aws.String(arnOf("media"))})
		if err != nil || *got.Policy != text {
			t.Fatalf("got %v, %v, want %s", got, err, text)
		}
	}
	if _, err := admin.GetVectorBucketPolicy(ctx, &aws3v.GetVectorBucketPolicyInput{VectorBucketName: bucket}); code(err) != "NotFoundException" {
		t.Errorf("no policy: %v", err)
	}
	all, songs := arnOf("media")+"*", arnOf("media/index/songs")
	for _, c := range []struct {
		policy, key, action, want string
	}{
		{onePolicy("Allow", "nobody", "s3vectors:QueryVectors", songs, ""), "NOBODY", "QueryVectors", ""},
		{onePolicy("Allow", "nobody", "s3vectors:QueryVectors", songs, ""), "NOBODY", "GetIndex", "AccessDeniedException"},
		{onePolicy("Allow", "nobody", "s3vectors:QueryVectors", arnOf("media/index/other"), ""), "NOBODY", "QueryVectors", "AccessDeniedException"},
		{onePolicy("Allow", "somebody", "s3vectors:*", all, ""), "NOBODY", "QueryVectors", "AccessDeniedException"},
		{onePolicy("Allow", "*", "s3vectors:*", all, ""), "NOBODY", "PutVectors", ""},
		{onePolicy("Deny", "*", "s3vectors:PutVectors", songs, ""), "ADMIN", "PutVectors", "AccessDeniedException"},
		{onePolicy("Deny", "*", "s3vectors:*", all, ""), "ADMIN", "GetIndex", "AccessDeniedException"},
		{onePolicy("Deny", "*", "s3vectors:*", all, ""), "ADMIN", "PutPolicy", ""},
		{onePolicy("Deny", "*", "s3vectors:*", all, ""), "WRITER", "PutVectors", "AccessDeniedException"},
		{onePolicy("Deny", "*", "s3vectors:*", all, `{"StringEquals":{"aws:ResourceTag/team":"search"}}`), "WRITER", "QueryVectors", "AccessDeniedException"},
		{onePolicy("Deny", "*", "s3vectors:*", all, `{"StringEquals":{"aws:ResourceTag/team":"other"}}`), "WRITER", "QueryVectors", ""},
		{onePolicy("Deny", "*", "s3vectors:TagResource", all, `{"ForAnyValue:StringEquals":{"aws:TagKeys":["x"]}}`), "ADMIN", "Tag", "AccessDeniedException"},
		{onePolicy("Deny", "*", "s3vectors:TagResource", all, `{"StringNotEquals":{"aws:RequestTag/x":"y"}}`), "ADMIN", "Tag", ""},
		{onePolicy("Deny", "*", "*", all, `{"Bool":{"aws:SecureTransport":"false"}}`), "READER", "GetIndex", "AccessDeniedException"},
		{onePolicy("Deny", "*", "*", all, `{"NotIpAddress":{"aws:SourceIp":["127.0.0.0/8","::1/128"]}}`), "READER", "GetIndex", ""},
		{onePolicy("Allow", "*", "*", arnOf("media/index/${aws:username}"), ""), "NOBODY", "QueryVectors", "AccessDeniedException"},
		{onePolicy("Allow", "*", "*", all, `{"StringLike":{"aws:userName":"no*"},"DateGreaterThan":{"aws:CurrentTime":"2020-01-01T00:00:00Z"}}`), "NOBODY", "QueryVectors", ""},
	} {
		set(c.policy)
		if got := code(s.actions(ctx, c.key)[c.action]()); got != c.want {
			t.Errorf("%s\n%s %s: got %q, want %q", c.policy, c.key, c.action, got, c.want)
		}
		if c.action == "PutPolicy" {
			set(c.policy)
		}
	}
	// What a create brings along counts too.
	set(onePolicy("Deny", "*", "s3vectors:CreateIndex", all, `{"StringNotEquals":{"s3vectors:sseType":"aws:kms"}}`))
	create := &aws3v.CreateIndexInput{VectorBucketName: bucket, IndexName: aws.String("second"), DataType: types.DataTypeFloat32, Dimension: aws.Int32(4), DistanceMetric: types.DistanceMetricCosine}
	if _, err := admin.CreateIndex(ctx, create); code(err) != "AccessDeniedException" {
		t.Errorf("create: %v", err)
	}
	set(onePolicy("Deny", "*", "s3vectors:TagResource", all, ""))
	create.Tags = map[string]string{"a": "b"}
	if _, err := admin.CreateIndex(ctx, create); code(err) != "AccessDeniedException" {
		t.Errorf("create with tags: %v", err)
	}
	if _, err := admin.DeleteVectorBucketPolicy(ctx, &aws3v.DeleteVectorBucketPolicyInput{VectorBucketName: bucket}); err != nil {
		t.Error(err)
	}
	if _, err := admin.DeleteVectorBucketPolicy(ctx, &aws3v.DeleteVectorBucketPolicyInput{VectorBucketName: bucket}); err != nil {
		t.Errorf("again: %v", err)
	}
	if _, err := admin.CreateIndex(ctx, create); err != nil {
		t.Errorf("without a policy: %v", err)
	}
	// GetVectors is needed for what reads metadata.
	set(onePolicy("Deny", "reader", "s3vectors:GetVectors", all, ""))
	reader := s.client("READER")
	query := func(change func(*aws3v.QueryVectorsInput)) string {
		in := &aws3v.QueryVectorsInput{VectorBucketName: bucket, IndexName: index, TopK: aws.Int32(1), QueryVector: &types.VectorDataMemberFloat32{Value: []float32{1, 2, 3, 4}}}
		change(in)
		_, err := reader.QueryVectors(ctx, in)
		return code(err)
	}
	list := func(change func(*aws3v.ListVectorsInput)) string {
		in := &aws3v.ListVectorsInput{VectorBucketName: bucket, IndexName: index}
		change(in)
		_, err := reader.ListVectors(ctx, in)
		return code(err)
	}
	for name, c := range map[string][2]string{
		"query":               {query(func(in *aws3v.QueryVectorsInput) { in.ReturnDistance = true }), ""},
		"query with metadata": {query(func(in *aws3v.QueryVectorsInput) { in.ReturnMetadata = true }), "AccessDeniedException"},
		"query with filter": {query(func(in *aws3v.QueryVectorsInput) {
			in.Filter = document.NewLazyDocument(map[string]any{"a": 1})
		}), "AccessDeniedException"},
		"list":               {list(func(*aws3v.ListVectorsInput) {}), ""},
		"list with data":     {list(func(in *aws3v.ListVectorsInput) { in.ReturnData = true }), "AccessDeniedException"},
		"list with metadata": {list(func(in *aws3v.ListVectorsInput) { in.ReturnMetadata = true }), "AccessDeniedException"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: got %q, want %q", name, c[0], c[1])
		}
	}
	for _, bad := range []string{"x", "{}", onePolicy("Permit", "*", "*", "*", ""), strings.Repeat(" ", policy.MaxBytes+1)} {
		_, err := admin.PutVectorBucketPolicy(ctx, &aws3v.PutVectorBucketPolicyInput{VectorBucketName: bucket, Policy: &bad})
		if code(err) != "ValidationException" {
			t.Errorf("%.50s: %v", bad, err)
		}
	}
}

// TestPolicyOfAnother: a change by another process is in force within a second.
func TestPolicyOfAnother(t *testing.T) {
	clock := time.Now()
	s := start(t, func(o *Options) { o.Now = func() time.Time { return clock } })
	s.fill()
	ctx := context.Background()
	get := s.actions(ctx, "READER")["GetIndex"]
	if err := get(); err != nil {
		t.Fatal(err)
	}
	if err := s.store.SetAttributes("media", map[string][]byte{attrPolicy: []byte(onePolicy("Deny", "*", "*", "*", ""))}); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(policyLife)
	if got := code(get()); got != "AccessDeniedException" {
		t.Errorf("got %q", got)
	}
	// One that cannot be understood lets nobody in.
	if err := s.store.SetAttributes("media", map[string][]byte{attrPolicy: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(policyLife)
	if got := code(get()); got != "InternalServerException" {
		t.Errorf("got %q", got)
	}
}

// TestAnonymous: who does not sign may do what the option says, and no policy gives
// more.
func TestAnonymous(t *testing.T) {
	s := start(t, func(o *Options) { o.Anonymous = accesskeys.Read })
	s.fill()
	text := onePolicy("Allow", "*", "s3vectors:*", "*", "")
	if _, err := s.client("ADMIN").PutVectorBucketPolicy(context.Background(), &aws3v.PutVectorBucketPolicyInput{VectorBucketName: aws.String("media"), Policy: &text}); err != nil {
		t.Fatal(err)
	}
	ix := `{"vectorBucketName":"media","indexName":"songs"`
	s.must("GetIndex", ix+"}")
	if a := s.post("DeleteVectors", ix+`,"keys":["a"]}`); a.status != 403 || !strings.Contains(a.body, "anonymous is not authorized to perform: s3vectors:DeleteVectors on resource: "+arnOf("media/index/songs")) {
		t.Errorf("%d %s", a.status, a.body)
	}
	// A bad signature is not anonymous.
	r, _ := http.NewRequest("POST", s.server.URL+"/ListVectorBuckets", strings.NewReader("{}"))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 x")
	if a := s.do(r); a.status != 400 || a.head.Get("X-Amzn-ErrorType") != "IncompleteSignatureException" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestOptionsRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"region": {Region: "US East"}, "account": {Account: "1"}, "skew": {Skew: time.Hour}, "base": {BasePath: "x"}, "base end": {BasePath: "/x/"}, "role": {Anonymous: "god"},
		"page": {QueryPage: 10001}, "bodies": {BodyMemory: 1}, "answers": {AnswerMemory: 1}, "timeout": {Timeout: -1},
	} {
		if _, err := New(nil, o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestPanicUnanswered: a recorder has no deadlines, and the handler does without.
func TestRecorder(t *testing.T) {
	s := start(t, anonymousAdmin)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, httptest.NewRequest("POST", "/ListVectorBuckets", strings.NewReader("{}")))
	if w.Code != 200 || w.Body.String() != `{"vectorBuckets":[]}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
