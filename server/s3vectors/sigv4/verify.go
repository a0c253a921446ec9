package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Key is what the server knows of an access key.
type Key struct {
	Secret string
	// SessionToken, where not empty, must come with every request.
	SessionToken string
	// Expires, where not zero, is when the key stops to be good.
	Expires time.Time
}

// MaxSkew is the largest tolerance of clocks that makes sense.
const MaxSkew = 15 * time.Minute

// Verifier checks signatures.
type Verifier struct {
	Service string // that scopes must name
	Region  string // that scopes must name; "" takes any
	// Skew is how far a client's clock may be off, up to MaxSkew.
	Skew time.Duration
	// Lookup finds an access key. It must be safe for concurrent use.
	Lookup func(accessKeyID string) (Key, bool)
	Now    func() time.Time
}

// Pending is a request whose head is in order.
type Pending struct {
	Authorization
	canonical []byte // all but the payload hash
	time      string // ISO 8601 basic, as signed
	secret    string
	claimed   string // payload hash that the client states, "" for none
}

// timeFormat is ISO 8601 basic.
const timeFormat = "20060102T150405Z"

// Begin checks the head of a request. Errors are *Error.
func (v *Verifier) Begin(r *http.Request) (*Pending, error) {
	values := r.Header["Authorization"]
	switch {
	case len(values) == 0:
		return nil, refuse(Missing, "Missing Authentication Token")
	case len(values) > 1:
		return nil, incomplete("one value only")
	}
	a, err := ParseAuthorization(values[0])
	if err != nil {
		return nil, err
	}
	p := &Pending{Authorization: *a}
	if err := v.scope(r, p); err != nil {
		return nil, err
	}
	if err := v.key(r, p); err != nil {
		return nil, err
	}
	if err := p.canonicalHead(r); err != nil {
		return nil, err
	}
	if p.claimed = r.Header.Get("X-Amz-Content-Sha256"); p.claimed != "" {
		if err := p.check(p.claimed); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// scope checks what the signature is for, and when it was made.
func (v *Verifier) scope(r *http.Request, p *Pending) error {
	switch {
	case p.Service != v.Service:
		return refuse(BadSignature, "Credential should be scoped to correct service: '"+v.Service+"'.")
	case v.Region != "" && p.Region != v.Region:
		return refuse(BadSignature, "Credential should be scoped to a valid region.")
	case !slices.Contains(p.SignedHeaders, "host"):
		return refuse(BadSignature, "'Host' must be a 'SignedHeader' in the AWS Authorization.")
	}
	name := "X-Amz-Date"
	if r.Header.Get(name) == "" {
		name = "Date"
	}
	p.time = r.Header.Get(name)
	if p.time == "" {
		return incomplete("existence of either a 'X-Amz-Date' or a 'Date' header")
	}
	if !slices.Contains(p.SignedHeaders, strings.ToLower(name)) {
		return refuse(BadSignature, "'"+name+"' must be a 'SignedHeader' in the AWS Authorization.")
	}
	at, err := time.Parse(timeFormat, p.time)
	if err != nil {
		return refuse(Incomplete, "Date must be in ISO-8601 'basic format'.")
	}
	if p.time[:8] != p.Date {
		return refuse(BadSignature, "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP.")
	}
	return v.skew(at)
}

func (v *Verifier) skew(at time.Time) error {
	now := v.Now().UTC()
	limit := min(v.Skew, MaxSkew)
	minutes := limit.Minutes()
	switch {
	case at.Before(now.Add(-limit)):
		return refuse(BadSignature, fmt.Sprintf("Signature expired: %s is now earlier than %s (%s - %g min.)",
			at.Format(timeFormat), now.Add(-limit).Format(timeFormat), now.Format(timeFormat), minutes))
	case at.After(now.Add(limit)):
		return refuse(BadSignature, fmt.Sprintf("Signature not yet current: %s is still later than %s (%s + %g min.)",
			at.Format(timeFormat), now.Add(limit).Format(timeFormat), now.Format(timeFormat), minutes))
	}
	return nil
}

// key finds the secret.
func (v *Verifier) key(r *http.Request, p *Pending) error {
	key, ok := v.Lookup(p.AccessKeyID)
	token := r.Header.Get("X-Amz-Security-Token")
	switch {
	case !ok || subtle.ConstantTimeCompare([]byte(token), []byte(key.SessionToken)) != 1:
		return refuse(UnknownKey, "The security token included in the request is invalid.")
	case token != "" && !slices.Contains(p.SignedHeaders, "x-amz-security-token"):
		return refuse(BadSignature, "'X-Amz-Security-Token' must be a 'SignedHeader' in the AWS Authorization.")
	case !key.Expires.IsZero() && !v.Now().Before(key.Expires):
		return refuse(Expired, "The security token included in the request is expired")
	}
	p.secret = key.Secret
	return nil
}

// canonicalHead builds the canonical request up to the payload hash.
func (p *Pending) canonicalHead(r *http.Request) error {
	path, query := target(r)
	b := make([]byte, 0, 1024)
	b = append(append(b, r.Method...), '\n')
	b = append(canonicalPath(b, path), '\n')
	b, ok := canonicalQuery(b, query)
	if !ok {
		return mismatch()
	}
	b = append(b, '\n')
	b = append(canonicalHeaders(b, r, p.SignedHeaders), '\n')
	p.canonical = append(append(b, strings.Join(p.SignedHeaders, ";")...), '\n')
	return nil
}

func mismatch() *Error {
	return refuse(BadSignature, "The request signature we calculated does not match the signature you provided. "+
		"Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
}

// Finish checks the signature over the hash of the body. Errors are *Error.
func (p *Pending) Finish(body [sha256.Size]byte) error {
	hash := hex.EncodeToString(body[:])
	if p.claimed == "" {
		return p.check(hash)
	}
	if subtle.ConstantTimeCompare([]byte(hash), []byte(p.claimed)) != 1 {
		return refuse(BadSignature, "The value of x-amz-content-sha256 is not the hash of the body.")
	}
	return nil // the signature over it was checked by Begin
}

// check compares the signature that was sent with the one that should have been.
func (p *Pending) check(payload string) error {
	canonical := sha256.Sum256(append(p.canonical, payload...))
	text := algorithm + "\n" + p.time + "\n" + p.scope() + "\n" + hex.EncodeToString(canonical[:])
	key := []byte("AWS4" + p.secret)
	for _, part := range []string{p.Date, p.Region, p.Service, terminator, text} {
		key = sum(key, part)
	}
	if !hmac.Equal(key, p.signature[:]) {
		return mismatch()
	}
	return nil
}

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
