package tokens_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spratdb/sprat/server/grpc/tokens"
)

const (
	plain  = "0bSCUoX6cMWAVBUDbIPlnw2J"
	hashed = "another-token-of-someone"
)

func sha(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func TestParse(t *testing.T) {
	sum := sha(hashed)
	list, err := tokens.Parse([]byte("# comment\r\n\n read\tapp  " + plain + " \nwrite app sha256:" + strings.ToUpper(sum) + "\nadmin root " + strings.Repeat("x", 512)))
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]tokens.User{
		plain: {Name: "app", Role: tokens.Read}, hashed: {Name: "app", Role: tokens.Write}, strings.Repeat("x", 512): {Name: "root", Role: tokens.Admin},
	} {
		if got, ok := list.Find(token); !ok || got != want {
			t.Errorf("%s: %v %v, want %v", token, got, ok, want)
		}
	}
	for _, token := range []string{"", plain[1:], plain + "x", "sha256:" + sum, sum} {
		if got, ok := list.Find(token); ok || got.Role != tokens.None {
			t.Errorf("%q is %v", token, got)
		}
	}
}

func TestBadFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "it holds no tokens",
		"# nothing\n":                          "it holds no tokens",
		"read app":                             "line 1: want role, name and token",
		"\nread app " + plain + " more":        "line 2: want role, name and token",
		"none app " + plain:                    "line 1: want the role",
		"READ app " + plain:                    "line 1: want the role",
		"read app 123456789012345":             "line 1: want a token of 16 to 512",
		"read app " + strings.Repeat("x", 513): "line 1: want a token of 16 to 512",
		"read app pass\x01word-of-the-app":     "line 1: want a token of 16 to 512",
		"read é " + plain:                      "line 1: want a name",
		"read " + strings.Repeat("n", 65) + " " + plain:                     "line 1: want a name",
		"read app sha256:12":                                                "line 1: want 64 hexadecimal digits",
		"read app sha256:" + strings.Repeat("g", 64):                        "line 1: want 64 hexadecimal digits",
		"read app sha256:" + strings.Repeat("a", 66):                        "line 1: want 64 hexadecimal digits",
		"read a " + plain + "\nwrite b " + plain:                            "line 2: the token is there already",
		"read a " + hashed + "\nwrite b sha256:" + sha(hashed):              "line 2: the token is there already",
		"read app " + plain + "\nread " + strings.Repeat("x", 2<<20) + " y": "too long",
	} {
		_, err := tokens.Parse([]byte(text))
		if want == "" {
			if err != nil {
				t.Errorf("%.40q: %v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
		for _, secret := range []string{plain, hashed, "password", "123456789012345"} {
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%v tells the token", err)
			}
		}
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if _, err := tokens.Open(path, nil); err == nil {
		t.Error("no file is taken")
	}
	if err := os.WriteFile(path, []byte("read app "+plain), 0o644); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	file, err := tokens.Open(path, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if user, ok := file.Find(plain); !ok || user.Name != "app" {
		t.Errorf("found %v", user)
	}
	if !strings.Contains(log.String(), "chmod 600") || strings.Contains(log.String(), plain) {
		t.Errorf("logged: %s", &log)
	}
	for _, bad := range []string{"nonsense", strings.Repeat("#", 2<<20)} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := tokens.Open(path, nil); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func TestRoleNames(t *testing.T) {
	if got := fmt.Sprint(tokens.None, tokens.Read, tokens.Write, tokens.Admin, tokens.Role(9)); got != "none read write admin role 9" {
		t.Error(got)
	}
}

// FuzzParse: whatever a file holds, a token is found only where a line gives it.
func FuzzParse(f *testing.F) {
	f.Add("read app " + plain + "\n# x\nadmin b sha256:" + sha(hashed))
	f.Fuzz(func(t *testing.T, text string) {
		list, err := tokens.Parse([]byte(text))
		if err != nil {
			return
		}
		for line := range strings.Lines(text) {
			fields := strings.Fields(line)
			if len(fields) != 3 || strings.HasPrefix(fields[0], "#") || strings.HasPrefix(fields[2], "sha256:") {
				continue
			}
			if user, ok := list.Find(fields[2]); !ok || user.Name != fields[1] || user.Role.String() != fields[0] {
				t.Fatalf("line %q gives %v, %v", line, user, ok)
			}
		}
		if user, ok := list.Find(text + "!"); ok {
			t.Fatalf("found %v", user)
		}
	})
}
