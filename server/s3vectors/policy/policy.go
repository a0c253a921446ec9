package policy

import "strings"

// MaxBytes is the longest text of a policy.
const MaxBytes = 20 << 10

// Decision is what a policy says about a request.
type Decision int

// The decisions.
const (
	Silent  Decision = iota // no statement applies
	Allowed                 // an Allow applies and no Deny
	Denied                  // a Deny applies
)

// Principal is who asks.
type Principal struct {
	ARN       string
	Account   string // 12 digits
	Anonymous bool   // then the rest is empty
}

// Request is what a policy is asked about.
type Request struct {
	Principal Principal
	Action    string // like s3vectors:GetIndex
	Resource  string // an ARN
	// Values returns the values of a condition key, nil when the request has none.
	// The name is in lower case. It may be nil.
	Values func(key string) []string
}

func (r *Request) values(key string) []string {
	if r.Values == nil {
		return nil
	}
	return r.Values(key)
}

// Policy is a parsed policy.
type Policy struct {
	statements []statement
}

type statement struct {
	deny       bool
	principals principals
	actions    []pattern // in lower case
	notActions bool
	resources  []pattern
	notThem    bool // resources are those that are not meant
	conditions []condition
}

// principals are those of a Principal, or all but those of a NotPrincipal.
type principals struct {
	everybody bool
	named     map[string]bool // ARNs and accounts
	not       bool
}

// Decide evaluates the policy.
func (p *Policy) Decide(r *Request) Decision {
	decision := Silent
	for i := range p.statements {
		s := &p.statements[i]
		switch {
		case decision == Allowed && !s.deny, !s.applies(r):
		case s.deny:
			return Denied
		default:
			decision = Allowed
		}
	}
	return decision
}

func (s *statement) applies(r *Request) bool {
	if r.Principal.Anonymous && !s.deny || !s.principals.match(&r.Principal) {
		return false
	}
	if matchAny(s.actions, strings.ToLower(r.Action), r) == s.notActions {
		return false
	}
	if matchAny(s.resources, r.Resource, r) == s.notThem {
		return false
	}
	for i := range s.conditions {
		if !s.conditions[i].holds(r) {
			return false
		}
	}
	return true
}

func (p *principals) match(who *Principal) bool {
	in := p.everybody || !who.Anonymous && (p.named[who.ARN] || p.named[who.Account])
	return in != p.not
}

func matchAny(patterns []pattern, text string, r *Request) bool {
	for i := range patterns {
		if patterns[i].match(text, r) {
			return true
		}
	}
	return false
}
