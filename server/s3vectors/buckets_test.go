package s3vectors

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const (
	validation = "ValidationException"
	missingErr = "NotFoundException"
	conflicts  = "ConflictException"
)

// constraint is the JSON of an error about one constraint of the model.
func constraint(path, value, rule string) string {
	text := value + " at '" + path + "' failed to satisfy constraint: Member must " + rule
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	return fmt.Sprintf(`{"message":%s,"fieldList":[{"path":%s,"message":%s}]}`, quoted("1 validation error detected. "+text), quoted(path), quoted(text))
}

// refusal is the JSON of an error about one field.
func refusal(path, message string) string {
	m, _ := json.Marshal(message)
	return fmt.Sprintf(`{"message":%s,"fieldList":[{"path":%q,"message":%s}]}`, m, path, m)
}

func arnOf(path string) string { return "arn:aws:s3vectors:us-east-1:000000000000:bucket/" + path }

var times = regexp.MustCompile(`"creationTime":[0-9]+(\.[0-9]{3})?`)

// timeless takes the times out of an answer, which must be numbers.
func timeless(text string) string { return times.ReplaceAllString(text, `"creationTime":0`) }

func TestBuckets(t *testing.T) {
	s := start(t, anonymousAdmin)
	s.want("CreateVectorBucket", `{"vectorBucketName":"media"}`, 200, "", `{"vectorBucketArn":"`+arnOf("media")+`"}`)
	s.want("CreateVectorBucket", `{"vectorBucketName":"media"}`, 409, conflicts, `{"message":"A vector bucket with the specified name already exists"}`)
	for _, ref := range []string{`"vectorBucketName":"media"`, `"vectorBucketArn":"` + arnOf("media") + `"`} {
		got := timeless(s.must("GetVectorBucket", `{`+ref+`,"unknownMember":{"a":[1]}}`))
		want := `{"vectorBucket":{"vectorBucketName":"media","vectorBucketArn":"` + arnOf("media") + `","creationTime":0,"encryptionConfiguration":{"sseType":"AES256"}}}`
		if !sameJSON(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got, want := timeless(s.must("ListVectorBuckets", "")), `{"vectorBuckets":[{"vectorBucketName":"media","vectorBucketArn":"`+arnOf("media")+`","creationTime":0}]}`; !sameJSON(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	s.want("ListVectorBuckets", `{"prefix":"x"}`, 200, "", `{"vectorBuckets":[]}`)
	s.want("DeleteVectorBucket", `{"vectorBucketName":"media"}`, 200, "", `{}`)
	for _, op := range []string{"DeleteVectorBucket", "GetVectorBucket", "ListIndexes", "GetVectorBucketPolicy", "DeleteVectorBucketPolicy"} {
		s.want(op, `{"vectorBucketName":"media"}`, 404, missingErr, `{"message":"The specified vector bucket could not be found"}`)
		s.want(op, `{"vectorBucketArn":"`+arnOf("media")+`"}`, 404, missingErr, "")
	}
}

func TestBucketNames(t *testing.T) {
	s := start(t, anonymousAdmin)
	name := func(n int) string {
		return constraint("/vectorBucketName", fmt.Sprintf("Value with length %d", n), "have length between 3 and 63, inclusive")
	}
	s.want("CreateVectorBucket", `{"vectorBucketName":"ab"}`, 400, validation, name(2))
	s.want("CreateVectorBucket", `{"vectorBucketName":"`+strings.Repeat("a", 64)+`"}`, 400, validation, name(64))
	s.want("CreateVectorBucket", `{"vectorBucketName":""}`, 400, validation, name(0))
	s.want("CreateVectorBucket", `{}`, 400, validation, constraint("/vectorBucketName", "Value", "not be null"))
	s.want("CreateVectorBucket", `{"vectorBucketName":null}`, 400, validation, constraint("/vectorBucketName", "Value", "not be null"))
	for _, bad := range []string{"Media", "me_dia", "-media", "media-", "me dia", "me.dia", "mé-dia", "a/b"} {
		s.want("CreateVectorBucket", `{"vectorBucketName":"`+bad+`"}`, 400, validation, refusal("vectorBucketName", "Invalid vector bucket name"))
	}
	for _, good := range []string{"abc", strings.Repeat("a", 63), "0-9"} {
		s.must("CreateVectorBucket", `{"vectorBucketName":"`+good+`"}`)
	}
	ref := refusal("vectorBucketName", textBucketRef)
	for _, op := range []string{"GetVectorBucket", "DeleteVectorBucket", "ListIndexes", "GetVectorBucketPolicy", "DeleteVectorBucketPolicy"} {
		s.want(op, `{}`, 400, validation, ref)
		s.want(op, `{"vectorBucketName":"abc","vectorBucketArn":"`+arnOf("abc")+`"}`, 400, validation, ref)
		s.want(op, `{"vectorBucketArn":"arn:aws:s3:::abc"}`, 400, validation, constraint("/vectorBucketArn", "Value", "satisfy regular expression pattern: "+bucketARNPattern))
		s.want(op, `{"vectorBucketArn":"`+strings.Replace(arnOf("abc"), "us-east-1", "eu-west-1", 1)+`"}`, 404, missingErr, "")
		s.want(op, `{"vectorBucketArn":"`+strings.Replace(arnOf("abc"), "000000000000", "000000000001", 1)+`"}`, 404, missingErr, "")
	}
	// Several constraints at once.
	a := s.post("ListVectorBuckets", `{"maxResults":0,"prefix":""}`)
	if !strings.Contains(a.body, `"2 validation errors detected. Value at '/maxResults' failed to satisfy constraint: Member must be between 1 and 500, inclusive; Value with length 0 at '/prefix'`) {
		t.Errorf("got %s", a.body)
	}
}

func TestBucketPages(t *testing.T) {
	s := start(t, anonymousAdmin)
	var want []string
	for i := range 7 {
		name := fmt.Sprintf("page-%d", i)
		s.must("CreateVectorBucket", `{"vectorBucketName":"`+name+`"}`)
		want = append(want, name)
	}
	s.must("CreateVectorBucket", `{"vectorBucketName":"other"}`)
	if err := s.store.CreateBucket("page-NOT_FOR_S3"); err != nil {
		t.Fatal(err)
	}
	var got []string
	token := ""
	for range 10 {
		var page struct {
			VectorBuckets []struct{ VectorBucketName string }
			NextToken     *string
		}
		if err := json.Unmarshal([]byte(s.must("ListVectorBuckets", `{"prefix":"page-","maxResults":3`+token+`}`)), &page); err != nil {
			t.Fatal(err)
		}
		for _, b := range page.VectorBuckets {
			got = append(got, b.VectorBucketName)
		}
		if page.NextToken == nil {
			break
		}
		token = `,"nextToken":"` + *page.NextToken + `"`
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, bad := range []string{"x", "!!!", strings.Repeat("A", 40)} {
		s.want("ListVectorBuckets", `{"nextToken":"`+bad+`"}`, 400, validation, refusal("nextToken", "Invalid nextToken"))
	}
	s.want("ListVectorBuckets", `{"nextToken":"`+strings.Repeat("A", 513)+`"}`, 400, validation, constraint("/nextToken", "Value with length 513", "have length between 1 and 512, inclusive"))
	s.want("ListVectorBuckets", `{"maxResults":501}`, 400, validation, constraint("/maxResults", "Value", "be between 1 and 500, inclusive"))
}

func TestIndexes(t *testing.T) {
	s := start(t, anonymousAdmin)
	s.must("CreateVectorBucket", `{"vectorBucketName":"media"}`)
	shape := `"dataType":"float32","dimension":4,"distanceMetric":"cosine"`
	s.want("CreateIndex", `{"vectorBucketName":"media","indexName":"songs.v1",`+shape+`,"metadataConfiguration":{"nonFilterableMetadataKeys":["text","é"]}}`, 200, "", `{"indexArn":"`+arnOf("media/index/songs.v1")+`"}`)
	s.want("CreateIndex", `{"vectorBucketArn":"`+arnOf("media")+`","indexName":"songs.v1",`+shape+`}`, 409, conflicts, `{"message":"An index with the specified name already exists"}`)
	s.want("CreateIndex", `{"vectorBucketName":"nowhere","indexName":"songs",`+shape+`}`, 404, missingErr, `{"message":"The specified vector bucket could not be found"}`)
	s.must("CreateIndex", `{"vectorBucketName":"media","indexName":"plain","dataType":"float32","dimension":4096,"distanceMetric":"euclidean","metadataConfiguration":{}}`)
	want := `{"index":{"vectorBucketName":"media","indexName":"songs.v1","indexArn":"` + arnOf("media/index/songs.v1") + `","creationTime":0,"dataType":"float32","dimension":4,` +
		`"distanceMetric":"cosine","metadataConfiguration":{"nonFilterableMetadataKeys":["text","é"]},"encryptionConfiguration":{"sseType":"AES256"}}}`
	for _, ref := range []string{`"vectorBucketName":"media","indexName":"songs.v1"`, `"indexArn":"` + arnOf("media/index/songs.v1") + `"`} {
		if got := timeless(s.must("GetIndex", `{`+ref+`}`)); !sameJSON(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := s.must("GetIndex", `{"vectorBucketName":"media","indexName":"plain"}`); strings.Contains(got, "metadataConfiguration") {
		t.Errorf("got %s", got)
	}
	item := func(name string) string {
		return `{"vectorBucketName":"media","indexName":"` + name + `","indexArn":"` + arnOf("media/index/"+name) + `","creationTime":0}`
	}
	if got, want := timeless(s.must("ListIndexes", `{"vectorBucketName":"media"}`)), `{"indexes":[`+item("plain")+`,`+item("songs.v1")+`]}`; !sameJSON(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := timeless(s.must("ListIndexes", `{"vectorBucketArn":"`+arnOf("media")+`","prefix":"so"}`)), `{"indexes":[`+item("songs.v1")+`]}`; !sameJSON(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	s.want("DeleteVectorBucket", `{"vectorBucketName":"media"}`, 409, conflicts, `{"message":"The specified vector bucket is not empty"}`)
	s.want("DeleteIndex", `{"indexArn":"`+arnOf("media/index/plain")+`"}`, 200, "", `{}`)
	noIndex := `{"message":"The specified index could not be found"}`
	for _, ref := range []string{`"vectorBucketName":"media","indexName":"plain"`, `"vectorBucketName":"nowhere","indexName":"plain"`, `"indexArn":"` + arnOf("media/index/plain") + `"`,
		`"indexArn":"` + strings.Replace(arnOf("media/index/songs.v1"), "us-east-1", "us-east-2", 1) + `"`} {
		s.want("GetIndex", `{`+ref+`}`, 404, missingErr, noIndex)
		s.want("DeleteIndex", `{`+ref+`}`, 404, missingErr, noIndex)
		s.want("PutVectors", `{`+ref+`,"vectors":[{"key":"a","data":{"float32":[1]}}]}`, 404, missingErr, noIndex)
		s.want("GetVectors", `{`+ref+`,"keys":["a"]}`, 404, missingErr, noIndex)
		s.want("DeleteVectors", `{`+ref+`,"keys":["a"]}`, 404, missingErr, noIndex)
		s.want("ListVectors", `{`+ref+`}`, 404, missingErr, noIndex)
		s.want("QueryVectors", `{`+ref+`,"topK":1,"queryVector":{"float32":[1]}}`, 404, missingErr, noIndex)
	}
	refs := refusal("indexArn", textIndexRef)
	for _, ref := range []string{``, `"vectorBucketName":"media"`, `"indexName":"songs.v1"`, `"vectorBucketName":"media","indexArn":"` + arnOf("media/index/songs.v1") + `"`,
		`"vectorBucketName":"media","indexName":"songs.v1","indexArn":"` + arnOf("media/index/songs.v1") + `"`} {
		s.want("GetIndex", `{`+ref+`}`, 400, validation, refs)
	}
}

func TestIndexConstraints(t *testing.T) {
	s := start(t, anonymousAdmin)
	s.must("CreateVectorBucket", `{"vectorBucketName":"media"}`)
	with := func(member, value string) string {
		parts := []string{`"vectorBucketName":"media"`}
		for _, m := range []struct{ name, value string }{{"indexName", `"songs"`}, {"dataType", `"float32"`}, {"dimension", "4"}, {"distanceMetric", `"cosine"`}} {
			if m.name != member {
				parts = append(parts, `"`+m.name+`":`+m.value)
			}
		}
		if value != "" {
			parts = append(parts, `"`+member+`":`+value)
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	ten := func(n int) string {
		return `{"nonFilterableMetadataKeys":[` + strings.TrimSuffix(strings.Repeat(`"k",`, n), ",") + `]}`
	}
	for _, c := range []struct{ member, value, want string }{
		{"dataType", `"float64"`, constraint("/dataType", "Value", "satisfy enum value set: [float32]")},
		{"distanceMetric", `"dot"`, constraint("/distanceMetric", "Value", "satisfy enum value set: [euclidean, cosine]")},
		{"dimension", "0", constraint("/dimension", "Value", "be between 1 and 4096, inclusive")},
		{"dimension", "4097", constraint("/dimension", "Value", "be between 1 and 4096, inclusive")},
		{"dimension", "", constraint("/dimension", "Value", "not be null")},
		{"dataType", "", constraint("/dataType", "Value", "not be null")},
		{"distanceMetric", "null", constraint("/distanceMetric", "Value", "not be null")},
		{"indexName", "", constraint("/indexName", "Value", "not be null")},
		{"indexName", `"ab"`, constraint("/indexName", "Value with length 2", "have length between 3 and 63, inclusive")},
		{"indexName", `"So_ngs"`, refusal("indexName", "Invalid index name")},
		{"metadataConfiguration", ten(40), constraint("/metadataConfiguration/nonFilterableMetadataKeys", "Value with length 40", "have length between 1 and 10, inclusive")},
		{"metadataConfiguration", `{"nonFilterableMetadataKeys":[""]}`, constraint("/metadataConfiguration/nonFilterableMetadataKeys/0", "Value with length 0", "have length between 1 and 63, inclusive")},
		{"metadataConfiguration", `{"nonFilterableMetadataKeys":["` + strings.Repeat("é", 64) + `"]}`, constraint("/metadataConfiguration/nonFilterableMetadataKeys/0", "Value with length 64", "have length between 1 and 63, inclusive")},
		{"metadataConfiguration", `{"textSearchConfigurations":[{"metadataKey":"a"}]}`, refusal("metadataConfiguration", "Full-text search is not available in this service")},
		{"encryptionConfiguration", `{"sseType":"DES"}`, constraint("/encryptionConfiguration/sseType", "Value", "satisfy enum value set: [AES256, aws:kms]")},
		{"encryptionConfiguration", `{"sseType":"AES256","kmsKeyArn":"arn:aws:kms:us-east-1:000000000000:key/x"}`, refusal("EncryptionConfiguration", "kmsKeyArn must not be specified when sseType is AES256.")},
		{"encryptionConfiguration", `{"kmsKeyArn":"arn:aws:kms:us-east-1:000000000000:key/x"}`, refusal("EncryptionConfiguration", "kmsKeyArn must not be specified when sseType is AES256.")},
		{"encryptionConfiguration", `{"sseType":"aws:kms"}`, refusal("EncryptionConfiguration", "kmsKeyArn must be specified when sseType is set to aws:kms")},
		{"encryptionConfiguration", `{"sseType":"aws:kms","kmsKeyArn":"key"}`, constraint("/encryptionConfiguration/kmsKeyArn", "Value", "satisfy regular expression pattern: "+kmsARNPattern)},
		{"encryptionConfiguration", `{"sseType":"aws:kms","kmsKeyArn":"arn:aws:kms:us-east-1:000000000000:key/x"}`, refusal("EncryptionConfiguration", "sseType aws:kms is not available: this service has no key management")},
	} {
		s.want("CreateIndex", with(c.member, c.value), 400, validation, c.want)
	}
	for _, c := range []struct{ member, value string }{{"dimension", `"4"`}, {"dimension", "4.5"}, {"dimension", "99999999999"}, {"dataType", "1"}, {"metadataConfiguration", "[]"}, {"metadataConfiguration", `{"nonFilterableMetadataKeys":[1]}`}, {"tags", `{"a":1}`}} {
		s.want("CreateIndex", with(c.member, c.value), 400, "SerializationException", "")
	}
	s.must("CreateIndex", with("metadataConfiguration", strings.Replace(`{"nonFilterableMetadataKeys":["0","1","2","3","4","5","6","7","8","`+strings.Repeat("é", 63)+`"]}`, "x", "", 1)))
}

// TestEncryptionKept: with AcceptKMS what was asked for is shown, and indexes have it of
// their bucket.
func TestEncryptionKept(t *testing.T) {
	s := start(t, func(o *Options) { anonymousAdmin(o); o.AcceptKMS = true })
	kms := `{"sseType":"aws:kms","kmsKeyArn":"arn:aws:kms:us-east-1:000000000000:key/x"}`
	s.must("CreateVectorBucket", `{"vectorBucketName":"media","encryptionConfiguration":`+kms+`}`)
	shape := `"vectorBucketName":"media","dataType":"float32","dimension":4,"distanceMetric":"cosine"`
	s.must("CreateIndex", `{"indexName":"inherits",`+shape+`}`)
	s.must("CreateIndex", `{"indexName":"own",`+shape+`,"encryptionConfiguration":{"sseType":"AES256"}}`)
	for body, want := range map[string]string{
		s.must("GetVectorBucket", `{"vectorBucketName":"media"}`):                 kms,
		s.must("GetIndex", `{"vectorBucketName":"media","indexName":"inherits"}`): kms,
		s.must("GetIndex", `{"vectorBucketName":"media","indexName":"own"}`):      `{"sseType":"AES256"}`,
	} {
		if !strings.Contains(body, `"encryptionConfiguration":`+want) {
			t.Errorf("%s does not hold %s", body, want)
		}
	}
}
