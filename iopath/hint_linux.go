package iopath

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// hint says in words why a rung of the ladder probably failed and what can be
// done about it; "" when there is nothing to add to the error.
func hint(err error, r rung, dir string) string {
	ring := r.engine == IOUring && !errors.As(err, new(*os.PathError))
	switch {
	case ring && errors.Is(err, unix.EPERM):
		return uringForbidden(readTrimmed("/proc/sys/kernel/io_uring_disabled"))
	case ring && errors.Is(err, unix.ENOSYS):
		return "the kernel is older than 5.13, was built without io_uring, or a seccomp filter hides it"
	case ring && errors.Is(err, unix.ENOMEM) && !errors.As(err, new(*ReadError)):
		return "memory for the ring was refused: " + limitText("RLIMIT_MEMLOCK", unix.RLIMIT_MEMLOCK) +
			"; raise it with ulimit -l or LimitMEMLOCK=, or lower the depth"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return "out of file descriptors: " + limitText("RLIMIT_NOFILE", unix.RLIMIT_NOFILE)
	case r.direct && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP)):
		return "the file system (" + fileSystem(dir) + ") does not take O_DIRECT; put the data on ext4 or xfs"
	}
	return ""
}

// uringForbidden explains EPERM by the value of the sysctl
// kernel.io_uring_disabled, "" when it does not exist.
func uringForbidden(disabled string) string {
	switch disabled {
	case "1":
		return "the sysctl kernel.io_uring_disabled is 1: only processes with CAP_SYS_ADMIN or in kernel.io_uring_group may use io_uring"
	case "2":
		return "the sysctl kernel.io_uring_disabled is 2: io_uring is switched off on this machine"
	}
	return "a seccomp filter forbids it, as the default profiles of Docker, containerd and Kubernetes do; " +
		"allow io_uring_setup, io_uring_enter and io_uring_register, or use engine pread"
}

// limitText is "RLIMIT_X is 65536 bytes" or the like.
func limitText(name string, resource int) string {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return name + " is unknown"
	}
	if l.Cur == unix.RLIM_INFINITY {
		return name + " is unlimited"
	}
	return fmt.Sprintf("%s is %d", name, l.Cur)
}

// fileSystems are the magic numbers of file systems that people put data on.
var fileSystems = map[int64]string{
	unix.TMPFS_MAGIC:           "tmpfs",
	unix.RAMFS_MAGIC:           "ramfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	unix.EXT4_SUPER_MAGIC:      "ext4",
	unix.XFS_SUPER_MAGIC:       "xfs",
	unix.BTRFS_SUPER_MAGIC:     "btrfs",
	unix.NFS_SUPER_MAGIC:       "nfs",
	unix.FUSE_SUPER_MAGIC:      "fuse",
	unix.ECRYPTFS_SUPER_MAGIC:  "ecryptfs",
}

// fileSystem names the file system of a directory.
func fileSystem(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "unknown"
	}
	if name := fileSystems[int64(st.Type)]; name != "" {
		return name
	}
	return fmt.Sprintf("type %#x", uint64(st.Type))
}

// readTrimmed is the content of a small file without the spaces around it, ""
// when it cannot be read.
func readTrimmed(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
