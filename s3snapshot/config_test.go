package s3snapshot

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Config{
		"s3://bucket":                           {Bucket: "bucket"},
		"s3://bucket/":                          {Bucket: "bucket"},
		"s3://bucket/a/b/":                      {Bucket: "bucket", Prefix: "a/b"},
		"s3://My_bucket.x-1/a%20b%3F":           {Bucket: "My_bucket.x-1", Prefix: "a b?"},
		"s3://bucket/p?region=eu-central-1":     {Bucket: "bucket", Prefix: "p", Region: "eu-central-1"},
		"s3://b?path-style=1":                   {Bucket: "b", PathStyle: true},
		"s3://b?endpoint=http://localhost:9000": {Bucket: "b", Endpoint: "http://localhost:9000", PathStyle: true},
		"s3://b?endpoint=https%3A%2F%2Fs3.example.com&path-style=0":            {Bucket: "b", Endpoint: "https://s3.example.com"},
		"s3://b/p?endpoint=http://127.0.0.1:9000&region=x&path-style=true":     {Bucket: "b", Prefix: "p", Endpoint: "http://127.0.0.1:9000", Region: "x", PathStyle: true},
		"s3://b/p?endpoint=http://[::1]:9000/under/a/path&region=&path-style=": {},
	} {
		got, err := Parse(text)
		if want == (Config{}) {
			if !errors.Is(err, ErrConfig) {
				t.Errorf("%s: error %v, want %v", text, err, ErrConfig)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", text, got, err, want)
		}
		if again, err := Parse(got.String()); err != nil || again != got {
			t.Errorf("%s comes back from %s as %+v, %v", text, got, again, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "bucket", "http://bucket", "s3:bucket", "s3://", "s3:///p", "s3://bucket:80", "s3://-b", "s3://b/a//c", "s3://b/../c",
		"s3://b/a/./c", "s3://b#x", "s3://b?other=1", "s3://b?region=a&region=b", "s3://b?path-style=maybe", "s3://b?%zz",
		"s3://b?endpoint=localhost:9000", "s3://b?endpoint=ftp://x", "s3://b?endpoint=http://", "s3://b?endpoint=http://:80",
		"s3://b?endpoint=http://x%3Fa=b", "s3://b?endpoint=%00",
		"s3://key:" + testSecret + "@bucket", "s3://" + testSecret + "@bucket", "s3://key:" + testSecret + "%zz@bucket",
		"s3://b?endpoint=http://key:" + testSecret + "@localhost", "s3://b?endpoint=http://localhost:" + testSecret,
	} {
		_, err := Parse(text)
		if !errors.Is(err, ErrConfig) {
			t.Errorf("%q: error %v, want %v", text, err, ErrConfig)
			continue
		}
		if strings.Contains(err.Error(), testSecret) {
			t.Errorf("a secret is in %q", err)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{Bucket: "b", AccessKey: "k", SecretKey: "s", SessionToken: "t", Attempts: 100}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Config){
		"no access key": func(c *Config) { c.AccessKey = "" },
		"no secret key": func(c *Config) { c.SecretKey = "" },
		"only a token":  func(c *Config) { c.AccessKey, c.SecretKey = "", "" },
		"attempts":      func(c *Config) { c.Attempts = 101 },
		"attempts-":     func(c *Config) { c.Attempts = -1 },
		"prefix":        func(c *Config) { c.Prefix = "/p" },
		"endpoint":      func(c *Config) { c.Endpoint = "http://u:" + testSecret + "@h" },
	} {
		c := good
		change(&c)
		if err := c.check(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: error %v, want %v", name, err, ErrConfig)
		}
		if strings.Contains(c.String(), testSecret) {
			t.Errorf("%s: a secret is in %s", name, c)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("s3://bucket/prefix?endpoint=http://localhost:9000&region=x&path-style=0")
	f.Add("s3://b/%41?region=%20")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrConfig) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if again, err := Parse(c.String()); err != nil || again.Bucket != c.Bucket || again.Prefix != c.Prefix ||
			again.Region != c.Region || again.PathStyle != c.PathStyle {
			t.Fatalf("%q comes back from %s as %+v, %v", text, c, again, err)
		}
	})
}
