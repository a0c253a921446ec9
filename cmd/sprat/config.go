package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// setting is one line of a configuration file.
type setting struct {
	line       int
	flag, text string
}

// parseConfig reads lines "flag = value", where a flag is its long name without
// dashes. Blank lines and lines that begin with # do not count; a value may
// stand in double quotes, inside which nothing is special.
func parseConfig(content []byte) ([]setting, error) {
	var list []setting
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t\"") {
			return nil, fmt.Errorf("line %d: want \"flag = value\", got %.60q", n, text)
		}
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		list = append(list, setting{line: n, flag: name, text: value})
	}
	return list, lines.Err()
}

// applyConfig gives the flags of a command that were not on the command line the
// values of the --config file. A file may serve several commands: what only
// others know is passed over, what none knows is an error.
func (c *cli) applyConfig(cmd *cobra.Command) error {
	if c.config == "" {
		return nil
	}
	content, err := os.ReadFile(c.config)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	settings, err := parseConfig(content)
	if err != nil {
		return fmt.Errorf("--config %s: %w", c.config, err)
	}
	given := map[string]bool{}
	for _, s := range settings {
		if f := cmd.Flags().Lookup(s.flag); f != nil && f.Changed {
			given[s.flag] = true
		}
	}
	for _, s := range settings {
		switch {
		case given[s.flag]:
		case cmd.Flags().Lookup(s.flag) != nil:
			if err := cmd.Flags().Set(s.flag, s.text); err != nil {
				return fmt.Errorf("--config %s: line %d: %w", c.config, s.line, err)
			}
		case !known(cmd.Root(), s.flag):
			return fmt.Errorf("--config %s: line %d: no command has a flag --%s", c.config, s.line, s.flag)
		}
	}
	return nil
}

// known tells whether a command or one below it has a flag.
func known(cmd *cobra.Command, flag string) bool {
	if cmd.Flags().Lookup(flag) != nil {
		return true
	}
	for _, sub := range cmd.Commands() {
		if known(sub, flag) {
			return true
		}
	}
	return false
}
