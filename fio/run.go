package fio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spratdb/sprat"
)

// Run calibrates a volume. Errors: ErrConfig, ErrBusy, ErrNoSpace, ErrProgram for
// a fio that was asked for by path, the context's, and those of the store, the
// engines and the volume. Nothing but the profile of the volume, with the store in
// Config.Dir if there is one, is left behind.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return calibrate(ctx, cfg, timingOf(cfg))
}

// calibrate is Run for a configuration that is complete.
func calibrate(ctx context.Context, cfg Config, t timing) (*Report, error) {
	b := &bench{cfg: cfg, timing: t, posting: postingBytes, until: time.Now().Add(t.whole), report: &Report{
		SchemaVersion: SchemaVersion, MeasuredAt: time.Now().UTC().Truncate(time.Second), Quick: cfg.Quick, Notes: []string{},
	}}
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	return b.report, nil
}

func (b *bench) run(ctx context.Context) error {
	if err := b.absolute(); err != nil {
		return err
	}
	path, version, err := findProgram(ctx, b.cfg.Program)
	if err != nil {
		return err
	}
	if path == "" && b.cfg.Program != ProgramOff {
		b.report.ProgramHint = InstallHint
	}
	hasStore, err := b.checkStore()
	if err != nil {
		return err
	}
	b.report.Environment, err = environmentOf(b.cfg)
	if err != nil {
		return err
	}
	b.clock = newClock(b.cfg.Progress, phases(b.cfg, b.timing, path != ""))
	defer b.clock.tell()()
	if err := b.volume(ctx, path); err != nil {
		return err
	}
	if b.report.Program != nil {
		b.report.Program.Version = version
	}
	b.judge()
	if hasStore {
		b.keep(ctx)
	} else {
		b.note("%s holds no store, so the result was not stored.", b.cfg.Dir)
	}
	if b.cfg.Index != nil {
		own, all, began := processCPU(), machineCPU(), time.Now()
		if err := b.index(ctx); err != nil {
			return err
		}
		b.noteOthers(machineCPU()-all-(processCPU()-own), time.Since(began))
	}
	b.report.Seconds = round(time.Since(b.clock.began).Seconds(), 1)
	return nil
}

// absolute makes the paths so: the program fio runs in another folder, and a
// report should not depend on ours.
func (b *bench) absolute() (err error) {
	for _, path := range []*string{&b.cfg.Dir, &b.cfg.File} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return fmt.Errorf("calibrate: %w", err)
		}
	}
	return nil
}

// storeMarker is the file that marks the directory of a store.
const storeMarker = "SPRAT"

// checkStore finds out, before anything is measured, whether there is a store and
// whether it and the index can be opened.
func (b *bench) checkStore() (bool, error) {
	if st, err := os.Stat(b.cfg.Dir); err != nil {
		return false, fmt.Errorf("calibrate: %w", err)
	} else if !st.IsDir() {
		return false, badConfig("%s is no directory", b.cfg.Dir)
	}
	if _, err := os.Stat(filepath.Join(b.cfg.Dir, storeMarker)); err != nil {
		if b.cfg.Index != nil {
			return false, badConfig("%s holds no store, so there is no index to measure", b.cfg.Dir)
		}
		return false, nil
	}
	if b.cfg.Index != nil {
		return true, b.withIndex(b.cfg.Store, func(_ *sprat.Store, ix *sprat.Index) error {
			b.posting = (int(ix.Stats().PostingBytesMean) + block - 1) / block * block
			for i, q := range b.cfg.Index.Queries {
				if len(q) != ix.Dimension() {
					return badConfig("query %d has %d dimensions, the index has %d", i, len(q), ix.Dimension())
				}
			}
			return nil
		})
	}
	s, err := sprat.Open(b.cfg.Dir, b.readOnly())
	if err != nil {
		return false, err
	}
	return true, s.Close()
}

func (b *bench) readOnly() sprat.Options {
	o := b.cfg.Store
	o.ReadOnly = true
	return o
}

// keep stores the profile with the store. That it cannot, because the store may
// only be read, is noted: the result is still good.
func (b *bench) keep(ctx context.Context) {
	s, err := sprat.Open(b.cfg.Dir, b.cfg.Store)
	if err == nil {
		err = errors.Join(s.SetVolume(ctx, profileOf(b.report)), s.Close())
	}
	if err != nil {
		b.note("The result was not stored: %v.", err)
		return
	}
	b.report.Stored = true
}

// profileOf is what a store keeps of a report.
func profileOf(r *Report) sprat.VolumeProfile {
	d := r.Derived
	p := sprat.VolumeProfile{
		MeasuredAt: r.MeasuredAt, Engine: d.Engine, Direct: d.Direct, IOPS: d.IOPS, BytesPerSecond: d.MiBps * mib,
		KneeDepth: d.Knee, Depth: d.Depth, BaseLatency: time.Duration(d.BaseLatency * float64(time.Microsecond)),
	}
	if r.Expectation != nil {
		p.ExpectIOPS = r.Expectation.IOPS
	}
	return p
}
