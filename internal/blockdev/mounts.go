package blockdev

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// mount is one line of /proc/self/mountinfo.
type mount struct {
	point, root, number string // number is "major:minor"
	fsType, source      string
	options             []string
	controllers         map[string]string // of a version 1 control group: the options of its file system
}

func (s system) mounts() ([]mount, error) {
	fs, err := procfs.NewFS(s.path("proc"))
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	list, err := fs.GetMounts()
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	mounts := make([]mount, 0, len(list))
	for _, m := range list {
		mounts = append(mounts, mount{
			point: unescape(m.MountPoint), root: unescape(m.Root), number: m.MajorMinorVer,
			fsType: m.FSType, source: unescape(m.Source),
			options:     joined(m.Options, m.SuperOptions),
			controllers: m.SuperOptions,
		})
	}
	return mounts, nil
}

// joined lists the options of a mount, then those that only its file system has.
func joined(ofMount, ofSystem map[string]string) []string {
	var out []string
	for _, options := range []map[string]string{ofMount, ofSystem} {
		for _, name := range slices.Sorted(maps.Keys(options)) {
			text := name
			if v := options[name]; v != "" {
				text += "=" + unescape(v)
			}
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// holding is the mount that a path lies on: the deepest mount point above it,
// and of several on one point the last, which hides the others.
func holding(mounts []mount, path string) (mount, bool) {
	best, found := mount{}, false
	for _, m := range mounts {
		if below(path, m.point) && (!found || len(m.point) >= len(best.point)) {
			best, found = m, true
		}
	}
	return best, found
}

// below reports whether a path is a folder or lies below it.
func below(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// unescape undoes the kernel's "\040" for space, and the like.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
