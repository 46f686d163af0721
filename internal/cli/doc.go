// Package cli is the command line of Verity: its root, configuration file, completion and
// manual.
//
//	arguments → a command of scribe, measure or checkpoint → exit status
package cli
