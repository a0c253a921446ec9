package iopath

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

const linux = runtime.GOOS == "linux"

// helperEnv names the helper that a child process is to run instead of the
// tests; see helper_linux_test.go.
const helperEnv = "IOPATH_TEST_HELPER"

// helpers are the programs that this test binary can be.
var helpers = map[string]func() error{}

// TestMain runs the tests and looks for goroutines that were left behind, or
// runs a helper.
func TestMain(m *testing.M) {
	name := os.Getenv(helperEnv)
	if name == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := helpers[name](); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
