package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// plainEvery is the least time between lines of progress where there is no
// terminal.
const plainEvery = 5 * time.Second

// progress shows how far long work is: a bar on a terminal, else a line now and
// then. It is for one goroutine at a time.
type progress struct {
	out      io.Writer
	terminal bool
	now      func() time.Time

	step string
	bar  *progressbar.ProgressBar // of the step, nil before the first
	said time.Time                // when the last line was written, or the work began
}

func (c *cli) newProgress() *progress {
	f, ok := c.stderr.(*os.File)
	return &progress{out: c.stderr, terminal: ok && term.IsTerminal(int(f.Fd())), now: time.Now, said: time.Now()}
}

// update says that a step has done so much of total, which is 0 or less while it
// is unknown.
func (p *progress) update(step string, done, total int64) {
	if p.terminal {
		p.drawBar(step, done, total)
		return
	}
	if p.now().Sub(p.said) < plainEvery {
		return
	}
	p.said = p.now()
	switch {
	case total > 0:
		fmt.Fprintf(p.out, "%s: %s of %s (%d %%)\n", step, count(done), count(total), 100*done/total)
	case done > 0:
		fmt.Fprintf(p.out, "%s: %s\n", step, count(done))
	default:
		fmt.Fprintf(p.out, "%s\n", step)
	}
}

func (p *progress) drawBar(step string, done, total int64) {
	if total <= 0 {
		total = -1
	}
	if p.bar == nil || step != p.step {
		p.done()
		p.step = step
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetDescription(step), progressbar.OptionShowCount(), progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	// A bar that cannot be drawn is no reason to end the work.
	_ = p.bar.Set64(done)
}

// done takes the bar away.
func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
