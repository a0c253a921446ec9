package fio

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// programJob is one run of the program: random reads that never write.
type programJob struct {
	engine string
	file   string
	direct bool
	depth  int
	bytes  int
	ramp   time.Duration
	window time.Duration
}

// arguments are what the program is started with.
func (j programJob) arguments() []string {
	direct := "0"
	if j.direct {
		direct = "1"
	}
	return []string{
		"--name=calibrate", "--readonly", "--thread",
		"--filename=" + strings.ReplaceAll(j.file, ":", `\:`), // a colon would separate two files
		"--rw=randread", "--norandommap", "--randrepeat=0",
		"--bs=" + strconv.Itoa(j.bytes), "--direct=" + direct,
		"--ioengine=" + j.engine, "--iodepth=" + strconv.Itoa(j.depth),
		"--time_based", "--runtime=" + milliseconds(j.window), "--ramp_time=" + milliseconds(j.ramp),
		"--group_reporting", "--output-format=json",
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }

// run starts the program and waits for its result. It is one process, which ends
// with ctx.
func (j programJob) run(ctx context.Context, path string) (Point, error) {
	cmd := exec.CommandContext(ctx, path, j.arguments()...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * time.Second // then it is killed
	cmd.Dir = os.TempDir()          // where it may leave what it likes
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return Point{}, context.Cause(ctx)
	}
	if err != nil {
		return Point{}, failure(err, stderr.String())
	}
	p, err := parseProgram(stdout.Bytes())
	p.Depth, p.Bytes = j.depth, j.bytes
	return p.rounded(), err
}

// command is the job as one would type it.
func (j programJob) command(path string) string {
	words := []string{path}
	for _, a := range j.arguments() {
		if strings.ContainsAny(a, " \t'\"\\$&;*?()<>|") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// programSweep runs the program at several depths with the first of the engines
// that works.
func programSweep(ctx context.Context, path string, engines []string, j programJob, depths []int, step func(depth int)) (*Program, error) {
	var first error
	for _, j.engine = range engines {
		p := &Program{Path: path, Engine: j.engine}
		err := p.sweep(ctx, j, depths, step)
		if err == nil || ctx.Err() != nil {
			return p, err
		}
		if first == nil {
			first = fmt.Errorf("engine %s: %w", j.engine, err)
		}
	}
	return nil, first
}

func (p *Program) sweep(ctx context.Context, j programJob, depths []int, step func(depth int)) error {
	for _, j.depth = range depths {
		step(j.depth)
		point, err := j.run(ctx, p.Path)
		if err != nil {
			return err
		}
		p.Points = append(p.Points, point)
	}
	p.Command = j.command(p.Path)
	return nil
}
