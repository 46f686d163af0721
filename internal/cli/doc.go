// Package cli is the command line: flags → one call → output.
//
// cmd/verity is all of it as a program. It is a package of its own because verity-beam,
// in the module cluster, takes the same flags, opens the same models and describes runs
// in the same way: records of both are the same bytes.
package cli
