// Package machine describes this machine and this process, for reports.
//
// Everything here is for people to read, or to tell one machine from another. Nothing that
// is computed depends on it.
package machine
