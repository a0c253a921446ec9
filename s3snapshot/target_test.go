package s3snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spratdb/sprat/internal/archive"
)

func TestObjects(t *testing.T) {
	for _, prefix := range []string{"", "some/where"} {
		s := newServer(t)
		o, ctx := s.target(t, prefix), t.Context()
		for _, name := range []string{"a/b", "a.b", "a/c d+e", "f"} {
			for _, text := range []string{"old", name, ""} {
				if err := o.Put(ctx, name, []byte(text)); err != nil {
					t.Fatal(err)
				}
				data, err := o.Get(ctx, name)
				if has, hasErr := o.Has(ctx, name); string(data) != text || err != nil || !has || hasErr != nil {
					t.Errorf("%s: %q, %v, %v, %v", name, data, err, has, hasErr)
				}
			}
		}
		for prefix, want := range map[string][]string{
			"": {"a.b", "a/b", "a/c d+e", "f"}, "a/": {"a/b", "a/c d+e"}, "f": {"f"}, "x": nil,
		} {
			if names, err := o.List(ctx, prefix); err != nil || !reflect.DeepEqual(names, want) {
				t.Errorf("list %q: %q, %v, want %q", prefix, names, err, want)
			}
		}
		for range 2 {
			if err := o.Delete(ctx, "f"); err != nil {
				t.Error(err)
			}
		}
		if _, err := o.Get(ctx, "f"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("get what is deleted: %v", err)
		}
		if has, err := o.Has(ctx, "f"); has || err != nil {
			t.Errorf("has what is deleted: %v, %v", has, err)
		}
		if s.wrongSum > 0 {
			t.Errorf("%d puts without the checksum of their content", s.wrongSum)
		}
	}
}

func TestPrefixesAreApart(t *testing.T) {
	s := newServer(t)
	one, other, ctx := s.target(t, "one"), s.target(t, "one-more"), t.Context()
	if err := errors.Join(one.Put(ctx, "a", nil), other.Put(ctx, "b", nil)); err != nil {
		t.Fatal(err)
	}
	if names, err := one.List(ctx, ""); err != nil || !reflect.DeepEqual(names, []string{"a"}) {
		t.Errorf("one holds %q, %v", names, err)
	}
}

func TestNamesAreChecked(t *testing.T) {
	o := newServer(t).target(t, "p")
	for _, name := range []string{"", ".", "../a", "/a", "a//b", "a/", "a\x00", "\xff"} {
		_, getErr := o.Get(t.Context(), name)
		_, hasErr := o.Has(t.Context(), name)
		for _, err := range []error{getErr, hasErr, o.Put(t.Context(), name, nil), o.Delete(t.Context(), name)} {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%q: error %v, want %v", name, err, fs.ErrInvalid)
			}
		}
	}
}

