package sigv4

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"pgregory.net/rapid"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const (
	accessKey = "AKIDEXAMPLE"
	secret    = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

func verifier() *Verifier {
	return &Verifier{
		Service: "s3vectors", Skew: 5 * time.Minute, Now: func() time.Time { return now },
		Lookup: func(id string) (Key, bool) {
			switch id {
			case accessKey:
				return Key{Secret: secret}, true
			case "SESSION":
				return Key{Secret: secret, SessionToken: "token/+=", Expires: now.Add(time.Minute)}, true
			case "OLD":
				return Key{Secret: secret, SessionToken: "token", Expires: now}, true
			}
			return Key{}, false
		},
	}
}

// overWire is the request as a server sees it.
func overWire(t fatal, r *http.Request) *http.Request {
	var seen *http.Request
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, got *http.Request) {
		body, _ := io.ReadAll(got.Body)
		seen = got.Clone(context.Background())
		seen.Body = io.NopCloser(strings.NewReader(string(body)))
	}))
	server.Start()
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = r.URL.Host // keep what was signed
	r.URL.Host = u.Host
	r.URL.Scheme = "http"
	res, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return seen
}

type fatal interface{ Fatal(...any) }

// signed is a request that the AWS signer has signed.
func signed(t fatal, method, target, body, key, token string, at time.Time) *http.Request {
	r, err := http.NewRequest(method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	hash := sha256.Sum256([]byte(body))
	credentials := aws.Credentials{AccessKeyID: key, SecretAccessKey: secret, SessionToken: token}
	if err := v4.NewSigner().SignHTTP(context.Background(), credentials, r, hex.EncodeToString(hash[:]), "s3vectors", "us-east-1", at); err != nil {
		t.Fatal(err)
	}
	return r
}

// verify runs both steps.
func verify(v *Verifier, r *http.Request, body string) error {
	p, err := v.Begin(r)
	if err != nil {
		return err
	}
	return p.Finish(sha256.Sum256([]byte(body)))
}

func TestSigned(t *testing.T) {
	arn := "arn%3Aaws%3As3vectors%3Aus-east-1%3A000000000000%3Abucket%2Fb%2Findex%2Fi"
	for _, c := range []struct{ method, target, body string }{
		{"POST", "https://s3vectors.us-east-1.api.aws/CreateIndex", `{"a":1}`},
		{"POST", "http://localhost:7701/base/ListVectorBuckets", "{}"},
		{"GET", "http://localhost:7701/tags/" + arn, ""},
		{"DELETE", "http://localhost:7701/tags/" + arn + "?tagKeys=a%20b&tagKeys=c%2Fd&tagKeys=%C3%A9&tagKeys=A", ""},
		{"DELETE", "http://localhost:7701/tags/" + arn + "?tagKeys=b-c&tagKeys=b&x=1&tagKeys", ""},
	} {
		r := overWire(t, signed(t, c.method, c.target, c.body, accessKey, "", now))
		if err := verify(verifier(), r, c.body); err != nil {
			t.Errorf("%s %s: %v", c.method, c.target, err)
		}
		if err := verify(verifier(), r, c.body+" "); reason(err) != BadSignature {
			t.Errorf("%s %s with another body: %v", c.method, c.target, err)
		}
	}
}

func reason(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return 0
}

func TestRefused(t *testing.T) {
	post := func(key, token string, at time.Time) *http.Request {
		return overWire(t, signed(t, "POST", "http://h:1/PutVectors", "{}", key, token, at))
	}
	change := func(f func(*http.Request)) *http.Request {
		r := post(accessKey, "", now)
		f(r)
		return r
	}
	replace := func(from, to string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), from, to, 1))
		}
	}
	for name, c := range map[string]struct {
		r    *http.Request
		want Reason
	}{
		"fine":                {post(accessKey, "", now), 0},
		"fine with a session": {post("SESSION", "token/+=", now), 0},
		"just in time":        {post(accessKey, "", now.Add(-5*time.Minute)), 0},
		"just early enough":   {post(accessKey, "", now.Add(5*time.Minute)), 0},
		"too late":            {post(accessKey, "", now.Add(-5*time.Minute-time.Second)), BadSignature},
		"too early":           {post(accessKey, "", now.Add(5*time.Minute+time.Second)), BadSignature},
		"unknown key":         {post("NOBODY", "", now), UnknownKey},
		"token of nobody":     {post(accessKey, "made up", now), UnknownKey},
		"no token":            {post("SESSION", "", now), UnknownKey},
		"expired":             {post("OLD", "token", now), Expired},
		"none":                {change(func(r *http.Request) { r.Header.Del("Authorization") }), Missing},
		"basic":               {change(func(r *http.Request) { r.Header.Set("Authorization", "Basic xyz") }), Missing},
		"two":                 {change(func(r *http.Request) { r.Header.Add("Authorization", r.Header.Get("Authorization")) }), Incomplete},
		"no signature":        {change(replace("Signature=", "Sig=")), Incomplete},
		"short signature":     {change(func(r *http.Request) { h := r.Header["Authorization"]; h[0] = h[0][:len(h[0])-2] }), Incomplete},
		"other service":       {change(replace("/s3vectors/", "/s3/")), BadSignature},
		"other region":        {change(replace("/us-east-1/", "/us-east-2/")), BadSignature},
		"other day":           {change(replace("/20261130/", "/20261129/")), BadSignature},
		"host unsigned":       {change(replace(";host;", ";")), BadSignature},
		"date unsigned":       {change(replace(";x-amz-date", "")), BadSignature},
		"no date":             {change(func(r *http.Request) { r.Header.Del("X-Amz-Date") }), Incomplete},
		"strange date":        {change(func(r *http.Request) { r.Header.Set("X-Amz-Date", "yesterday") }), Incomplete},
		"other host":          {change(func(r *http.Request) { r.Host = "evil:1" }), BadSignature},
		"other path":          {change(func(r *http.Request) { r.RequestURI = "/DeleteVectors" }), BadSignature},
		"other method":        {change(func(r *http.Request) { r.Method = "PUT" }), BadSignature},
		"more query":          {change(func(r *http.Request) { r.RequestURI += "?x=1" }), BadSignature},
		"bad query":           {change(func(r *http.Request) { r.RequestURI += "?x=%zz" }), BadSignature},
		"other type":          {change(func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }), BadSignature},
		"false hash":          {change(func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", strings.Repeat("0", 64)) }), BadSignature},
		"unsigned payload":    {change(func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD") }), BadSignature},
	} {
		err := verify(verifier(), c.r, "{}")
		if reason(err) != c.want || (c.want == 0) != (err == nil) {
			t.Errorf("%s: got %v, want reason %d", name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "AWS4")) {
			t.Errorf("%s: the error tells too much: %v", name, err)
		}
	}
	strict := verifier()
	strict.Region = "eu-central-1"
	if err := verify(strict, post(accessKey, "", now), "{}"); reason(err) != BadSignature {
		t.Errorf("a scope of another region: %v", err)
	}
}

// TestHashInHeader: a client that states the payload hash is refused before its body
// is read, and must not lie.
func TestHashInHeader(t *testing.T) {
	body := `{"vectors":[]}`
	hash := sha256.Sum256([]byte(body))
	sign := func(stated string) *http.Request {
		r, _ := http.NewRequest("POST", "http://h:1/PutVectors", strings.NewReader(body))
		r.Header.Set("X-Amz-Content-Sha256", stated)
		if err := v4.NewSigner().SignHTTP(context.Background(), aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secret}, r, stated, "s3vectors", "us-east-1", now); err != nil {
			t.Fatal(err)
		}
		return overWire(t, r)
	}
	stated := hex.EncodeToString(hash[:])
	p, err := verifier().Begin(sign(stated))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(hash); err != nil {
		t.Error(err)
	}
	if err := p.Finish(sha256.Sum256(nil)); reason(err) != BadSignature {
		t.Errorf("another body: %v", err)
	}
	forged := sign(stated)
	forged.Header.Set("X-Amz-Content-Sha256", strings.Repeat("a", 64))
	if _, err := verifier().Begin(forged); reason(err) != BadSignature {
		t.Errorf("a forged hash passed the head: %v", err)
	}
	if err := verify(verifier(), sign("UNSIGNED-PAYLOAD"), body); reason(err) != BadSignature {
		t.Errorf("an unsigned payload: %v", err)
	}
}

// TestAnySigned: whatever the AWS signer signs verifies, and one change of a byte of
// the body does not.
func TestAnySigned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := url.URL{Scheme: "http", Host: "localhost:9", Path: "/tags/" + rapid.String().Draw(t, "path")}
		u.RawPath = "/tags/" + strings.ReplaceAll(url.QueryEscape(strings.TrimPrefix(u.Path, "/tags/")), "+", "%20")
		query := url.Values{}
		for range rapid.IntRange(0, 4).Draw(t, "pairs") {
			query.Add(rapid.StringN(1, 8, 16).Draw(t, "name"), rapid.String().Draw(t, "value"))
		}
		u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
		body := rapid.String().Draw(t, "body")
		r := signed(t, "POST", u.String(), body, accessKey, "", now)
		r.RequestURI = r.URL.RequestURI()
		if err := verify(verifier(), r, body); err != nil {
			t.Fatalf("%s: %v", r.RequestURI, err)
		}
		if err := verify(verifier(), r, body+"x"); reason(err) != BadSignature {
			t.Fatalf("another body: %v", err)
		}
	})
}

