package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat"
)

type verifyFlags struct {
	store storeFlags
	index indexFlag
	json  bool
}

// verifyResult is what verify --json prints.
type verifyResult struct {
	OK      bool                  `json:"ok"`
	Indexes []*sprat.VerifyReport `json:"indexes"`
	// Broken names the indexes that could not be opened, with the reason.
	Broken map[string]string `json:"broken,omitempty"`
}

func (c *cli) verifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify --data DIR",
		Short: "Read an index, or all of a store, and check the invariants",
		Long: "verify reads every posting, record and key, checks checksums and that they fit together, and reports " +
			"what is wrong. It exits with 3 when anything is.",
		Args: cobra.NoArgs,
		RunE: c.action(func(ctx context.Context) error { return c.verify(ctx, &f) }),
	}
	f.store.addData(cmd)
	cmd.Flags().Var(&f.index, "index", "one index (default: all)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) verify(ctx context.Context, f *verifyFlags) (err error) {
	store, closeStore, err := c.open(&f.store, f.store.data, true)
	if err != nil {
		return err
	}
	defer closeStore(&err)
	names, err := chosen(store, f.index)
	if err != nil {
		return err
	}
	bar := c.newProgress()
	defer bar.done()
	r := verifyResult{OK: true, Indexes: []*sprat.VerifyReport{}}
	for _, name := range names {
		if err := r.add(ctx, store, name, bar); err != nil {
			return err
		}
	}
	bar.done()
	if err := c.emit(f.json, &r, r.text); err != nil {
		return err
	}
	return r.verdict()
}

// chosen is the index that was named, or all of them, as "bucket/index".
func chosen(store *sprat.Store, index indexFlag) ([]string, error) {
	names, err := store.Indexes()
	if err != nil || index == (indexFlag{}) {
		return names, err
	}
	if !slices.Contains(names, index.String()) {
		return nil, fmt.Errorf("index %q: %w", index.String(), sprat.ErrNotFound)
	}
	return []string{index.String()}, nil
}

// add verifies one index. Only what keeps it from being read to the end is an
// error.
func (r *verifyResult) add(ctx context.Context, store *sprat.Store, name string, bar *progress) error {
	var which indexFlag
	if err := which.Set(name); err != nil {
		return err
	}
	ix, err := store.Index(which.bucket, which.name)
	if err != nil {
		if errors.Is(err, sprat.ErrClosed) {
			return err
		}
		if r.Broken == nil {
			r.Broken = map[string]string{}
		}
		r.Broken[name], r.OK = oneLine(err), false
		return nil
	}
	report, err := ix.Verify(ctx, func(step string, done, total int64) { bar.update(name+": "+step, done, total) })
	if err != nil {
		return err
	}
	r.Indexes = append(r.Indexes, report)
	r.OK = r.OK && report.OK()
	return nil
}

func (r *verifyResult) text(p *page) {
	for _, x := range r.Indexes {
		verdict := "sound"
		if !x.OK() {
			verdict = count(x.Faults) + " faults"
		}
		p.line("%s: %s", x.Index, verdict)
		p.row("postings", count(x.Postings), "with "+count(x.Entries)+" entries")
		p.row("records", count(x.Records))
		p.row("keys", count(x.Keys))
		p.row("not nearest", decimal(100*x.NearestViolations, 2)+" %", "of vectors are filed by another posting than the nearest: costs recall only")
		for _, problem := range x.Problems {
			p.line("  - %s", problem)
		}
		if more := x.Faults - int64(len(x.Problems)); more > 0 {
			p.line("  - and %s more", count(more))
		}
	}
	for name, why := range r.Broken {
		p.line("%s: cannot be opened: %s", name, why)
	}
	if len(r.Indexes)+len(r.Broken) == 0 {
		p.line("the store has no indexes")
	}
}

// verdict is nil when everything is sound.
func (r *verifyResult) verdict() error {
	if r.OK {
		return nil
	}
	var faults int64
	for _, x := range r.Indexes {
		faults += x.Faults
	}
	return &belowError{fmt.Sprintf("verify: %d faults, %d indexes that cannot be opened", faults, len(r.Broken))}
}
