package accesskeys

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const secret = "very/secret+value"

const good = "\xef\xbb\xbf# two users\n[alice]\naws_access_key_id = AKIA1\r\naws_secret_access_key=" + secret + "\nrole = read\nregion = eu-west-1\n" +
	"expires = 2027-01-31T12:00:00Z\n\n; another\n[bob]\nAWS_ACCESS_KEY_ID=AKIA2\naws_secret_access_key = other=secret==\naws_session_token = t0ken\n"

func TestParse(t *testing.T) {
	keys, err := Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	want := Static{
		"AKIA1": {User: "alice", ID: "AKIA1", Secret: secret, Role: Read, Expires: time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)},
		"AKIA2": {User: "bob", ID: "AKIA2", Secret: "other=secret==", SessionToken: "t0ken", Role: Admin},
	}
	for id, k := range want {
		if keys[id] != k {
			t.Errorf("%s: got %+v, want %+v", id, keys[id], k)
		}
	}
	if len(keys) != len(want) {
		t.Errorf("%d keys", len(keys))
	}
	if _, ok := keys.Lookup("AKIA3"); ok {
		t.Error("a key that is not there was found")
	}
}

func TestParseRefused(t *testing.T) {
	user := "[a]\naws_access_key_id=AKIA1\naws_secret_access_key=" + secret + "\n"
	for name, text := range map[string]string{
		"no user":         "aws_access_key_id=AKIA1\n",
		"no value":        "[a]\nrole\n",
		"unknown role":    user + "role = root\n",
		"bad time":        user + "expires = tomorrow\n",
		"no secret":       "[a]\naws_access_key_id=AKIA1\n",
		"no id":           "[a]\naws_secret_access_key=" + secret + "\n[b]\n",
		"short secret":    "[a]\naws_access_key_id=AKIA1\naws_secret_access_key=x\n",
		"space in secret": "[a]\naws_access_key_id=AKIA1\naws_secret_access_key=" + secret + " x\n",
		"odd id":          "[a]\naws_access_key_id=AK IA\naws_secret_access_key=" + secret + "\n",
		"user twice":      user + user,
		"id twice":        user + "[b]\naws_access_key_id=AKIA1\naws_secret_access_key=" + secret + "\n",
		"open bracket":    "[a\n",
		"empty name":      "[]\n",
		"odd name":        "[a:b]\n",
	} {
		_, err := Parse([]byte(text))
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error holds the secret: %v", name, err)
		}
	}
}

func TestNothingSecretIsPrinted(t *testing.T) {
	keys, err := Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%v %+v %#v %s", keys["AKIA1"], keys, keys["AKIA2"], keys)
	for _, word := range []string{secret, "other", "t0ken"} {
		if strings.Contains(text, word) {
			t.Errorf("%q is printed: %s", word, text)
		}
	}
}

// TestReload: changes come into force after a second; what is bad changes nothing, and
// is told once.
func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(good)
	var log bytes.Buffer
	f, err := Open(path, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Now()
	f.now = func() time.Time { return clock }
	has := func(id string) bool { _, ok := f.Lookup(id); return ok }

	write(strings.ReplaceAll(good, "AKIA1", "AKIA10"))
	clock = clock.Add(checkEvery / 2)
	if !has("AKIA1") || has("AKIA10") {
		t.Error("the file was looked at too early")
	}
	clock = clock.Add(checkEvery)
	if has("AKIA1") || !has("AKIA10") || !has("AKIA2") {
		t.Error("the change is not in force")
	}
	write("[broken]\naws_secret_access_key = " + secret + "\n")
	for range 3 {
		clock = clock.Add(2 * checkEvery)
		if !has("AKIA10") {
			t.Error("a bad file took the keys away")
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(2 * checkEvery)
	if !has("AKIA10") {
		t.Error("a missing file took the keys away")
	}
	write("")
	clock = clock.Add(2 * checkEvery)
	if has("AKIA10") {
		t.Error("keys of before an empty file are in force")
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 2 {
		t.Errorf("%d errors were logged, want 2:\n%s", n, log.String())
	}
	if strings.Contains(log.String(), secret) {
		t.Errorf("the log holds a secret:\n%s", log.String())
	}
}

func TestOpenRefused(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{"missing": filepath.Join(dir, "no"), "folder": dir} {
		if _, err := Open(path, nil); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

func TestGenerate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if made, err := Generate(path); err != nil || !made {
		t.Fatal(made, err)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if made, err := Generate(path); err != nil || made {
		t.Errorf("again: %v, %v", made, err)
	}
	again, _ := os.ReadFile(path)
	if !bytes.Equal(first, again) {
		t.Error("the file was changed")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range *f.keys.Load() {
		if k.Role != Admin || len(k.Secret) != 40 {
			t.Errorf("%v, a secret of %d characters", k, len(k.Secret))
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("[a]\n=\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := Parse(text)
		if err != nil {
			return
		}
		for id, k := range keys {
			if k.ID != id || k.check() != nil || k.User == "" || k.Role == "" {
				t.Fatalf("%v", k)
			}
		}
	})
}
