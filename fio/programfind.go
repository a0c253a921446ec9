package fio

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
)

// Program is what the program fio measured on the same file.
type Program struct {
	Path    string  `json:"path"`
	Version string  `json:"version"` // "fio-3.33"
	Engine  string  `json:"engine"`  // fio's name for it
	Command string  `json:"command"` // of the deepest point, to run by hand
	Points  []Point `json:"points"`  // Threads is 0: it is not known
}

// InstallHint says how to get the program fio.
const InstallHint = `fio is not installed. To have its figures beside ours, install it:
  Debian, Ubuntu   apt-get install fio
  Fedora, RHEL     dnf install fio
  Alpine           apk add fio
  macOS            brew install fio`

// programName is looked for in PATH.
const programName = "fio"

// findProgram returns the program that a configuration asks for; "" is none.
// One that was asked for by path and does not run is an error, one that is merely
// missing is not.
func findProgram(ctx context.Context, choice string) (path, version string, err error) {
	switch choice {
	case ProgramOff:
		return "", "", nil
	case ProgramAuto:
		if path, err = exec.LookPath(programName); err != nil {
			return "", "", nil
		}
	default:
		path = choice
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", "", fmt.Errorf("%w: %s --version: %w", ErrProgram, path, err)
	}
	version = strings.TrimSpace(string(out))
	if !strings.HasPrefix(version, "fio-") {
		return "", "", fmt.Errorf("%w: %s is not fio: it calls itself %q", ErrProgram, path, version)
	}
	return path, version, nil
}

// programEngines are fio's engines to try, the best first.
func programEngines(ring bool) []string {
	if runtime.GOOS != "linux" {
		return []string{"posixaio"}
	}
	if ring {
		return []string{"io_uring", "libaio"}
	}
	return []string{"libaio"}
}

// failure describes how a run of the program ended, by what it wrote.
func failure(err error, stderr string) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && stderr != "" {
		line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
		return fmt.Errorf("%w: %w: %s", ErrProgram, err, line)
	}
	return fmt.Errorf("%w: %w", ErrProgram, err)
}
