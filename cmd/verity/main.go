package main

import "verity/internal/cli"

//go:generate go run . manual markdown ../../docs/CLI.md
//go:generate go test -count=1 -run ^TestReference$ verity/internal/cli -args -update

// version is set by the linker, as in Makefile.
var version string

func main() { cli.Main(version) }
