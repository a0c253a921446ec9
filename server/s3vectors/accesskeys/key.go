package accesskeys

import (
	"fmt"
	"time"
)

// Role is what a user may do where no policy of a bucket says otherwise.
type Role string

// The roles. A policy can allow more, and deny anything but, to an admin, the care of
// the policies themselves.
const (
	Admin Role = "admin" // everything
	Write Role = "write" // read, and put and delete vectors
	Read  Role = "read"  // get, list and query
	None  Role = "none"  // only what a policy allows
)

// ParseRole returns the role of a name.
func ParseRole(name string) (Role, error) {
	switch r := Role(name); r {
	case Admin, Write, Read, None:
		return r, nil
	}
	return "", fmt.Errorf("role %q: want admin, write, read or none", name)
}

// Key is one access key.
type Key struct {
	User         string
	ID           string
	Secret       string
	SessionToken string    // "" for none
	Expires      time.Time // zero for never
	Role         Role
}

// String is the key without what is secret.
func (k Key) String() string { return fmt.Sprintf("key %s of %s (%s)", k.ID, k.User, k.Role) }

// GoString is String, so that no way of printing shows the secret.
func (k Key) GoString() string { return k.String() }

// Static is a set of keys that does not change, by ID.
type Static map[string]Key

// Lookup finds a key.
func (s Static) Lookup(id string) (Key, bool) {
	k, ok := s[id]
	return k, ok
}
