package main

import (
	"bytes"
	"fmt"
	"strings"
)

// A file collects the functions of one assembly file and of the Go file that declares them.
type file struct {
	asm, stubs bytes.Buffer
	words      []word
	consts     map[string]bool
}

// A word is an instruction that Go's assembler does not know (or knows by another name): its
// text in the syntax of LLVM, and its encoding. TestEncodings holds one against the other.
type word struct {
	text string
	code uint32
}

// A fn is a function being written. Its integer registers are given out by name; vector
// registers are numbered by the kernels.
type fn struct {
	*file
	name   string
	offset int // of the next argument
	labels int
}

type (
	reg int // R0 … R26
	vec int // V0 … V31
)

// spare are the integer registers that the system and Go leave alone.
var spare = []reg{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25, 26}

// param is an argument: its name and Go type.
type param struct{ name, kind string }

// size returns the bytes that an argument takes.
func (p param) size() int {
	switch {
	case strings.HasPrefix(p.kind, "[]"):
		return 24
	case p.kind == "float32" || p.kind == "int32" || p.kind == "uint32":
		return 4
	case p.kind == "bool":
		return 1
	}
	return 8
}

// function begins a function. doc is its comment in the Go file; result is its type, or "".
func (f *file) function(name, doc, params, result string) (*fn, map[string]int) {
	list := parseParams(params)
	at, places := 0, map[string]int{}
	for _, p := range list {
		align := min(p.size(), 8)
		at = (at + align - 1) / align * align
		places[p.name] = at
		at += p.size()
	}
	size := at
	if result != "" {
		at = (at + 7) / 8 * 8
		size = at
		places["ret"] = at
		size += param{kind: result}.size()
	}
	fmt.Fprintf(&f.stubs, "\n// %s %s\n//\n//go:noescape\nfunc %s(%s) %s\n", name, doc, name, params, result)
	fmt.Fprintf(&f.asm, "\n// func %s(%s) %s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", name, params, result, name, size)
	return &fn{file: f, name: name}, places
}

func parseParams(s string) []param {
	var list []param
	for _, part := range strings.Split(s, ", ") {
		name, kind, _ := strings.Cut(part, " ")
		list = append(list, param{name, kind})
	}
	for i := len(list) - 2; i >= 0; i-- { // "a, b int" gives b's type to a
		if list[i].kind == "" {
			list[i].kind = list[i+1].kind
		}
	}
	return list
}

// op writes a line that Go's assembler understands.
func (f *fn) op(format string, args ...any) {
	fmt.Fprintf(&f.asm, "\t"+format+"\n", args...)
}

// word writes an instruction by its encoding.
func (f *fn) word(code uint32, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	f.words = append(f.words, word{text, code})
	fmt.Fprintf(&f.asm, "\tWORD $0x%08x // %s\n", code, text)
}

// label returns a new label, to be placed by at.
func (f *fn) label(what string) string {
	f.labels++
	return fmt.Sprintf("%s%d", what, f.labels)
}

func (f *fn) at(label string) { fmt.Fprintf(&f.asm, "%s:\n", label) }

// loop repeats body while counter, which is above 0, counts down to 0 by step.
func (f *fn) loop(counter reg, step int, body func()) {
	top := f.label("loop")
	f.at(top)
	body()
	f.op("SUBS $%d, %v, %v", step, counter, counter)
	f.op("BNE %s", top)
}

// steps runs wide while counter is at least n, taking n off each time, and then narrow if
// one is left.
func (f *fn) steps(counter reg, n int, wide, narrow func()) {
	one, end := f.label("one"), f.label("end")
	f.op("SUBS $%d, %v, %v", n, counter, counter)
	f.op("BLT %s", one)
	top := f.label("wide")
	f.at(top)
	wide()
	f.op("SUBS $%d, %v, %v", n, counter, counter)
	f.op("BGE %s", top)
	f.at(one)
	f.op("ADDS $%d, %v, %v", n, counter, counter)
	f.op("BEQ %s", end)
	narrow()
	f.at(end)
}

func (f *fn) ret() { f.op("RET") }

// load puts arguments into registers, in order: name, register, name, register, …
func (f *fn) load(places map[string]int, args ...any) {
	for i := 0; i < len(args); i += 2 {
		name, r := args[i].(string), args[i+1].(reg)
		base, suffix, _ := strings.Cut(name, ".")
		at := places[base]
		switch suffix {
		case "len":
			f.op("MOVD %s_len+%d(FP), %v", base, at+8, r)
		case "w": // 32 bits
			f.op("MOVWU %s+%d(FP), %v", base, at, r)
		case "b": // a bool
			f.op("MOVBU %s+%d(FP), %v", base, at, r)
		case "base": // of a slice
			f.op("MOVD %s_base+%d(FP), %v", base, at, r)
		default:
			f.op("MOVD %s+%d(FP), %v", base, at, r)
		}
	}
}

func (r reg) String() string { return fmt.Sprintf("R%d", int(r)) }
func (v vec) String() string { return fmt.Sprintf("v%d", int(v)) }

// constants declares read-only float32 or integer words, and returns their symbol.
func (f *file) constants(name string, bits ...uint32) string {
	if f.consts == nil {
		f.consts = map[string]bool{}
	}
	if !f.consts[name] {
		f.consts[name] = true
		fmt.Fprintln(&f.asm)
		for i, b := range bits {
			fmt.Fprintf(&f.asm, "DATA %s<>+%d(SB)/4, $0x%08x\n", name, 4*i, b)
		}
		fmt.Fprintf(&f.asm, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", name, 4*len(bits))
	}
	return name
}
