// Package reload keeps a value that is read from files and read again when they have
// changed: tokens, certificates.
//
// It owns when files are looked at: at most once a second, and only when the value is
// asked for. Files that cannot be read or parsed change nothing; the value before stays
// in force and each fault is reported once.
//
// A Value may be used by any number of goroutines.
//
// May import: nothing of sprat
package reload
