// Package machine says what this machine and this process are, for reports.
//
// Everything here is for people to read, or to tell one machine from another. Nothing that
// is computed depends on it.
package machine
