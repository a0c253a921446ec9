package accesskeys

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// maxFile bounds a file of keys.
const maxFile = 4 << 20

// Parse reads the text of a file of keys.
func Parse(text []byte) (Static, error) {
	keys := Static{}
	users := map[string]bool{}
	var current *Key
	finish := func() error {
		if current == nil {
			return nil
		}
		if err := current.check(); err != nil {
			return fmt.Errorf("user %q: %w", current.User, err)
		}
		if _, twice := keys[current.ID]; twice {
			return fmt.Errorf("user %q: the access key id is another user's", current.User)
		}
		keys[current.ID] = *current
		return nil
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			if err := finish(); err != nil {
				return nil, err
			}
			name := strings.TrimSpace(strings.Trim(line, "[]"))
			if name == "" || !strings.HasSuffix(line, "]") || users[name] || len(name) > 64 || !plain(name, "_-.@+=,") {
				return nil, fmt.Errorf("line %d: want [name of a user], each user once", i+1)
			}
			users[name] = true
			current = &Key{User: name, Role: Admin}
		default:
			name, value, ok := strings.Cut(line, "=")
			if !ok || current == nil {
				return nil, fmt.Errorf("line %d: want name = value, below a [user]", i+1)
			}
			if err := current.set(strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
	}
	return keys, finish()
}

func (k *Key) set(name, value string) (err error) {
	switch strings.ToLower(name) {
	case "aws_access_key_id":
		k.ID = value
	case "aws_secret_access_key":
		k.Secret = value
	case "aws_session_token":
		k.SessionToken = value
	case "role":
		k.Role, err = ParseRole(value)
	case "expires":
		if k.Expires, err = time.Parse(time.RFC3339, value); err != nil {
			err = fmt.Errorf("expires: want a time like 2027-01-31T12:00:00Z")
		}
	}
	return err
}

func (k *Key) check() error {
	switch {
	case len(k.ID) < 3 || len(k.ID) > 128 || !plain(k.ID, "_-./+="):
		return fmt.Errorf("aws_access_key_id: want 3 to 128 letters, digits and _ - . / + =")
	case len(k.Secret) < 8 || len(k.Secret) > 256:
		return fmt.Errorf("aws_secret_access_key: want 8 to 256 characters")
	}
	for _, c := range []byte(k.Secret + k.SessionToken) {
		if c <= ' ' || c > '~' {
			return fmt.Errorf("aws_secret_access_key, aws_session_token: want printable ASCII without spaces")
		}
	}
	return nil
}

// plain says that s is made of ASCII letters, digits and the others.
func plain(s, others string) bool {
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(others, c) >= 0) {
			return false
		}
	}
	return true
}
