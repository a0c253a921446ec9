package tokens

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spratdb/sprat/server/grpc/reload"
)

// Role is what a user may do. A larger one includes the smaller.
type Role uint8

// The roles. None is of those who are not known.
const (
	None  Role = iota
	Read       // look up, list and query
	Write      // and put and delete vectors
	Admin      // everything
)

var roleNames = [...]string{None: "none", Read: "read", Write: "write", Admin: "admin"}

// String is the name of the role.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role %d", uint8(r))
}

// User is who calls.
type User struct {
	Name string
	Role Role
}

const (
	maxFile  = 1 << 20
	minToken = 16
	maxToken = 512
	maxName  = 64
	hashMark = "sha256:"
)

type entry struct {
	hash [sha256.Size]byte
	user User
}

// List is the users of a file.
type List struct{ entries []entry }

// Find returns the user of a token. Every token is compared, whether or not one was
// found, so that the time tells nothing.
func (l *List) Find(token string) (User, bool) {
	hash, at := sha256.Sum256([]byte(token)), -1
	for i := range l.entries {
		equal := subtle.ConstantTimeCompare(hash[:], l.entries[i].hash[:])
		at = subtle.ConstantTimeSelect(equal, i, at)
	}
	if at < 0 {
		return User{}, false
	}
	return l.entries[at].user, true
}

// Parse reads the content of a file. Errors name the line, and nothing of what it
// holds.
func Parse(text []byte) (*List, error) {
	var l List
	known := map[[sha256.Size]byte]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxFile)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseLine(line)
		if err == nil && known[e.hash] {
			err = errors.New("the token is there already")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		known[e.hash] = true
		l.entries = append(l.entries, e)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(l.entries) == 0 {
		return nil, errors.New("it holds no tokens")
	}
	return &l, nil
}

func parseLine(line string) (e entry, err error) {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return e, errors.New("want role, name and token")
	}
	for role := Read; role <= Admin; role++ {
		if fields[0] == role.String() {
			e.user.Role = role
		}
	}
	if e.user.Role == None {
		return e, errors.New("want the role read, write or admin")
	}
	if e.user.Name = fields[1]; len(e.user.Name) > maxName || !visible(e.user.Name) {
		return e, errors.New("want a name of at most 64 visible ASCII characters")
	}
	token := fields[2]
	if digits, ok := strings.CutPrefix(token, hashMark); ok {
		if n, err := hex.Decode(e.hash[:], []byte(digits[:min(len(digits), 2*sha256.Size)])); err != nil || n != sha256.Size || len(digits) != 2*sha256.Size {
			return e, errors.New("want 64 hexadecimal digits after the mark sha256: and nothing else")
		}
		return e, nil
	}
	if len(token) < minToken || len(token) > maxToken || !visible(token) {
		return e, errors.New("want a token of 16 to 512 visible ASCII characters")
	}
	e.hash = sha256.Sum256([]byte(token))
	return e, nil
}

func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// File is the users of a file that is read again when it has changed.
type File struct{ list *reload.Value[*List] }

// Open reads a file of tokens. log may be nil. Errors: those of the file system, and
// of Parse.
func Open(path string, log *slog.Logger) (*File, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 && log != nil {
		log.Warn("others may read the tokens: chmod 600", "file", path)
	}
	list, err := reload.New(log, func() (*List, error) { return read(path) }, path)
	if err != nil {
		return nil, err
	}
	return &File{list}, nil
}

func read(path string) (*List, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: more than 1 MiB", path)
	}
	list, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// Find returns the user of a token in the file as it was within the last second.
func (f *File) Find(token string) (User, bool) { return f.list.Get().Find(token) }
