package policy

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// reference evaluates the JSON of a policy as the language's description reads, with
// regular expressions and no thought of speed. It knows what drawPolicy draws.
func reference(t interface{ Fatalf(string, ...any) }, text string, r *Request) Decision {
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v", err)
	}
	decision := Silent
	for _, s := range list(doc["Statement"]) {
		if s := s.(map[string]any); !referenceApplies(s, r) {
			continue
		} else if s["Effect"] == "Deny" {
			return Denied
		}
		decision = Allowed
	}
	return decision
}

func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

func referenceApplies(s map[string]any, r *Request) bool {
	if s["Effect"] == "Allow" && r.Principal.Anonymous {
		return false
	}
	either := func(name string, test func(v any) bool) bool {
		if v, ok := s[name]; ok {
			return test(v)
		}
		return !test(s["Not"+name])
	}
	if !either("Principal", func(v any) bool { return referencePrincipal(v, r.Principal) }) {
		return false
	}
	if !either("Action", func(v any) bool { return anyLike(v, strings.ToLower(r.Action), strings.ToLower, r) }) {
		return false
	}
	if !either("Resource", func(v any) bool { return anyLike(v, r.Resource, func(s string) string { return s }, r) }) {
		return false
	}
	conditions, _ := s["Condition"].(map[string]any)
	for op, keys := range conditions {
		for key, values := range keys.(map[string]any) {
			if !referenceCondition(op, r.values(strings.ToLower(key)), list(values), r) {
				return false
			}
		}
	}
	return true
}

func referencePrincipal(v any, who Principal) bool {
	if v == "*" {
		return true
	}
	for _, p := range list(v.(map[string]any)["AWS"]) {
		switch {
		case p == "*":
			return true
		case who.Anonymous:
		case p == who.ARN, p == who.Account, p == "arn:aws:iam::"+who.Account+":root":
			return true
		}
	}
	return false
}

func anyLike(v any, text string, fold func(string) string, r *Request) bool {
	for _, p := range list(v) {
		if like(fold(p.(string)), text, true, r) {
			return true
		}
	}
	return false
}

var parts = regexp.MustCompile(`\$\{[^}]*\}|.`)

// like matches a pattern by way of a regular expression.
func like(pattern, text string, wild bool, r *Request) bool {
	var re strings.Builder
	for _, part := range parts.FindAllString(pattern, -1) {
		switch {
		case strings.HasPrefix(part, "${") && len(part) == 4:
			re.WriteString(regexp.QuoteMeta(part[2:3]))
		case strings.HasPrefix(part, "${"):
			values := r.values(strings.ToLower(part[2 : len(part)-1]))
			if len(values) != 1 {
				return false
			}
			re.WriteString(regexp.QuoteMeta(values[0]))
		case wild && part == "*":
			re.WriteString(".*")
		case wild && part == "?":
			re.WriteString(".")
		default:
			re.WriteString(regexp.QuoteMeta(part))
		}
	}
	return regexp.MustCompile("^(?s:" + re.String() + ")$").MatchString(text)
}

func referenceCondition(op string, have []string, want []any, r *Request) bool {
	if op == "Null" {
		return (len(have) == 0) == (want[0] == "true")
	}
	op, forAllValues := strings.CutPrefix(op, "ForAllValues:")
	op, forAnyValue := strings.CutPrefix(op, "ForAnyValue:")
	op, ifExists := strings.CutSuffix(op, "IfExists")
	plain := strings.Replace(op, "Not", "", 1)
	negated := plain != op
	matches := func(value string) bool {
		for _, w := range want {
			if referenceCompare(plain, value, fmt.Sprint(w), r) {
				return !negated
			}
		}
		return negated
	}
	good := 0
	for _, v := range have {
		if matches(v) {
			good++
		}
	}
	switch {
	case len(have) == 0 && ifExists:
		return true
	case forAllValues:
		return good == len(have)
	case forAnyValue:
		return good > 0
	case len(have) == 0:
		return negated
	case negated:
		return good == len(have)
	}
	return good > 0
}

func referenceCompare(op, value, want string, r *Request) bool {
	switch op {
	case "StringEquals":
		return like(want, value, false, r)
	case "StringLike", "ArnLike":
		return like(want, value, true, r)
	case "StringEqualsIgnoreCase":
		return strings.EqualFold(value, want)
	case "NumericLessThan":
		a, err1 := strconv.ParseFloat(value, 64)
		b, err2 := strconv.ParseFloat(want, 64)
		return err1 == nil && err2 == nil && a < b
	case "DateGreaterThan":
		a, err1 := time.Parse(time.RFC3339, value)
		b, err2 := time.Parse(time.RFC3339, want)
		return err1 == nil && err2 == nil && a.After(b)
	case "IpAddress":
		a, err1 := netip.ParseAddr(value)
		b, err2 := netip.ParsePrefix(want)
		return err1 == nil && err2 == nil && b.Contains(a)
	case "Bool":
		return value == want
	}
	return false
}

// draw makes policies and requests of few words, so that they meet.
type draw struct{ *rapid.T }

func (d draw) of(name string, words ...string) string {
	return rapid.SampledFrom(words).Draw(d.T, name)
}

