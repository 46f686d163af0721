// This program writes the assembly of the vector functions and of attention.
// Run it with go generate in package kernel.
//
// What each function computes is defined by its namesake ending in Ref, in plain Go, in
// vector*.go, frame.go, attend_tile.go and attend_int8_ref.go. The instructions here
// follow those lines one by one; only the order of independent ones is free.
package main

import (
	"log"
	"os"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

func main() {
	log.SetFlags(0)
	for _, wide := range []bool{true, false} {
		name := "avx2"
		if wide {
			name = "avx512"
		}
		write("../../vector_"+name+"_amd64", wide, vectors)
		write("../../attend_"+name+"_amd64", wide, tiles)
		write("../../attend_int8_"+name+"_amd64", wide, int8s)
	}
}

// write generates one file of assembly and the Go file that declares it.
func write(path string, wide bool, body func(*gen)) {
	g := &gen{Context: build.NewContext(), wide: wide, offsets: map[uint32]int{}}
	g.ConstraintExpr("!purego")
	body(g)
	g.tables()
	file, err := g.Result()
	if err != nil {
		log.Fatal(err)
	}
	if err := pass.Compile.Execute(file); err != nil {
		log.Fatalf("%s: %v", path, err)
	}
	config := printer.Config{Name: "avo", Argv: []string{"go", "generate"}, Pkg: "kernel"}
	for ext, p := range map[string]printer.Printer{
		".s":  printer.NewGoAsm(config),
		".go": printer.NewStubs(config),
	} {
		text, err := p.Print(file)
		if err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(path+ext, text, 0o666); err != nil {
			log.Fatal(err)
		}
	}
}
