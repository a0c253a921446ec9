package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const (
	ann    = "arn:aws:iam::000000000000:user/ann"
	bucket = "arn:aws:s3vectors:us-east-1:000000000000:bucket/media"
)

func asked(who, action, resource string, values map[string][]string) *Request {
	return &Request{Principal: Principal{ARN: who, Account: "000000000000", Anonymous: who == ""}, Action: "s3vectors:" + action, Resource: resource,
		Values: func(key string) []string { return values[key] }}
}

func TestDecide(t *testing.T) {
	const all = `"Principal":"*","Action":"s3vectors:*","Resource":"*"`
	for name, c := range map[string]struct {
		statement string
		r         *Request
		want      Decision
	}{
		"allow":                 {`{"Effect":"Allow",` + all + `}`, asked(ann, "GetIndex", bucket, nil), Allowed},
		"deny":                  {`{"Effect":"Deny",` + all + `}`, asked(ann, "GetIndex", bucket, nil), Denied},
		"deny wins":             {`[{"Effect":"Allow",` + all + `},{"Effect":"Deny",` + all + `}]`, asked(ann, "GetIndex", bucket, nil), Denied},
		"anonymous allow":       {`{"Effect":"Allow",` + all + `}`, asked("", "GetIndex", bucket, nil), Silent},
		"anonymous deny":        {`{"Effect":"Deny",` + all + `}`, asked("", "GetIndex", bucket, nil), Denied},
		"user":                  {`{"Effect":"Allow","Principal":{"AWS":"` + ann + `"},"Action":"*","Resource":"*"}`, asked(ann, "GetIndex", bucket, nil), Allowed},
		"other user":            {`{"Effect":"Allow","Principal":{"AWS":["` + ann + `x"]},"Action":"*","Resource":"*"}`, asked(ann, "GetIndex", bucket, nil), Silent},
		"account":               {`{"Effect":"Allow","Principal":{"AWS":"000000000000"},"Action":"*","Resource":"*"}`, asked(ann, "GetIndex", bucket, nil), Allowed},
		"root":                  {`{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::000000000000:root"},"Action":"*","Resource":"*"}`, asked(ann, "GetIndex", bucket, nil), Allowed},
		"service":               {`{"Effect":"Allow","Principal":{"Service":"indexing.s3vectors.amazonaws.com"},"Action":"*","Resource":"*"}`, asked(ann, "GetIndex", bucket, nil), Silent},
		"all but":               {`{"Effect":"Deny","NotPrincipal":{"AWS":"` + ann + `"},"Action":"*","Resource":"*"}`, asked(ann, "GetIndex", bucket, nil), Silent},
		"action in any case":    {`{"Effect":"Allow","Principal":"*","Action":"S3VECTORS:getINDEX","Resource":"*"}`, asked(ann, "GetIndex", bucket, nil), Allowed},
		"resource by case":      {`{"Effect":"Allow","Principal":"*","Action":"*","Resource":"arn:aws:s3vectors:us-east-1:000000000000:bucket/MEDIA"}`, asked(ann, "GetIndex", bucket, nil), Silent},
		"index below":           {`{"Effect":"Allow","Principal":"*","Action":"*","Resource":"` + bucket + `/*"}`, asked(ann, "GetIndex", bucket+"/index/i", nil), Allowed},
		"bucket is not below":   {`{"Effect":"Allow","Principal":"*","Action":"*","Resource":"` + bucket + `/*"}`, asked(ann, "GetIndex", bucket, nil), Silent},
		"condition":             {`{"Effect":"Allow",` + all + `,"Condition":{"StringEquals":{"S3Vectors:sseType":"AES256"}}}`, asked(ann, "CreateIndex", bucket, map[string][]string{"s3vectors:ssetype": {"AES256"}}), Allowed},
		"condition fails":       {`{"Effect":"Allow",` + all + `,"Condition":{"StringEquals":{"s3vectors:sseType":"aws:kms"}}}`, asked(ann, "CreateIndex", bucket, map[string][]string{"s3vectors:ssetype": {"AES256"}}), Silent},
		"missing key":           {`{"Effect":"Deny",` + all + `,"Condition":{"StringNotEquals":{"aws:RequestTag/team":"x"}}}`, asked(ann, "TagResource", bucket, nil), Denied},
		"missing key if exists": {`{"Effect":"Allow",` + all + `,"Condition":{"StringEqualsIfExists":{"aws:RequestTag/team":"x"}}}`, asked(ann, "TagResource", bucket, nil), Allowed},
		"only these tags":       {`{"Effect":"Allow",` + all + `,"Condition":{"ForAllValues:StringEquals":{"aws:TagKeys":["a","b"]}}}`, asked(ann, "TagResource", bucket, map[string][]string{"aws:tagkeys": {"a", "c"}}), Silent},
		"bool":                  {`{"Effect":"Deny",` + all + `,"Condition":{"Bool":{"aws:SecureTransport":false}}}`, asked(ann, "GetIndex", bucket, map[string][]string{"aws:securetransport": {"false"}}), Denied},
		"number":                {`{"Effect":"Allow",` + all + `,"Condition":{"NumericGreaterThanEquals":{"aws:EpochTime":[10]}}}`, asked(ann, "GetIndex", bucket, map[string][]string{"aws:epochtime": {"10"}}), Allowed},
		"date":                  {`{"Effect":"Allow",` + all + `,"Condition":{"DateLessThan":{"aws:CurrentTime":"2027-01-01"}}}`, asked(ann, "GetIndex", bucket, map[string][]string{"aws:currenttime": {"2026-12-31T23:59:59Z"}}), Allowed},
		"mapped address":        {`{"Effect":"Allow",` + all + `,"Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.1"}}}`, asked(ann, "GetIndex", bucket, map[string][]string{"aws:sourceip": {"::ffff:10.0.0.1"}}), Allowed},
		"own index":             {`{"Effect":"Allow","Principal":"*","Action":"*","Resource":"` + bucket + `/index/${aws:username}"}`, asked(ann, "GetIndex", bucket+"/index/ann", map[string][]string{"aws:username": {"ann"}}), Allowed},
		"star in a variable":    {`{"Effect":"Allow","Principal":"*","Action":"*","Resource":"` + bucket + `/index/${aws:username}"}`, asked(ann, "GetIndex", bucket+"/index/ann", map[string][]string{"aws:username": {"*"}}), Silent},
		"fallback":              {`{"Effect":"Allow","Principal":"*","Action":"*","Resource":"` + bucket + `/index/${aws:username, 'any'}"}`, asked(ann, "GetIndex", bucket+"/index/any", nil), Allowed},
	} {
		p, err := Parse([]byte(`{"Version":"2012-10-17","Id":"x","Statement":` + c.statement + `}`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := p.Decide(c.r); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// TestOldVersion: the language of 2008 has no variables.
func TestOldVersion(t *testing.T) {
	p, err := Parse([]byte(`{"Statement":{"Effect":"Allow","Principal":"*","Action":"*","Resource":"arn:${aws:username}"},"Version":"2008-10-17"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Decide(asked(ann, "GetIndex", "arn:${aws:username}", nil)); got != Allowed {
		t.Errorf("got %d", got)
	}
}

func TestParseRefused(t *testing.T) {
	base := map[string]string{"Effect": `"Allow"`, "Principal": `"*"`, "Action": `"s3vectors:*"`, "Resource": `"*"`}
	with := func(name, value string) string {
		var parts []string
		for k, v := range base {
			if k == name || "Not"+k == name {
				continue
			}
			parts = append(parts, fmt.Sprintf("%q:%s", k, v))
		}
		if value != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", name, value))
		}
		return `{"Version":"2012-10-17","Statement":[{` + strings.Join(parts, ",") + `}]}`
	}
	texts := []string{
		"", "[]", "null", "{}", `{"Version":"2012-10-17"}`, `{"Version":"2012-10-17","Statement":[]}`, `{"Version":"2012-10-17","Statement":{}}`,
		`{"Version":"2013-01-01","Statement":[]}`, with("Sid", `"x"`) + "x", strings.Replace(with("Sid", `"x"`), "{", `{"Extra":1,`, 1),
		strings.Replace(with("Sid", `"x"`), "{", `{"Version":"2012-10-17",`, 1), with("Sid", `"`+strings.Repeat("x", MaxBytes)+`"`),
		with("Effect", `"Permit"`), with("Effect", `1`), with("Effect", ""), with("Principal", ""), with("Action", ""), with("Resource", ""),
		with("Principal", `"me"`), with("Principal", `{"AWS":"me"}`), with("Principal", `{"AWS":[]}`), with("Principal", `{"Martian":"x"}`), with("Principal", `{"AWS":"arn:aws:iam::000000000000:user/*"}`),
		with("Action", `"GetIndex"`), with("Action", `[]`), with("Action", `[1]`), with("Resource", `"media"`), with("Resource", `"arn:${x"`), with("Resource", `"arn:${}"`),
		with("Colour", `"red"`), with("NotEffect", `"Allow"`), with("Condition", `{"StringEqual":{"a":"b"}}`), with("Condition", `{"Bool":{"a":"maybe"}}`),
		with("Condition", `{"NumericEquals":{"a":"x"}}`), with("Condition", `{"DateEquals":{"a":"x"}}`), with("Condition", `{"IpAddress":{"a":"10.0.0"}}`),
		with("Condition", `{"NullIfExists":{"a":"true"}}`), with("Condition", `{"BinaryEquals":{"a":"eA=="}}`), with("Condition", `{"StringEquals":{"a":null}}`), with("Condition", `{"StringEquals":{"a":"x","a":"y"}}`),
		strings.Replace(with("Sid", `"x"`), `"Sid"`, `"NotAction":"*","Sid"`, 1),
	}
	for _, text := range texts {
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.200s: got %v, want ErrInvalid", text, err)
		}
	}
	if _, err := Parse([]byte(with("Sid", `"x"`))); err != nil {
		t.Errorf("the policy that the others spoil: %v", err)
	}
}

// TestHardPattern: a pattern of many stars takes no time beyond that of a test.
func TestHardPattern(t *testing.T) {
	p, _ := compile(strings.Repeat("*a", 5000)+"b", true, false)
	if p.match(strings.Repeat("a", 20000), &Request{}) {
		t.Error("it matches")
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Principal":"*","Action":"s3vectors:*","Resource":"arn:aws:s3vectors:::x/${aws:username}","Condition":{"ForAnyValue:StringLike":{"aws:TagKeys":["a*"]},"Null":{"x":true}}}]}`), "GetIndex", "arn:x", "a")
	f.Add([]byte(`{"Version":"2008-10-17","Statement":{"Effect":"Allow","NotPrincipal":{"AWS":"000000000000"},"NotAction":"*","NotResource":"arn:?"}}`), "PutVectors", "arn:y", "b")
	f.Fuzz(func(t *testing.T, text []byte, action, resource, value string) {
		p, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		r := asked(ann, action, resource, nil)
		r.Values = func(string) []string { return []string{value} }
		first := p.Decide(r)
		if again := p.Decide(r); again != first {
			t.Fatalf("%d, then %d", first, again)
		}
		// Who is not known never gains from a policy.
		r.Principal = Principal{Anonymous: true}
		if p.Decide(r) == Allowed {
			t.Fatalf("%s allows everybody", text)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	p, err := Parse([]byte(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"` + ann + `"},"Action":["s3vectors:Get*","s3vectors:QueryVectors"],"Resource":"` + bucket + `/*"}]}`))
	if err != nil {
		b.Fatal(err)
	}
	r := asked(ann, "QueryVectors", bucket+"/index/i", nil)
	for b.Loop() {
		if p.Decide(r) != Allowed {
			b.Fatal("not allowed")
		}
	}
}
