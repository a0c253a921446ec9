package fio

import (
	"errors"
	"fmt"
)

var (
	// ErrBusy says that another calibration is running in the directory.
	ErrBusy = errors.New("another calibration is running here")
	// ErrNoSpace says that the volume has no room for the test file.
	ErrNoSpace = errors.New("no room for the test file")
	// ErrConfig marks a Config that cannot be carried out.
	ErrConfig = errors.New("bad calibration")
	// ErrProgram marks a failure of the program fio, or output of it that cannot be
	// understood.
	ErrProgram = errors.New("the program fio failed")
)

func badConfig(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...)
}