func TestService(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "Basic x": "", algorithm: "",
		algorithm + " Credential=A/20261130/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0":         "s3",
		algorithm + " SignedHeaders=host,Credential=A/B/20261130/us-east-1/s3vectors/aws4_request,Signature=zz": "s3vectors",
		algorithm + " Credential=A/s3": "",
	} {
		if got := Service(header); got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
	}
}

func FuzzAuthorization(f *testing.F) {
	f.Add(algorithm + " Credential=A/20261130/us-east-1/s3vectors/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=" + strings.Repeat("0f", 32))
	f.Add(algorithm + " Credential=A/B/1/2/3/aws4_request,SignedHeaders=a,Signature=zz")
	f.Add("Basic x")
	f.Fuzz(func(t *testing.T, header string) {
		a, err := ParseAuthorization(header)
		if err != nil {
			if r := reason(err); r != Missing && r != Incomplete {
				t.Fatalf("%q: %v", header, err)
			}
		} else {
			if a.AccessKeyID == "" || len(a.Date) != 8 || a.Region == "" || a.Service == "" || len(a.SignedHeaders) == 0 {
				t.Fatalf("%q: %+v", header, a)
			}
		}
		// No header makes a request pass, or the verifier fail otherwise.
		r := httptest.NewRequest("POST", "http://h/PutVectors", nil)
		r.Header.Set("X-Amz-Date", now.Format(timeFormat))
		r.Header["Authorization"] = []string{header}
		if err := verify(verifier(), r, ""); reason(err) == 0 {
			t.Fatalf("%q: %v", header, err)
		}
	})
}
