package sigv4

import (
	"encoding/hex"
	"slices"
	"strings"
)

const (
	algorithm  = "AWS4-HMAC-SHA256"
	terminator = "aws4_request"
	// maxHeader bounds an Authorization header; those of the SDKs have 250 bytes.
	maxHeader = 4096
)

// Authorization is a parsed Authorization header.
type Authorization struct {
	AccessKeyID   string
	Date          string // yyyymmdd
	Region        string
	Service       string
	SignedHeaders []string // lower case, in order, each once
	signature     [32]byte
}

// scope is the credential scope.
func (a *Authorization) scope() string {
	return a.Date + "/" + a.Region + "/" + a.Service + "/" + terminator
}

// ParseAuthorization parses the value of an Authorization header. The error's reason
// is Missing for other ways to authenticate, else Incomplete.
func ParseAuthorization(header string) (*Authorization, error) {
	rest, ok := strings.CutPrefix(header, algorithm)
	if !ok {
		return nil, refuse(Missing, "Missing Authentication Token")
	}
	if len(header) > maxHeader || rest == "" || rest[0] != ' ' && rest[0] != '\t' {
		return nil, incomplete("a header of this form")
	}
	var a Authorization
	seen := map[string]bool{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || seen[name] || value == "" {
			return nil, incomplete("each of its parts once, as name=value")
		}
		seen[name] = true
		switch name {
		case "Credential":
			ok = a.credential(value)
		case "SignedHeaders":
			ok = a.headers(value)
		case "Signature":
			n, err := hex.Decode(a.signature[:], []byte(value[:min(len(value), 2*len(a.signature))]))
			ok = err == nil && n == len(a.signature) && len(value) == 2*n
		}
		if !ok {
			return nil, incomplete("a valid '" + name + "'")
		}
	}
	for _, name := range []string{"Credential", "SignedHeaders", "Signature"} {
		if !seen[name] {
			return nil, incomplete("'" + name + "' parameter")
		}
	}
	return &a, nil
}

func incomplete(what string) *Error {
	return refuse(Incomplete, "Authorization header requires "+what+".")
}

// credential takes "key/date/region/service/aws4_request". The key may hold slashes.
func (a *Authorization) credential(value string) bool {
	parts := strings.Split(value, "/")
	n := len(parts)
	if n < 5 || parts[n-1] != terminator || slices.Contains(parts, "") {
		return false
	}
	a.AccessKeyID = strings.Join(parts[:n-4], "/")
	a.Date, a.Region, a.Service = parts[n-4], parts[n-3], parts[n-2]
	return len(a.Date) == 8
}

// headers takes "a;b;c": lower case and sorted, as clients must send it, for there is
// no other order in which they can have been signed.
func (a *Authorization) headers(value string) bool {
	a.SignedHeaders = strings.Split(value, ";")
	for i, name := range a.SignedHeaders {
		if name == "" || strings.ToLower(name) != name || i > 0 && a.SignedHeaders[i-1] >= name {
			return false
		}
	}
	return true
}

// Service returns the service of the credential scope of an Authorization header; ""
// when there is none. It checks nothing: it serves to choose among handlers.
func Service(header string) string {
	if len(header) > maxHeader || !strings.HasPrefix(header, algorithm) {
		return ""
	}
	_, rest, ok := strings.Cut(header, "Credential=")
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, ",")
	parts := strings.Split(strings.TrimSpace(value), "/")
	if len(parts) < 5 {
		return ""
	}
	return parts[len(parts)-2]
}
