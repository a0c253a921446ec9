//go:build !race

package iopath

const raceEnabled = false
