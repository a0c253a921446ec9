package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spratdb/sprat/server/s3vectors/floatjson"
)

// ErrInvalid is matched by every error of Parse.
var ErrInvalid = errors.New("invalid policy")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// variableVersion is the version of the language that has variables.
const variableVersion = "2012-10-17"

// parser holds what is known of a policy while it is read.
type parser struct {
	*floatjson.Scanner
	variables bool
}

// Parse reads the text of a policy. Errors match ErrInvalid.
func Parse(text []byte) (*Policy, error) {
	if len(text) > MaxBytes {
		return nil, invalid("it has %d bytes, more than %d", len(text), MaxBytes)
	}
	version, statements, err := outline(text)
	if err != nil {
		return nil, err
	}
	s, err := floatjson.NewScanner(statements)
	if err != nil {
		return nil, invalid("%v", err)
	}
	p := &parser{Scanner: s, variables: version == variableVersion}
	policy := &Policy{}
	one := func() error {
		st, err := p.statement()
		policy.statements = append(policy.statements, st)
		return err
	}
	if p.Peek() == floatjson.Array {
		err = p.Array(func(int) error { return one() })
	} else {
		err = one()
	}
	if err == nil && len(policy.statements) == 0 {
		err = invalid("Statement is empty")
	}
	return policy, refused(err)
}

// refused makes errors of the JSON text match ErrInvalid.
func refused(err error) error {
	if err != nil && !errors.Is(err, ErrInvalid) {
		return invalid("%v", err)
	}
	return err
}

// outline finds the version and the text of the statements, which may come first.
func outline(text []byte) (version string, statements []byte, err error) {
	s, err := floatjson.NewScanner(text)
	if err != nil {
		return "", nil, invalid("%v", err)
	}
	err = members(s, func(name string) (err error) {
		switch name {
		case "Version":
			version, err = s.String()
			if err == nil && version != variableVersion && version != "2008-10-17" {
				err = invalid("Version must be 2012-10-17 or 2008-10-17")
			}
		case "Id":
			_, err = s.String()
		case "Statement":
			statements, err = s.Raw()
		default:
			err = invalid("unknown element %.64q", name)
		}
		return err
	})
	if err == nil {
		err = s.End()
	}
	if err == nil && (version == "" || statements == nil) {
		err = invalid("it needs Version and Statement")
	}
	return version, statements, refused(err)
}

// members reads an object whose members each come once.
func members(s *floatjson.Scanner, f func(name string) error) error {
	seen := map[string]bool{}
	return s.Object(func(key []byte) error {
		name := string(key)
		if seen[name] {
			return invalid("%.64q comes twice", name)
		}
		seen[name] = true
		return f(name)
	})
}

// texts reads a string or an array of strings.
func (p *parser) texts(f func(text string) error) error {
	if p.Peek() != floatjson.Array {
		text, err := p.String()
		if err != nil {
			return err
		}
		return f(text)
	}
	n := 0
	err := p.Array(func(int) error {
		n++
		text, err := p.String()
		if err != nil {
			return err
		}
		return f(text)
	})
	if err == nil && n == 0 {
		err = invalid("an empty list of values")
	}
	return err
}

func (p *parser) statement() (s statement, err error) {
	has := map[string]bool{}
	err = members(p.Scanner, func(written string) error {
		name, not := strings.CutPrefix(written, "Not")
		if has[name] {
			return invalid("a statement has either %s or Not%s", name, name)
		}
		has[name] = true
		return p.element(&s, name, not)
	})
	if err != nil {
		return s, err
	}
	for _, name := range []string{"Effect", "Principal", "Action", "Resource"} {
		if !has[name] {
			return s, invalid("a statement needs %s", name)
		}
	}
	return s, nil
}

