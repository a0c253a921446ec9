package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/spratdb/sprat/internal/realdata"
)

const snapshotFields = `target id indexes vectors files files_unchanged bytes chunks_new chunks_shared bytes_new
	chunks_read bytes_read snapshots_removed chunks_removed elapsed_ns`

// s3URL is the URL of a bucket of an S3 server in this process.
func s3URL(t *testing.T) string {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	nowhere := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": nowhere, "AWS_SHARED_CREDENTIALS_FILE": nowhere, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "AWS_REGION": "",
		"AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "", "HTTP_PROXY": "", "http_proxy": "",
	} {
		t.Setenv(name, value)
	}
	return "s3://bucket/backups?endpoint=" + server.URL
}

// A store goes into a folder and into an object store, twice each, and comes back.
func TestSnapshotRestore(t *testing.T) {
	f := writeSet(t, realdata.Text(), 300)
	for name, target := range map[string]string{"folder": filepath.Join(t.TempDir(), "snapshots"), "object store": s3URL(t)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			store, restored := filepath.Join(dir, "store"), filepath.Join(dir, "restored")
			must(t, "build", "--data", store, "--index", "b/i", "--input", f.base, "--keys", f.keys, "--metric", "cosine")
			take := []string{"snapshot", "--data", store, "--to", target}
			first := mustJSON(t, append(take, "--label", "the first")...)
			mustHave(t, first, snapshotFields)
			if first["vectors"] != 300.0 || first["indexes"] != 1.0 || first["chunks_new"] == 0.0 {
				t.Errorf("the first snapshot: %v", first)
			}
			must(t, "delete", "--data", store, "--index", "b/i", "--keys", put(t, "keys", []byte(realdata.Text().Keys[0]+"\n")))
			if text := must(t, take...); !strings.Contains(text, "299 vectors") {
				t.Errorf("snapshot says\n%s", text)
			}
			list := mustJSON(t, "snapshot", "--list", "--to", target)["snapshots"].([]any)
			if len(list) != 2 || list[0].(map[string]any)["label"] != "the first" || list[1].(map[string]any)["vectors"] != 299.0 {
				t.Errorf("list: %v", list)
			}
			if text := must(t, "snapshot", "--list", "--to", target); !strings.Contains(text, "2 snapshots") || !strings.Contains(text, "the first") {
				t.Errorf("list says\n%s", text)
			}
			id := first["id"].(string)
			if v := mustJSON(t, "snapshot", "--verify", "--to", target, "--snapshot", id); v["ok"] != true || v["id"] != id || v["bytes_read"] == 0.0 {
				t.Errorf("verify: %v", v)
			}
			got := mustJSON(t, "restore", "--from", target, "--data", restored, "--snapshot", id)
			mustHave(t, got, snapshotFields)
			if stats := mustJSON(t, "verify", "--data", restored); stats["ok"] != true {
				t.Errorf("the restored store: %v", stats)
			}
			if text := must(t, "verify", "--data", restored); !strings.Contains(text, "300") {
				t.Errorf("the restored store holds\n%s", text)
			}
			if o := execute("restore", "--from", target, "--data", restored); o.code != exitFailed || !strings.Contains(o.stderr, "not an empty directory") {
				t.Errorf("restore over a store: exit %d: %s", o.code, o.stderr)
			}
			third := mustJSON(t, append(take, "--keep", "1", "--workers", "2")...)
			if pruned, _ := third["pruned"].(map[string]any); pruned["snapshots_removed"] != 2.0 || third["files_unchanged"] == 0.0 {
				t.Errorf("the third snapshot: %v", third)
			}
			if text := must(t, "restore", "--from", target, "--data", filepath.Join(dir, "again")); !strings.Contains(text, third["id"].(string)) {
				t.Errorf("restore says\n%s", text)
			}
			must(t, "snapshot", "--unlock", "--to", target)
		})
	}
}

