// Package cli has what every command of the program is made of: streams, errors that
// decide the exit status, flags from the table of options, help, progress and the log.
package cli