// element reads the value of an element of a statement; not is the "Not" before its
// name.
func (p *parser) element(s *statement, name string, not bool) error {
	switch {
	case name == "Sid" && !not:
		_, err := p.String()
		return err
	case name == "Effect" && !not:
		return p.effect(s)
	case name == "Principal":
		s.principals.not = not
		return p.principal(&s.principals)
	case name == "Action":
		s.notActions = not
		return p.texts(func(text string) error { return s.action(text) })
	case name == "Resource":
		s.notThem = not
		return p.texts(func(text string) error {
			resource, ok := compile(text, true, p.variables)
			if !ok || text != "*" && !strings.HasPrefix(text, "arn:") {
				return invalid("Resource %.100q is no ARN", text)
			}
			s.resources = append(s.resources, resource)
			return nil
		})
	case name == "Condition" && !not:
		return members(p.Scanner, func(operator string) error { return p.condition(s, operator) })
	}
	return invalid("unknown element %.64q", name)
}

func (p *parser) effect(s *statement) error {
	effect, err := p.String()
	if err == nil && effect != "Allow" && effect != "Deny" {
		err = invalid("Effect must be Allow or Deny")
	}
	s.deny = effect == "Deny"
	return err
}

func (s *statement) action(text string) error {
	service, name, ok := strings.Cut(text, ":")
	if text != "*" && (!ok || service == "" || name == "") {
		return invalid("Action %.100q is not service:name", text)
	}
	action, _ := compile(strings.ToLower(text), true, false)
	s.actions = append(s.actions, action)
	return nil
}

func (p *parser) principal(who *principals) error {
	who.named = map[string]bool{}
	if p.Peek() == floatjson.String {
		text, err := p.String()
		if err == nil && text != "*" {
			err = invalid("Principal must be \"*\" or an object")
		}
		who.everybody = true
		return err
	}
	return members(p.Scanner, func(kind string) error {
		switch kind {
		case "AWS":
		case "Service", "Federated", "CanonicalUser":
			return p.texts(func(string) error { return nil }) // none of them calls
		default:
			return invalid("unknown kind of Principal %.64q", kind)
		}
		return p.texts(func(text string) error {
			parts := strings.Split(text, ":")
			switch {
			case text == "*":
				who.everybody = true
			case account(text):
				who.named[text] = true
			case len(parts) == 6 && parts[0] == "arn" && parts[5] == "root" && account(parts[4]):
				who.named[parts[4]] = true
			case len(parts) >= 6 && parts[0] == "arn" && !strings.ContainsAny(text, "*?"):
				who.named[text] = true
			default:
				return invalid("Principal %.100q is no ARN and no account", text)
			}
			return nil
		})
	})
}

// account says that a text is an account id.
func account(text string) bool {
	return len(text) == 12 && strings.Trim(text, "0123456789") == ""
}

// condition reads the keys and values of one operator.
func (p *parser) condition(s *statement, written string) error {
	c := condition{}
	name := strings.ToLower(written)
	if rest, ok := strings.CutPrefix(name, "foranyvalue:"); ok {
		name, c.set = rest, forAny
	} else if rest, ok := strings.CutPrefix(name, "forallvalues:"); ok {
		name, c.set = rest, forAll
	}
	name, c.ifExists = strings.CutSuffix(name, "ifexists")
	if c.operator = operators[name]; c.operator == nil || name == "null" && (c.ifExists || c.set != anyOf) {
		return invalid("unknown condition operator %.64q", written)
	}
	if name == "null" {
		c.set = nullTest
	}
	return members(p.Scanner, func(key string) error {
		c := c
		c.key = strings.ToLower(key)
		err := p.values(func(text string) error {
			o, ok := c.operator.parse(text, p.variables)
			if !ok {
				return invalid("%s cannot compare with %.100q", written, text)
			}
			c.values = append(c.values, o)
			return nil
		})
		s.conditions = append(s.conditions, c)
		return err
	})
}

// values reads the values of a condition: a string, number or boolean, or a list.
func (p *parser) values(f func(text string) error) error {
	one := func() error {
		switch p.Peek() {
		case floatjson.Number, floatjson.Bool:
			raw, err := p.Raw()
			if err != nil {
				return err
			}
			return f(string(raw))
		}
		text, err := p.String()
		if err != nil {
			return err
		}
		return f(text)
	}
	if p.Peek() != floatjson.Array {
		return one()
	}
	return p.Array(func(int) error { return one() })
}
