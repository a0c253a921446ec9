package policy

import (
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// condition is one key of one operator.
type condition struct {
	operator *operator
	key      string // in lower case
	set      setKind
	ifExists bool
	values   []operand
}

// setKind says how the values of a request's key are taken together.
type setKind byte

const (
	anyOf    setKind = iota // one must match; of a negated operator, none may
	forAny                  // ForAnyValue:
	forAll                  // ForAllValues:
	nullTest                // Null
)

// operand is a value of a policy, read as its operator wants it.
type operand struct {
	text    string
	pattern pattern
	number  float64
	time    time.Time
	prefix  netip.Prefix
	yes     bool
}

// operator compares a value of the request with one of the policy.
type operator struct {
	negated bool
	parse   func(text string, variables bool) (operand, bool)
	match   func(value string, o *operand, r *Request) bool
}

// operators are those of AWS but for the binary one, by name in lower case.
var operators = func() map[string]*operator {
	all := map[string]*operator{}
	add := func(name, not string, parse func(string, bool) (operand, bool), match func(string, *operand, *Request) bool) {
		all[name] = &operator{parse: parse, match: match}
		if not != "" {
			all[not] = &operator{negated: true, parse: parse, match: match}
		}
	}
	add("stringequals", "stringnotequals", parseText(false), matchText)
	add("stringlike", "stringnotlike", parseText(true), matchText)
	add("stringequalsignorecase", "stringnotequalsignorecase", parseText(false), matchFold)
	add("arnequals", "arnnotequals", parseText(true), matchText) // AWS compares both alike
	add("arnlike", "arnnotlike", parseText(true), matchText)
	add("numericequals", "numericnotequals", parseNumber, matchNumber(func(c int) bool { return c == 0 }))
	add("numericlessthan", "", parseNumber, matchNumber(func(c int) bool { return c < 0 }))
	add("numericlessthanequals", "", parseNumber, matchNumber(func(c int) bool { return c <= 0 }))
	add("numericgreaterthan", "", parseNumber, matchNumber(func(c int) bool { return c > 0 }))
	add("numericgreaterthanequals", "", parseNumber, matchNumber(func(c int) bool { return c >= 0 }))
	add("dateequals", "datenotequals", parseDate, matchDate(func(c int) bool { return c == 0 }))
	add("datelessthan", "", parseDate, matchDate(func(c int) bool { return c < 0 }))
	add("datelessthanequals", "", parseDate, matchDate(func(c int) bool { return c <= 0 }))
	add("dategreaterthan", "", parseDate, matchDate(func(c int) bool { return c > 0 }))
	add("dategreaterthanequals", "", parseDate, matchDate(func(c int) bool { return c >= 0 }))
	add("ipaddress", "notipaddress", parsePrefix, matchPrefix)
	add("bool", "", parseBool, matchBool)
	add("null", "", parseBool, matchBool)
	return all
}()

// holds evaluates a condition.
func (c *condition) holds(r *Request) bool {
	values := r.values(c.key)
	switch c.set {
	case nullTest:
		return c.matchAny(strconv.FormatBool(len(values) == 0), r)
	case forAll:
		for _, v := range values {
			if c.matchAny(v, r) == c.operator.negated {
				return false
			}
		}
		return true
	case forAny:
		for _, v := range values {
			if c.matchAny(v, r) != c.operator.negated {
				return true
			}
		}
		return c.ifExists && len(values) == 0
	}
	if len(values) == 0 {
		return c.ifExists || c.operator.negated
	}
	for _, v := range values {
		if c.matchAny(v, r) {
			return !c.operator.negated
		}
	}
	return c.operator.negated
}

func (c *condition) matchAny(value string, r *Request) bool {
	for i := range c.values {
		if c.operator.match(value, &c.values[i], r) {
			return true
		}
	}
	return false
}

func parseText(wild bool) func(string, bool) (operand, bool) {
	return func(text string, variables bool) (operand, bool) {
		p, ok := compile(text, wild, variables)
		return operand{text: text, pattern: p}, ok
	}
}

func matchText(value string, o *operand, r *Request) bool { return o.pattern.match(value, r) }

func matchFold(value string, o *operand, r *Request) bool {
	tokens, ok := o.pattern.expand(r)
	if !ok {
		return false
	}
	text := make([]byte, len(tokens))
	for i, t := range tokens {
		text[i] = t.char
	}
	return strings.EqualFold(value, string(text))
}

func parseNumber(text string, _ bool) (o operand, ok bool) {
	var err error
	o.number, err = strconv.ParseFloat(text, 64)
	return o, err == nil
}

func matchNumber(want func(int) bool) func(string, *operand, *Request) bool {
	return func(value string, o *operand, _ *Request) bool {
		x, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil || x != x || o.number != o.number:
			return false
		case x < o.number:
			return want(-1)
		case x > o.number:
			return want(1)
		}
		return want(0)
	}
}

// dateForms are those of ISO 8601 that AWS names; besides, seconds since 1970.
var dateForms = []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02"}

func parseDate(text string, _ bool) (o operand, ok bool) {
	for _, form := range dateForms {
		if t, err := time.Parse(form, text); err == nil {
			return operand{time: t}, true
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return operand{time: time.Unix(seconds, 0)}, err == nil
}

func matchDate(want func(int) bool) func(string, *operand, *Request) bool {
	return func(value string, o *operand, _ *Request) bool {
		v, ok := parseDate(value, false)
		return ok && want(v.time.Compare(o.time))
	}
}

func parsePrefix(text string, _ bool) (o operand, ok bool) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return operand{prefix: netip.PrefixFrom(a, a.BitLen())}, true
	}
	p, err := netip.ParsePrefix(text)
	return operand{prefix: p}, err == nil
}

func matchPrefix(value string, o *operand, _ *Request) bool {
	a, err := netip.ParseAddr(value)
	return err == nil && o.prefix.Contains(a.Unmap().WithZone(""))
}

func parseBool(text string, _ bool) (o operand, ok bool) {
	switch strings.ToLower(text) {
	case "true":
		return operand{yes: true}, true
	case "false":
		return operand{}, true
	}
	return o, false
}

func matchBool(value string, o *operand, _ *Request) bool {
	v, ok := parseBool(value, false)
	return ok && v.yes == o.yes
}
