package archive

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// recorder is a store that must be told to sync, and notes what it is told.
type recorder struct {
	*memory
	events []string
}

func newRecorder() *recorder {
	r := &recorder{memory: newMemory()}
	r.before = func(op, name string) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		kind, _, _ := strings.Cut(name, "/")
		if event := op + " " + kind; len(r.events) == 0 || r.events[len(r.events)-1] != event {
			r.events = append(r.events, event)
		}
		return nil
	}
	return r
}

func (r *recorder) Sync(context.Context) error {
	r.events = append(r.events, "sync")
	return nil
}

func (r *recorder) Clean(context.Context) error {
	r.events = append(r.events, "clean")
	return nil
}

// A manifest never becomes durable before what it names, and no piece goes while
// a manifest that names it could come back.
func TestOrderOfWhatIsDurable(t *testing.T) {
	r, opts := newRecorder(), small()
	check := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(r.events, want) {
			t.Errorf("%s:\n got %q\nwant %q", what, r.events, want)
		}
		r.events = nil
	}
	mustWrite(t, r, content{"a": "1111111122222222"}.files(), opts)
	check("write", "put lock", "clean", "put chunks", "sync", "put snapshots", "sync", "delete lock")
	mustWrite(t, r, content{"a": "333"}.files(), opts)
	check("write", "put lock", "clean", "put chunks", "sync", "put snapshots", "sync", "delete lock")
	if _, err := Prune(t.Context(), r, 1, opts); err != nil {
		t.Fatal(err)
	}
	check("prune", "put lock", "clean", "delete snapshots", "sync", "delete chunks", "sync", "delete lock")
}
