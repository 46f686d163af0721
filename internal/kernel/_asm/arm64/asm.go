package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// A file collects the functions of one assembly file.
type file struct {
	name     string
	asm      bytes.Buffer
	declared []string // functions, for the Go file
	consts   map[string]bool
}

// A fn is a function being written. Its integer registers are given out by name; vector
// registers are numbered by the kernels.
type fn struct {
	*file
	name   string
	loads  map[reg]string // of arguments
	result string         // how it is returned: MOVD or MOVW, %v for a register, and its place
	labels int
}

type (
	reg int // R0 … R26
	vec int // V0 … V31
)

// freeRegisters are the integer registers that the system and Go leave alone.
var freeRegisters = []reg{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25, 26}

// loads are the instructions that load arguments of a type, sizes their bytes.
var (
	loads = map[string]string{"float32": "MOVWU", "uint32": "MOVWU", "int32": "MOVW", "bool": "MOVBU"}
	sizes = map[string]int{"float32": 4, "uint32": 4, "int32": 4, "bool": 1}
)

// function begins a function, which loads its arguments into the first of freeRegisters,
// a float32 as its bits, and returns these. Hints about prefetching are not loaded: no kernel
// of arm64 has a use for them. result is its type, or "".
func (f *file) function(name, params, result string) (*fn, []reg) {
	f.declared = append(f.declared, fmt.Sprintf("%s(%s) %s", name, params, result))
	fn := &fn{file: f, name: name, loads: map[reg]string{}}
	var code strings.Builder
	var args []reg
	list, size := strings.Split(params, ", "), 0
	kinds := make([]string, len(list))
	for i := len(list) - 1; i >= 0; i-- { // "a, b int" gives b's type to a
		var own bool
		if list[i], kinds[i], own = strings.Cut(list[i], " "); !own {
			kinds[i] = kinds[i+1]
		}
	}
	for i, arg := range list {
		width := cmp.Or(sizes[kinds[i]], 8)
		size = (size + width - 1) / width * width
		if arg != "ahead" && arg != "pace" {
			r := freeRegisters[len(args)]
			fn.loads[r] = fmt.Sprintf("%s %s+%d(FP), %v", cmp.Or(loads[kinds[i]], "MOVD"), arg, size, r)
			fmt.Fprintf(&code, "\t%s\n", fn.loads[r])
			args = append(args, r)
		}
		size += width
	}
	if result != "" {
		size = (size + 7) &^ 7
		width := cmp.Or(sizes[result], 8)
		fn.result = fmt.Sprintf("%s %%v, ret+%d(FP)", map[int]string{4: "MOVW", 8: "MOVD"}[width], size)
		size += width
	}
	fmt.Fprintf(&f.asm, "\n// func %s(%s) %s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n%s", name, params, result, name, size, &code)
	return fn, args
}

// op writes a line that Go's assembler understands.
func (f *fn) op(format string, args ...any) {
	fmt.Fprintf(&f.asm, "\t"+format+"\n", args...)
}

// word writes an instruction that Go's assembler does not know (or knows by another name): its
// encoding, and its text in the syntax of LLVM. TestEncodings holds one against the other.
func (f *fn) word(code uint32, format string, args ...any) {
	f.op("WORD $0x%08x // "+format, append([]any{code}, args...)...)
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

// repeat runs body so many times, a constant above 0 or what a register holds.
func (f *fn) repeat(times any, counter reg, body func()) {
	f.move(times, counter)
	f.loop(counter, 1, body)
}

// move sets a register to another one, or to a constant.
func (f *fn) move(from any, to reg) { f.op("MOVD %v, %v", operand(from), to) }

// advance adds a register, or a constant, to others.
func (f *fn) advance(by any, regs ...reg) {
	for _, r := range regs {
		f.op("ADD %v, %v, %v", operand(by), r, r)
	}
}

func operand(x any) any {
	if n, ok := x.(int); ok {
		return fmt.Sprintf("$%d", n)
	}
	return x
}

// eachRow calls one for each of n rows, with at pointing to it.
func (f *fn) eachRow(n int, first reg, stride any, at reg, one func(r int)) {
	if at != first {
		f.move(first, at)
	}
	for r := range n {
		one(r)
		if r+1 < n {
			f.advance(stride, at)
		}
	}
}

// reload sets registers to the arguments that they had.
func (f *fn) reload(args ...reg) {
	for _, r := range args {
		f.op("%s", f.loads[r])
	}
}

// byRows writes a loop over all rows: as many at a time as the first of shapes has, then as many
// as the next, all of them powers of two. body moves what points to rows on.
func (f *fn) byRows(rows reg, shapes []product, body func(p product)) {
	for _, p := range shapes {
		top, fewer := fmt.Sprint("rows", p.rows), fmt.Sprint("below", p.rows)
		f.at(top)
		f.op("CMP $%d, %v", p.rows, rows)
		f.op("BLT %s", fewer)
		body(p)
		f.op("SUB $%d, %v, %v", p.rows, rows, rows)
		f.op("B %s", top)
		f.at(fewer)
	}
}

// advanceRows adds the rows of p, stride bytes apart, to registers.
func (f *fn) advanceRows(p product, stride reg, regs ...reg) {
	shift := map[int]int{1: 0, 2: 1, 4: 2, 8: 3}[p.rows]
	for _, r := range regs {
		f.op("ADD %v<<%d, %v, %v", stride, shift, r, r)
	}
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

// all does one for n vectors from first on, which lie one after the other from at on: it loads or
// stores them.
func all(n int, one func(t vec, n reg, at int), first vec, at reg) {
	for i := range n {
		one(first+vec(i), at, 16*i)
	}
}

// zeros sets n vectors to zero.
func (f *fn) zeros(first vec, n int) {
	for i := range n {
		f.zero(first + vec(i))
	}
}

// polynomial returns the register of a polynomial in x, whose coefficients are in registers, that of
// the highest power first. a and b are scratch.
func (f *fn) polynomial(x, a, b vec, coefficients ...vec) vec {
	p := coefficients[0]
	for _, c := range coefficients[1:] {
		f.mov(a, c)
		f.fmla(a, p, x)
		p, a, b = a, b, a
	}
	return p
}

// ret returns from the function, with the register that holds its result, if it has one.
func (f *fn) ret(result ...any) {
	if f.result != "" {
		f.op(f.result, result...)
	}
	f.op("RET")
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
