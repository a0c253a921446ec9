package iopath

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The sysctl kernel.io_uring_disabled is of the whole machine, so it is changed for
// some milliseconds only, by one process at a time (which the lock on it sees to),
// from 0 only, and there are two who change it back: the helper that has changed it,
// and a watchman outside its session, who does so when the helper is gone, however
// it went.

const ringSysctl = "/proc/sys/kernel/io_uring_disabled"

// disabled is what the helper "sysctl" is told.
type disabled struct {
	Order order
	Value string
}

// disabledReport is what it says.
type disabledReport struct {
	Skip  string        // why nothing was tried
	Root  report        // of Open as root
	Plain report        // of Open without privileges
	Took  time.Duration // how long others were refused: all, or those without privileges
}

func init() {
	helpers["sysctl"] = helpSysctl
	helpers["watchman"] = helpWatchman
}

// helpWatchman sets the sysctl to 0 when its standard input ends. It inherits the
// lock, which goes with the last who has it.
func helpWatchman() error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	fmt.Println("here")
	_, err := io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, setRingSysctl("0"))
}

func setRingSysctl(value string) error { return os.WriteFile(ringSysctl, []byte(value), 0o644) }

// helpSysctl changes the sysctl and opens engines meanwhile.
func helpSysctl() error {
	var d disabled
	if err := json.Unmarshal([]byte(os.Getenv(orderEnv)), &d); err != nil {
		return err
	}
	if err := d.Order.prepare(); err != nil {
		return err
	}
	r, err := d.run()
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(r))
}

func (d disabled) run() (r disabledReport, err error) {
	lock, err := os.OpenFile(ringSysctl, os.O_RDWR, 0)
	if err != nil {
		return disabledReport{Skip: err.Error()}, nil
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return disabledReport{Skip: "somebody else is changing it"}, nil
	}
	if now := readTrimmed(ringSysctl); now != "0" {
		return disabledReport{Skip: "it is " + now + " on this machine"}, nil
	}
	if err := setRingSysctl("0"); err != nil {
		return disabledReport{Skip: err.Error()}, nil
	}
	dismiss, err := watchman(lock)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, dismiss()) }()
	start := time.Now()
	if d.Value == "2" {
		d.Order.opened = func() error {
			defer func() { r.Took = time.Since(start) }()
			return setRingSysctl("0")
		}
	}
	if err := setRingSysctl(d.Value); err != nil {
		return r, err
	}
	if r.Root, err = d.Order.open(); err != nil || d.Value == "2" {
		return r, err
	}
	// Only the watchman can set it back after this.
	if err := errors.Join(syscall.Setresgid(65534, 65534, 65534), syscall.Setresuid(65534, 65534, 65534)); err != nil {
		return r, err
	}
	r.Plain, err = d.Order.open()
	r.Took = time.Since(start)
	return r, err
}

// watchman starts a watchman and returns what dismisses him: the sysctl is 0 then.
func watchman(lock *os.File) (dismiss func() error, err error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), helperEnv+"=watchman", "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.ExtraFiles = []*os.File{lock}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		return nil, errors.Join(err, in.Close(), cmd.Wait())
	}
	return func() error { return errors.Join(in.Close(), cmd.Wait()) }, nil
}

// TestRingDisabledBySysctl sets the real sysctl.
func TestRingDisabledBySysctl(t *testing.T) {
	needRing(t)
	needDirect(t)
	if os.Getuid() != 0 {
		t.Skip("setting a sysctl takes root")
	}
	if testing.Short() {
		t.Skip("the sysctl is of the whole machine")
	}
	for _, value := range []string{"1", "2"} {
		t.Run(value, func(t *testing.T) {
			text, err := json.Marshal(disabled{noOrder(openDir(t)), value})
			if err != nil {
				t.Fatal(err)
			}
			var r disabledReport
			if err := json.Unmarshal(helpPlainly(t, "sysctl", string(text), nil), &r); err != nil {
				t.Fatal(err)
			}
			if now := readTrimmed(ringSysctl); r.Skip == "" && now != "0" {
				t.Errorf("%s was left at %s", ringSysctl, now)
			}
			if r.Skip != "" {
				t.Skip(r.Skip)
			}
			t.Logf("others were refused for %v", r.Took)
			refused := r.Root
			if value == "1" {
				r.Root.expect(t, IOUring, true)
				refused = r.Plain
			}
			refused.expect(t, Pread, true, "io_uring+direct", "kernel.io_uring_disabled is "+value)
		})
	}
}

// TestRingDisabledAndHelperKilled kills who has changed the sysctl.
func TestRingDisabledAndHelperKilled(t *testing.T) {
	if os.Getuid() != 0 || testing.Short() {
		t.Skip("as TestRingDisabledBySysctl")
	}
	lock, err := os.OpenFile(ringSysctl, os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Skip("somebody else is changing it")
	}
	if now := readTrimmed(ringSysctl); now != "0" || setRingSysctl("0") != nil {
		t.Skipf("it is %s on this machine, or cannot be set", now)
	}
	dismiss, err := watchman(lock)
	if err != nil {
		t.Fatal(err)
	}
	// What the helper leaves when it is killed: a value, and an end of its pipe.
	if err := errors.Join(setRingSysctl("1"), dismiss()); err != nil {
		t.Fatal(err)
	}
	if now := strings.TrimSpace(readTrimmed(ringSysctl)); now != "0" {
		t.Errorf("the watchman left it at %s", now)
	}
}
