//go:build race

package iopath

const raceEnabled = true
