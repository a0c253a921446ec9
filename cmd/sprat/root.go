package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/bench"
)

// Exit codes; doc.go says what they mean.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitBelow  = 3
)

// cli is one run of the program.
type cli struct {
	stdout, stderr io.Writer
	config         string // --config
	began          bool   // the command line was understood and a command has begun
}

// usageError is bad usage that shows only when a command has begun.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func badUsage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// belowError says that a result was reported and is not what it should be.
type belowError struct{ text string }

func (e *belowError) Error() string { return e.text }

// run executes a command line, without the name of the program, and returns the
// exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // so that a second signal ends the process
	return runContext(ctx, args, stdout, stderr)
}

// runContext is run whose work ends with ctx.
func runContext(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := &cli{stdout: stdout, stderr: stderr}
	root := c.rootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	text := oneLine(err)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	fmt.Fprintf(stderr, "sprat: %s\n", text)
	return c.exitCode(err)
}

func (c *cli) exitCode(err error) int {
	var (
		usage *usageError
		below *belowError
		row   *sprat.RowError
	)
	switch {
	case !c.began, errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &below):
		return exitBelow
	case errors.As(err, &row):
		return exitFailed // a file holds what no index takes
	case errors.Is(err, sprat.ErrInvalid), errors.Is(err, bench.ErrWorkload), errors.Is(err, bench.ErrKeysUnknown):
		return exitUsage
	}
	return exitFailed
}

// oneLine is the text of an error without line breaks.
func oneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

func (c *cli) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "sprat",
		Short: "Vector search on block storage",
		Long: "sprat is a vector search engine that lives on block storage: quantized centroids stay in memory, " +
			"postings and vectors are read from the volume, few and together.\n\nStart with: sprat demo",
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return c.applyConfig(cmd) },
	}
	root.SetVersionTemplate("sprat {{.Version}}\n")
	root.PersistentFlags().StringVar(&c.config, "config", "",
		"`file` of lines \"flag = value\"; flags of the command line win")
	root.AddCommand(c.demoCommand(), c.buildCommand(), c.putCommand(), c.deleteCommand(), c.compactCommand(), c.repairCommand(), c.queryCommand(), c.truthCommand(), c.statsCommand(),
		c.traceCommand(), c.verifyCommand(), c.dropCommand(), c.snapshotCommand(), c.restoreCommand(), c.calibrateCommand(), c.benchCommand(), c.planCommand(), c.gatewayCommand(), c.serveCommand())
	return root
}

// action makes a command's work known to c: from here on an error is not one of
// the command line unless it says so.
func (c *cli) action(f func(ctx context.Context) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		c.began = true
		return f(cmd.Context())
	}
}

// version is the module's version, or the revision that was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	return v + " " + info.GoVersion
}
