package blockdev

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// groups are the folders of the control groups of this process, innermost
// first.
type groups struct {
	unified []string // version 2
	memory  []string // version 1
	blkio   []string // version 1, at most one: its throttles do not nest
}

// groups finds the folders by /proc/self/cgroup and the mounts.
func (s system) groups(mounts []mount) groups {
	var g groups
	text, err := os.ReadFile(s.path("proc/self/cgroup"))
	if err != nil {
		return g
	}
	for line := range strings.Lines(string(text)) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(part) != 3 {
			continue
		}
		if part[1] == "" {
			g.unified = s.nested(mounts, "cgroup2", "", part[2])
			continue
		}
		for controller := range strings.SplitSeq(part[1], ",") {
			switch controller {
			case "memory":
				g.memory = s.nested(mounts, "cgroup", controller, part[2])
			case "blkio":
				if all := s.nested(mounts, "cgroup", controller, part[2]); len(all) > 0 {
					g.blkio = all[:1]
				}
			}
		}
	}
	return g
}

// nested lists the folders of a group and of those around it, up to the mount
// point. In a container the mount may start at the group itself, whose path
// /proc/self/cgroup tells from outside.
func (s system) nested(mounts []mount, fsType, controller, group string) []string {
	for _, m := range mounts {
		if m.fsType != fsType {
			continue
		}
		if _, ok := m.controllers[controller]; controller != "" && !ok {
			continue
		}
		rel := "."
		if below(group, m.root) {
			rel, _ = filepath.Rel(m.root, group)
		}
		var out []string
		for {
			out = append(out, s.path(m.point, rel))
			if rel == "." {
				return out
			}
			rel = filepath.Dir(rel)
		}
	}
	return nil
}

// memoryLimit is the least limit of all groups, 0 when there is none.
func (g groups) memoryLimit() int64 {
	var limit int64
	for _, dir := range g.unified {
		tighten(&limit, amount(firstLine(filepath.Join(dir, "memory.max"))))
	}
	for _, dir := range g.memory {
		n := amount(firstLine(filepath.Join(dir, "memory.limit_in_bytes")))
		const none = 1 << 60 // version 1 says "no limit" with the largest page-aligned number
		if n < none {
			tighten(&limit, n)
		}
	}
	return limit
}

// throttles fills in the limits on the device.
func (g groups) throttles(d *Device) {
	number := fmt.Sprintf("%d:%d", d.Major, d.Minor)
	for _, dir := range g.unified {
		for field := range strings.FieldsSeq(deviceLine(filepath.Join(dir, "io.max"), number)) {
			key, value, _ := strings.Cut(field, "=")
			switch key {
			case "riops":
				tighten(&d.Limits.ReadIOPS, amount(value))
			case "wiops":
				tighten(&d.Limits.WriteIOPS, amount(value))
			case "rbps":
				tighten(&d.Limits.ReadBytesPerSecond, amount(value))
			case "wbps":
				tighten(&d.Limits.WriteBytesPerSecond, amount(value))
			}
		}
	}
	for _, dir := range g.blkio {
		for file, limit := range map[string]*int64{
			"read_iops_device":  &d.Limits.ReadIOPS,
			"write_iops_device": &d.Limits.WriteIOPS,
			"read_bps_device":   &d.Limits.ReadBytesPerSecond,
			"write_bps_device":  &d.Limits.WriteBytesPerSecond,
		} {
			tighten(limit, amount(deviceLine(filepath.Join(dir, "blkio.throttle."+file), number)))
		}
	}
}

// deviceLine is what a file of lines "major:minor settings" says about a device.
func deviceLine(file, number string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, number+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func firstLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// amount reads a limit; "max" and what is no number are none.
func amount(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
