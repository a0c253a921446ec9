package sigv4

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// target splits the request target as it came over the wire into path and query.
func target(r *http.Request) (path, query string) {
	raw := r.RequestURI
	if raw == "" { // not from a server
		raw = r.URL.RequestURI()
	}
	if !strings.HasPrefix(raw, "/") { // absolute form: http://host/path
		if _, rest, ok := strings.Cut(raw, "://"); ok {
			if i := strings.IndexAny(rest, "/?"); i >= 0 {
				raw = rest[i:]
			} else {
				raw = "/"
			}
		}
	}
	path, query, _ = strings.Cut(raw, "?")
	return path, query
}

const upperHex = "0123456789ABCDEF"

// escape appends s with everything but unreserved characters, and slashes where they
// are kept, percent-encoded.
func escape(b []byte, s string, slash bool) []byte {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == '~', slash && c == '/':
			b = append(b, c)
		default:
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return b
}

// canonicalPath escapes the path of the wire once more.
func canonicalPath(b []byte, path string) []byte {
	if path == "" {
		path = "/"
	}
	return escape(b, path, true)
}

// canonicalQuery decodes the pairs as a handler will, so that what is verified is
// what is used, and writes them sorted and strictly encoded.
func canonicalQuery(b []byte, query string) ([]byte, bool) {
	if query == "" {
		return b, true
	}
	var pairs []string
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name, err1 := url.QueryUnescape(name)
		value, err2 := url.QueryUnescape(value)
		if err1 != nil || err2 != nil {
			return nil, false
		}
		pair := append(escape(nil, name, false), '=')
		pairs = append(pairs, string(escape(pair, value, false)))
	}
	// By name, then value: "=" sorts before all that can stand in a name but "-" and ".".
	slices.SortFunc(pairs, func(x, y string) int {
		xn, xv, _ := strings.Cut(x, "=")
		yn, yv, _ := strings.Cut(y, "=")
		if c := strings.Compare(xn, yn); c != 0 {
			return c
		}
		return strings.Compare(xv, yv)
	})
	return append(b, strings.Join(pairs, "&")...), true
}

// canonicalHeaders writes "name:value\n" for each signed header.
func canonicalHeaders(b []byte, r *http.Request, names []string) []byte {
	for _, name := range names {
		b = append(append(b, name...), ':')
		for i, value := range headerValues(r, name) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendTrimmed(b, value)
		}
		b = append(b, '\n')
	}
	return b
}

// headerValues finds a header where net/http has put it.
func headerValues(r *http.Request, name string) []string {
	values := r.Header[http.CanonicalHeaderKey(name)]
	switch {
	case name == "host":
		return []string{r.Host}
	case name == "content-length" && values == nil && r.ContentLength >= 0:
		return []string{strconv.FormatInt(r.ContentLength, 10)}
	case name == "transfer-encoding" && values == nil:
		return r.TransferEncoding
	}
	return values
}

// appendTrimmed appends a value without space around it and with single spaces in it.
func appendTrimmed(b []byte, value string) []byte {
	blank := false
	for _, c := range []byte(strings.Trim(value, " \t")) {
		if c == ' ' && blank {
			continue
		}
		blank = c == ' '
		b = append(b, c)
	}
	return b
}