func TestSnapshotDamage(t *testing.T) {
	dir := t.TempDir()
	store, target := filepath.Join(dir, "store"), filepath.Join(dir, "snapshots")
	must(t, "build", "--data", store, "--index", "b/i", "--metric", "dot", "--input", put(t, "rows.fbin", fbin([]float32{1, 2}, []float32{3, 4})))
	must(t, "snapshot", "--data", store, "--to", target)
	pieces, err := filepath.Glob(filepath.Join(target, "chunks", "*", "*"))
	if err != nil || len(pieces) == 0 {
		t.Fatal(pieces, err)
	}
	if err := os.WriteFile(pieces[0], []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := execute("snapshot", "--verify", "--to", target)
	if o.code != exitBelow || !strings.Contains(o.stdout, filepath.Base(pieces[0])) || !strings.Contains(o.stderr, "damaged") {
		t.Errorf("verify of damage: exit %d: %s%s", o.code, o.stdout, o.stderr)
	}
	if o := execute("snapshot", "--verify", "--to", target, "--json"); o.code != exitBelow || !strings.Contains(o.stdout, `"ok":false`) {
		t.Errorf("verify of damage: exit %d: %s%s", o.code, o.stdout, o.stderr)
	}
	if o := execute("restore", "--from", target, "--data", filepath.Join(dir, "new")); o.code != exitFailed || !strings.Contains(o.stderr, pieces[0]) {
		t.Errorf("restore of damage: exit %d: %s", o.code, o.stderr)
	}
}

// What cannot be done is refused, and makes no folder.
func TestSnapshotUsage(t *testing.T) {
	dir := t.TempDir()
	store, none, empty := filepath.Join(dir, "store"), filepath.Join(dir, "none"), t.TempDir()
	must(t, "build", "--data", store, "--index", "b/i", "--metric", "dot", "--input", put(t, "rows.fbin", fbin([]float32{1, 2})))
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"snapshot --data " + store, exitUsage, `required flag(s) "to" not set`},
		{"snapshot --to " + none, exitUsage, "[list verify unlock data] is required"},
		{"snapshot --to " + none + " --list --data " + store, exitUsage, "[data list] were all set"},
		{"snapshot --to " + none + " --list --label x", exitUsage, "go with a new snapshot"},
		{"snapshot --to " + none + " --list --snapshot x", exitUsage, "goes with --verify"},
		{"snapshot --to " + none + " --keep 0 --data " + store, exitUsage, "want a whole number from 1"},
		{"snapshot --to " + empty + " --workers 300 --data " + store, exitUsage, "workers: want 1 to 256"},
		{"snapshot --to s3://key:secret@bucket/x --list", exitUsage, "--to: "},
		{"snapshot --to " + filepath.Join(store, "inside") + " --data " + store, exitUsage, "outside of stores"},
		{"snapshot --to " + none + " --list", exitFailed, "no such file"},
		{"snapshot --to " + empty + " --verify", exitFailed, "no such snapshot"},
		{"snapshot --to " + empty + " --data " + none, exitFailed, "no such file"},
		{"snapshot --to " + empty + " --data " + t.TempDir(), exitFailed, "not a sprat store"},
		{"restore --data " + none, exitUsage, `required flag(s) "from" not set`},
		{"restore --from " + none + " --data " + empty, exitFailed, "no such file"},
		{"restore --from " + empty + " --data " + filepath.Join(store, "inside"), exitUsage, "outside of stores"},
		{"restore --from " + empty + " --data " + none + " --snapshot x", exitFailed, "is no id of a snapshot"},
		{"drop --data " + store, exitUsage, `required flag(s) "index" not set`},
		{"drop --data " + store + " --index b", exitUsage, "want the names of a bucket and an index"},
		{"drop --data " + store + " --index b/j", exitFailed, "not found"},
		{"drop --data " + none + " --index b/i", exitFailed, "no such file"},
	} {
		o := execute(words(c.line)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.want) {
			t.Errorf("sprat %s: exit %d, want %d with %q\n%s", c.line, o.code, c.code, c.want, o.stderr)
		}
		oneErrorLine(t, c.line, o)
	}
	for _, path := range []string{none, filepath.Join(store, "inside")} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was made", path)
		}
	}
}

func TestDrop(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	rows := put(t, "rows.fbin", fbin([]float32{1, 2}, []float32{3, 4}))
	for _, index := range words("b/i b/j") {
		must(t, "build", "--data", store, "--index", index, "--metric", "dot", "--input", rows)
	}
	if got := mustJSON(t, "drop", "--data", store, "--index", "b/i"); got["index"] != "b/i" {
		t.Errorf("drop: %v", got)
	}
	if text := must(t, "drop", "--data", store, "--index", "b/j"); text != "dropped b/j\n" {
		t.Errorf("drop says %q", text)
	}
	if got := mustJSON(t, "stats", "--data", store); got["indexes"] != nil {
		t.Errorf("left: %v", got["indexes"])
	}
}