func (d draw) some(name string, words ...string) any {
	if rapid.Bool().Draw(d.T, name+" alone") {
		return d.of(name, words...)
	}
	var l []any
	for range rapid.IntRange(1, 3).Draw(d.T, name+" count") {
		l = append(l, d.of(name, words...))
	}
	return l
}

var (
	operatorWords = []string{"StringEquals", "StringNotEquals", "StringLike", "StringNotLike", "StringEqualsIgnoreCase", "StringEqualsIfExists",
		"StringNotEqualsIfExists", "ForAllValues:StringEquals", "ForAnyValue:StringLike", "ForAnyValue:StringNotEquals", "ForAllValues:StringNotLikeIfExists",
		"ForAnyValue:StringEqualsIfExists", "ArnLike", "NumericLessThan", "DateGreaterThan", "IpAddress", "NotIpAddress", "Bool", "Null"}
	valueWords = map[string][]string{
		"NumericLessThan": {"5", "7.5", "-1"}, "DateGreaterThan": {"2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		"IpAddress": {"10.0.0.0/8", "::1/128"}, "NotIpAddress": {"10.0.0.0/8", "10.1.0.0/16"}, "Bool": {"true", "false"}, "Null": {"true", "false"},
	}
	textWords = []string{"red", "r?d", "*", "RED", "${aws:username}", "r*", "${*}", "a-${aws:username}-b", "${aws:missing}", ""}
	keyWords  = []string{"aws:TagKeys", "aws:username", "aws:ResourceTag/x", "aws:SourceIp", "s3vectors:sseType", "aws:missing"}
)

func (d draw) statement() map[string]any {
	s := map[string]any{"Effect": d.of("effect", "Allow", "Deny")}
	not := func(name string) string { return d.of("not "+name, name, name, name, "Not"+name) }
	s[not("Principal")] = rapid.SampledFrom([]any{"*", map[string]any{"AWS": d.some("principal", "*", "arn:aws:iam::000000000000:user/ann",
		"arn:aws:iam::000000000000:root", "000000000000", "111111111111")}}).Draw(d.T, "principals")
	s[not("Action")] = d.some("action", "*", "s3vectors:*", "s3vectors:Get*", "S3Vectors:getindex", "s3vectors:PutVectors", "s3vectors:???Index", "s3:GetObject")
	s[not("Resource")] = d.some("resource", "*", "arn:aws:s3vectors:*:*:bucket/b", "arn:*/b/*", "arn:aws:s3vectors:us-east-1:000000000000:bucket/b/index/${aws:username}", "arn:aws:s3vectors:us-east-1:000000000000:bucket/?")
	if rapid.Bool().Draw(d.T, "conditional") {
		conditions := map[string]any{}
		for range rapid.IntRange(1, 2).Draw(d.T, "operators") {
			op := d.of("operator", operatorWords...)
			words := valueWords[op]
			if words == nil {
				words = textWords
			}
			keys := map[string]any{}
			for range rapid.IntRange(1, 2).Draw(d.T, "keys") {
				if op == "Null" {
					keys[d.of("key", keyWords...)] = d.of("value", words...)
				} else if op == "StringEqualsIgnoreCase" {
					keys[d.of("key", keyWords...)] = d.some("value", "red", "RED", "ann")
				} else {
					keys[d.of("key", keyWords...)] = d.some("value", words...)
				}
			}
			conditions[op] = keys
		}
		s["Condition"] = conditions
	}
	return s
}

func (d draw) request() *Request {
	r := &Request{
		Action:   d.of("asked", "s3vectors:GetIndex", "s3vectors:PutVectors", "s3vectors:DeleteVectorBucket"),
		Resource: "arn:aws:s3vectors:us-east-1:000000000000:" + d.of("on", "bucket/b", "bucket/b/index/ann", "bucket/b/index/*"),
	}
	values := map[string][]string{}
	if who := d.of("who", "ann", "bob", ""); who == "" {
		r.Principal.Anonymous = true
	} else {
		r.Principal = Principal{ARN: "arn:aws:iam::000000000000:user/" + who, Account: "000000000000"}
		values["aws:username"] = []string{who}
	}
	for _, key := range []string{"aws:tagkeys", "aws:resourcetag/x", "aws:sourceip", "s3vectors:ssetype"} {
		for range rapid.IntRange(0, 2).Draw(d.T, key) {
			values[key] = append(values[key], d.of("value", "red", "RED", "*", "a-ann-b", "6", "2026-06-01T00:00:00Z", "10.1.2.3", "true", "ann"))
		}
	}
	r.Values = func(key string) []string { return values[key] }
	return r
}

func TestAgainstReference(t *testing.T) {
	seen := map[Decision]int{}
	rapid.Check(t, func(t *rapid.T) {
		d := draw{t}
		var statements []any
		for range rapid.IntRange(1, 3).Draw(t, "statements") {
			statements = append(statements, d.statement())
		}
		text, err := json.Marshal(map[string]any{"Version": variableVersion, "Statement": statements})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for range 8 {
			r := d.request()
			got, want := p.Decide(r), reference(t, string(text), r)
			if got != want {
				t.Fatalf("%s\nasked %+v: got %d, want %d", text, r, got, want)
			}
			seen[got]++
		}
	})
	for decision, what := range map[Decision]string{Silent: "silent", Allowed: "allowed", Denied: "denied"} {
		if seen[decision] == 0 {
			t.Errorf("no request was %s: %v", what, seen)
		}
	}
}
