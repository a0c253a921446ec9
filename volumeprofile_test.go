package sprat

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestVolumeProfile(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	if p, ok := s.Volume(); ok {
		t.Fatalf("a new store has the profile %+v", p)
	}
	want := VolumeProfile{
		MeasuredAt: time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC), Engine: "io_uring", Direct: true, IOPS: 3000,
		BytesPerSecond: 125 << 20, KneeDepth: 4, Depth: 8, BaseLatency: time.Millisecond, ExpectIOPS: 3000,
	}
	mustDo(t, s.SetVolume(t.Context(), want))
	mustClose(t, s)
	s = openStore(t, dir, Options{})
	if got, ok := s.Volume(); !ok || got != want {
		t.Errorf("after a restart: %+v, %v, want %+v", got, ok, want)
	}
	for field, bad := range map[string]func(*VolumeProfile){
		"iops":           func(p *VolumeProfile) { p.IOPS = 0 },
		"bytesPerSecond": func(p *VolumeProfile) { p.BytesPerSecond = -1 },
		"kneeDepth":      func(p *VolumeProfile) { p.KneeDepth = 0 },
		"depth":          func(p *VolumeProfile) { p.Depth = 4097 },
		"baseLatency":    func(p *VolumeProfile) { p.BaseLatency = -1 },
		"expectIOPS":     func(p *VolumeProfile) { p.ExpectIOPS = -1 },
	} {
		p := want
		bad(&p)
		var e *InputError
		if err := s.SetVolume(t.Context(), p); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if got, _ := s.Volume(); got != want {
		t.Errorf("after refused ones: %+v", got)
	}
	mustClose(t, s)
	if err := s.SetVolume(t.Context(), want); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestVolumeProfileDamaged: a profile that cannot be read is none, and keeps
// nobody from opening the store.
func TestVolumeProfileDamaged(t *testing.T) {
	for _, text := range []string{"", "{", `{"version":2}`, `{"version":1,"iops":-3}`} {
		dir := t.TempDir()
		mustClose(t, openStore(t, dir, Options{}))
		mustDo(t, os.WriteFile(filepath.Join(dir, volumeFile), []byte(text), 0o644))
		s := openStore(t, dir, Options{})
		if p, ok := s.Volume(); ok {
			t.Errorf("%q: %+v", text, p)
		}
		mustClose(t, s)
	}
}
