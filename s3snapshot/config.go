package s3snapshot

import (
	"io/fs"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	defaultAttempts   = 5
	maxAttempts       = 100
	defaultMaxBackoff = 20 * time.Second
	// stall is how long a connection may deliver nothing.
	stall = time.Minute
	// regionOfOthers is what servers that know no regions are asked for.
	regionOfOthers = "us-east-1"
)

// Config says where the object store is and how to talk to it.
type Config struct {
	Bucket string // must exist
	Prefix string // of all names, without slashes at its ends; "" for none
	// Endpoint is the server, http or https and no credentials in it; "" for
	// that of AWS in the region.
	Endpoint string
	Region   string // "" for that of the environment
	// PathStyle puts the bucket into the path of requests, not into the name of
	// the host. Most servers other than AWS want that.
	PathStyle bool

	AccessKey    string `json:"-"` // "" for the credentials of the environment
	SecretKey    string `json:"-"` // with AccessKey
	SessionToken string `json:"-"` // of temporary credentials, may be ""

	// Attempts is how often a request is tried, 1 .. 100; 0 means 5.
	Attempts int

	maxBackoff time.Duration // longest pause between attempts; 0 for the default
}

var bucketName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$`)

// Parse returns the Config of a URL s3://bucket/prefix. It may have the
// parameters endpoint, region and path-style (1 or 0; 1 when there is an
// endpoint). Credentials do not belong in it. Errors are ErrConfig, wrapped.
func Parse(text string) (Config, error) {
	// The errors of package url quote what they were given, which may hold a
	// secret that should not be there.
	u, err := url.Parse(text)
	if err != nil {
		return Config{}, invalid("not a URL")
	}
	switch {
	case u.Scheme != "s3" || u.Opaque != "":
		return Config{}, invalid("the URL does not start with s3://")
	case u.User != nil:
		return Config{}, invalid("credentials do not belong in the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case u.Fragment != "":
		return Config{}, invalid("the URL has a part after #")
	}
	c := Config{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Config{}, invalid("the parameters of the URL cannot be read")
	}
	for key, values := range query {
		if len(values) > 1 {
			return Config{}, invalid("parameter %q is there %d times", key, len(values))
		}
		switch value := values[0]; key {
		case "endpoint":
			c.Endpoint = value
		case "region":
			c.Region = value
		case "path-style":
		default:
			return Config{}, invalid("parameter %q: want endpoint, region or path-style", key)
		}
	}
	c.PathStyle = c.Endpoint != ""
	if query.Has("path-style") {
		if c.PathStyle, err = strconv.ParseBool(query.Get("path-style")); err != nil {
			return Config{}, invalid("path-style must be 1 or 0")
		}
	}
	return c, c.check()
}

// check returns what is wrong with a Config.
func (c Config) check() error {
	switch {
	case !bucketName.MatchString(c.Bucket):
		return invalid("%q is no name of a bucket", c.Bucket)
	case c.Prefix != "" && !validName(c.Prefix):
		return invalid("prefix %q is not a clean path", c.Prefix)
	case (c.AccessKey == "") != (c.SecretKey == ""), c.AccessKey == "" && c.SessionToken != "":
		return invalid("access key and secret key come together")
	case c.Attempts < 0 || c.Attempts > maxAttempts:
		return invalid("%d attempts, want 1 .. %d", c.Attempts, maxAttempts)
	}
	if c.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return invalid("the endpoint must be http://host:port or https://host:port, without credentials")
	}
	return nil
}

// String returns the URL of c, from which Parse makes c again, without
// credentials.
func (c Config) String() string {
	u := url.URL{Scheme: "s3", Host: c.Bucket, Path: "/" + c.Prefix}
	query := url.Values{}
	if c.Endpoint != "" {
		query.Set("endpoint", "(invalid)")
		if endpoint, err := url.Parse(c.Endpoint); err == nil {
			endpoint.User = nil
			query.Set("endpoint", endpoint.String())
		}
	}
	if c.Region != "" {
		query.Set("region", c.Region)
	}
	if c.PathStyle != (c.Endpoint != "") {
		query.Set("path-style", map[bool]string{true: "1", false: "0"}[c.PathStyle])
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// GoString keeps credentials out of %#v, too.
func (c Config) GoString() string { return c.String() }

// validName tells whether a name means the same to every server and proxy.
func validName(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "\\\x00")
}
