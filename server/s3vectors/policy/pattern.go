package policy

import "strings"

// pattern is a text with wildcards and variables.
type pattern struct {
	tokens    []token
	variables bool
}

// token is a byte of a pattern or something that stands for others.
type token struct {
	kind     tokenKind
	char     byte
	variable string // in lower case
	fallback string // of a variable without a value
	has      bool   // there is a fallback
}

type tokenKind byte

const (
	exactly tokenKind = iota
	one               // ?
	many              // *
	variable
)

// compile reads a pattern. Without wild, * and ? are characters like others; without
// variables, ${ is text.
func compile(text string, wild, variables bool) (p pattern, ok bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case wild && c == '*':
			if n := len(p.tokens); n == 0 || p.tokens[n-1].kind != many {
				p.tokens = append(p.tokens, token{kind: many})
			}
		case wild && c == '?':
			p.tokens = append(p.tokens, token{kind: one})
		case variables && c == '$' && strings.HasPrefix(text[i:], "${"):
			end := strings.IndexByte(text[i:], '}')
			if end < 0 {
				return p, false
			}
			t, ok := parseVariable(text[i+2 : i+end])
			if !ok {
				return p, false
			}
			p.tokens = append(p.tokens, t)
			p.variables = p.variables || t.kind == variable
			i += end
		default:
			p.tokens = append(p.tokens, token{char: c})
		}
	}
	return p, true
}

// parseVariable reads "key" or "key, 'default'", or one of the characters that have a
// meaning of their own.
func parseVariable(text string) (t token, ok bool) {
	if text == "*" || text == "?" || text == "$" {
		return token{char: text[0]}, true
	}
	name, fallback, has := strings.Cut(text, ",")
	if has {
		fallback = strings.TrimSpace(fallback)
		if len(fallback) < 2 || fallback[0] != '\'' || fallback[len(fallback)-1] != '\'' {
			return t, false
		}
		fallback = fallback[1 : len(fallback)-1]
	}
	name = strings.ToLower(strings.TrimSpace(name))
	return token{kind: variable, variable: name, fallback: fallback, has: has}, name != ""
}

// expand puts the values of variables in, as they are. It fails where there is none,
// or more than one.
func (p *pattern) expand(r *Request) ([]token, bool) {
	if !p.variables {
		return p.tokens, true
	}
	out := make([]token, 0, len(p.tokens)+64)
	for _, t := range p.tokens {
		if t.kind != variable {
			out = append(out, t)
			continue
		}
		values := r.values(t.variable)
		text := t.fallback
		if len(values) == 1 {
			text = values[0]
		} else if !t.has {
			return nil, false
		}
		for i := range len(text) {
			out = append(out, token{char: text[i]})
		}
	}
	return out, true
}

// match compares the whole text. A ? stands for one byte of UTF-8 text, as ARNs hold
// no others.
func (p *pattern) match(text string, r *Request) bool {
	tokens, ok := p.expand(r)
	return ok && matchTokens(tokens, text)
}

// matchTokens goes back to the last * only, which is enough and takes time in
// proportion to pattern times text at most.
func matchTokens(tokens []token, text string) bool {
	i, j := 0, 0
	star, resume := -1, 0
	for j < len(text) {
		switch {
		case i < len(tokens) && tokens[i].kind == many:
			star, resume = i, j
			i++
		case i < len(tokens) && (tokens[i].kind == one || tokens[i].char == text[j]):
			i++
			j++
		case star >= 0:
			resume++
			i, j = star+1, resume
		default:
			return false
		}
	}
	for i < len(tokens) && tokens[i].kind == many {
		i++
	}
	return i == len(tokens)
}