func TestListIsPaginated(t *testing.T) {
	s := newServer(t)
	o := s.target(t, "p")
	var want []string
	for i := range 25 {
		name := fmt.Sprintf("n/%02d", i)
		want = append(want, name)
		if err := o.Put(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.pageSize = 4
	gets := s.count(http.MethodGet, func() {
		if names, err := o.List(t.Context(), "n/"); err != nil || !reflect.DeepEqual(names, want) {
			t.Errorf("list: %q, %v", names, err)
		}
	})
	if gets != 7 {
		t.Errorf("%d requests, want 7 pages", gets)
	}
}

func TestCreate(t *testing.T) {
	for name, faults := range map[string][]fault{
		"conditional": nil,
		"not known to the server": {
			{http.MethodPut, http.StatusNotImplemented, "NotImplemented", "no"}},
	} {
		s := newServer(t)
		o := s.target(t, "p").(archive.Creator)
		s.order(faults...)
		if err := o.Create(t.Context(), "lock", []byte("1")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s.order(faults...)
		if err := o.Create(t.Context(), "lock", []byte("2")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: second: error %v, want %v", name, err, fs.ErrExist)
		}
	}
}

// Faults that may pass are tried again, others are not, and there is an end.
func TestRetries(t *testing.T) {
	busy := func(method string, n int) (list []fault) {
		for range n {
			list = append(list, fault{method, http.StatusServiceUnavailable, "SlowDown", "reduce your rate"})
		}
		return list
	}
	ctx := t.Context()
	put := func(o archive.Objects) error { return o.Put(ctx, "b", []byte("text")) }
	get := func(o archive.Objects) error {
		data, err := o.Get(ctx, "a")
		if err == nil && string(data) != "some text" {
			err = fmt.Errorf("got %q", data)
		}
		return err
	}
	for name, c := range map[string]struct {
		faults []fault
		method string
		do     func(archive.Objects) error
		want   error // nil: none; io.EOF stands for any
		calls  int
	}{
		"put, busy":    {busy(http.MethodPut, 2), http.MethodPut, put, nil, 3},
		"put, failing": {busy(http.MethodPut, 9), http.MethodPut, put, io.EOF, 5},
		"put, 500": {[]fault{{http.MethodPut, http.StatusInternalServerError, "InternalError", "oops"}},
			http.MethodPut, put, nil, 2},
		"put, refused": {[]fault{{http.MethodPut, http.StatusForbidden, "AccessDenied", "no"}},
			http.MethodPut, put, io.EOF, 1},
		"get, busy":    {busy(http.MethodGet, 4), http.MethodGet, get, nil, 5},
		"get, cut":     {[]fault{{method: http.MethodGet}, {method: http.MethodGet}}, http.MethodGet, get, nil, 3},
		"get, all cut": {make5(fault{method: http.MethodGet}), http.MethodGet, get, io.ErrUnexpectedEOF, 5},
		"get, missing": {[]fault{{http.MethodGet, http.StatusNotFound, "NoSuchKey", "none"}}, http.MethodGet, get, fs.ErrNotExist, 1},
		"get, no bucket": {[]fault{{http.MethodGet, http.StatusNotFound, "NoSuchBucket", "none"}},
			http.MethodGet, get, io.EOF, 1},
		"list, busy": {busy(http.MethodGet, 1), http.MethodGet, func(o archive.Objects) error {
			names, err := o.List(ctx, "")
			if err == nil && len(names) != 1 {
				err = fmt.Errorf("listed %q", names)
			}
			return err
		}, nil, 2},
		"list, cut": {[]fault{{method: http.MethodGet}}, http.MethodGet, func(o archive.Objects) error {
			_, err := o.List(ctx, "")
			return err
		}, nil, 2},
		"delete, busy": {busy(http.MethodDelete, 1), http.MethodDelete,
			func(o archive.Objects) error { return o.Delete(ctx, "a") }, nil, 2},
	} {
		s := newServer(t)
		o := s.target(t, "p")
		if err := o.Put(ctx, "a", []byte("some text")); err != nil {
			t.Fatal(err)
		}
		s.order(c.faults...)
		var err error
		calls := s.count(c.method, func() { err = c.do(o) })
		if (err != nil) != (c.want != nil) || err != nil && c.want != io.EOF && !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		if c.want == io.EOF && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist)) {
			t.Errorf("%s: error %v says more than it should", name, err)
		}
		if calls != c.calls {
			t.Errorf("%s: %d requests, want %d", name, calls, c.calls)
		}
	}
}

func make5(f fault) []fault { return []fault{f, f, f, f, f} }

func TestNewFindsFaults(t *testing.T) {
	s := newServer(t)
	isolate(t)
	good := s.config("p")
	missing, unset, keyless := good, good, good
	missing.Bucket = "other"
	unset.Endpoint = ""
	keyless.AccessKey, keyless.SecretKey, keyless.SessionToken = "", "", ""
	for name, c := range map[string]struct {
		config Config
		want   error // io.EOF stands for any
	}{
		"no bucket":      {Config{}, ErrConfig},
		"bucket missing": {missing, fs.ErrNotExist},
		"no region":      {unset, ErrConfig},
		"no credentials": {keyless, io.EOF},
	} {
		o, err := New(t.Context(), c.config)
		if err == nil || c.want != io.EOF && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, error %v, want %v", name, o, err, c.want)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", testAccess)
	t.Setenv("AWS_SECRET_ACCESS_KEY", testSecret)
	if _, err := New(t.Context(), keyless); err != nil {
		t.Errorf("credentials of the environment: %v", err)
	}
}

// Whatever goes wrong, even a server that sends back what it was sent, no secret
// gets out.
func TestErrorsHoldNoSecret(t *testing.T) {
	s := newServer(t)
	o, ctx := s.target(t, "p"), t.Context()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	var found []error
	for _, status := range []int{400, 403, 404, 409, 412, 500, 501} {
		for _, method := range []string{http.MethodPut, http.MethodGet, http.MethodDelete} {
			for range 5 {
				s.order(fault{method, status, "Code" + testToken, "you sent " + testSecret + " and " + testToken})
			}
		}
		_, err := o.Get(ctx, "a")
		_, listErr := o.List(ctx, "")
		found = append(found, err, listErr, o.Put(ctx, "a", nil), o.Delete(ctx, "a"), o.Put(cancelled, "a", nil))
		s.mu.Lock()
		s.faults = nil
		s.mu.Unlock()
	}
	dead := s.config("p")
	dead.Endpoint, dead.Attempts = unreachable(t), 2
	_, deadErr := New(ctx, dead)
	if deadErr == nil {
		t.Error("no error from where nothing listens")
	}
	found = append(found, deadErr)
	texts := []string{o.String(), fmt.Sprintf("%v %+v %#v %s", dead, dead, dead, dead)}
	for _, err := range found {
		if err != nil {
			texts = append(texts, err.Error(), fmt.Sprintf("%+v", err))
		}
	}
	if len(texts) < 40 {
		t.Errorf("only %d texts", len(texts))
	}
	for _, text := range texts {
		if strings.Contains(text, testSecret) || strings.Contains(text, testToken) {
			t.Errorf("a secret is in %q", text)
		}
	}
	if err := o.Put(cancelled, "a", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

func files(c map[string]string) (list []archive.File) {
	for path, text := range c {
		list = append(list, archive.File{Path: path, Size: int64(len(text)), Open: func() (io.ReaderAt, io.Closer, error) {
			return strings.NewReader(text), nil, nil
		}})
	}
	return list
}

// The whole life of snapshots, with a server that fails now and then.
func TestSnapshots(t *testing.T) {
	s := newServer(t)
	s.pageSize = 3
	o, ctx := s.target(t, "backups/main"), t.Context()
	large := ""
	for i := range 10000 { // no two pieces are alike
		large += fmt.Sprintf("%08d", i)
	}
	old := map[string]string{"a": large, "b/c": "small", "empty": ""}
	now := map[string]string{"a": large[:50000] + "X" + large[50001:], "d": strings.Repeat("\x00", 70000)}
	opts := archive.Options{ChunkBytes: 10000}
	stumble := func() {
		s.order(fault{http.MethodPut, 500, "InternalError", ""}, fault{http.MethodGet, 503, "SlowDown", ""},
			fault{method: http.MethodGet})
	}
	stumble()
	first, _, err := archive.Write(ctx, o, files(old), opts)
	if err != nil {
		t.Fatal(err)
	}
	stumble()
	second, stats, err := archive.Write(ctx, o, files(now), opts)
	if err != nil || stats.ChunksNew != 1 || stats.ChunksShared != 7 {
		t.Fatalf("second snapshot: %+v, %v", stats, err)
	}
	for id, want := range map[string]map[string]string{first.ID: old, "": now} {
		stumble()
		dir := filepath.Join(t.TempDir(), "target")
		if _, err := archive.Restore(ctx, o, id, dir, opts); err != nil {
			t.Fatal(err)
		}
		for path, text := range want {
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
			if err != nil || !bytes.Equal(data, []byte(text)) {
				t.Errorf("%s of %q: %d bytes, %v, want %d", path, id, len(data), err, len(text))
			}
		}
	}
	stumble()
	if stats, err := archive.Prune(ctx, o, 1, opts); err != nil || stats.ChunksRemoved != 2 {
		t.Errorf("prune: %+v, %v", stats, err)
	}
	if _, err := archive.Verify(ctx, o, second.ID, opts); err != nil {
		t.Error(err)
	}
	if has, err := o.Has(ctx, "lock"); has || err != nil {
		t.Errorf("the lease is left: %v, %v", has, err)
	}
	if s.wrongSum > 0 {
		t.Errorf("%d puts without the checksum of their content", s.wrongSum)
	}
}
