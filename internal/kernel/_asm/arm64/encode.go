package main

// Encodings of the instructions that kernels use, from the Arm Architecture Reference Manual
// for A-profile (DDI 0487), C7.2. Each is written with its text in the syntax of LLVM.

// at2 and at3 put registers where most instructions have them: a destination and one source or two.
func at2[D, N ~int](d D, n N) uint32         { return uint32(n)<<5 | uint32(d) }
func at3[D, N, M ~int](d D, n N, m M) uint32 { return uint32(m)<<16 | at2(d, n) }

// three writes an instruction of a destination and two sources, all of one arrangement.
func (f *fn) three(code uint32, name, form string, d, n, m vec) {
	f.word(code|at3(d, n, m), "%s %v.%s, %v.%s, %v.%s", name, d, form, n, form, m, form)
}

// two writes an instruction of a destination and one source.
func (f *fn) two(code uint32, name, to, from string, d, n vec) {
	f.word(code|at2(d, n), "%s %v.%s, %v.%s", name, d, to, n, from)
}

func (f *fn) fadd(d, n, m vec)  { f.three(0x4e20d400, "fadd", "4s", d, n, m) }
func (f *fn) fsub(d, n, m vec)  { f.three(0x4ea0d400, "fsub", "4s", d, n, m) }
func (f *fn) fmul(d, n, m vec)  { f.three(0x6e20dc00, "fmul", "4s", d, n, m) }
func (f *fn) fdiv(d, n, m vec)  { f.three(0x6e20fc00, "fdiv", "4s", d, n, m) }
func (f *fn) fmla(d, n, m vec)  { f.three(0x4e20cc00, "fmla", "4s", d, n, m) }
func (f *fn) fcmgt(d, n, m vec) { f.three(0x6ea0e400, "fcmgt", "4s", d, n, m) }
func (f *fn) fcmge(d, n, m vec) { f.three(0x6e20e400, "fcmge", "4s", d, n, m) }
func (f *fn) add(d, n, m vec)   { f.three(0x4ea08400, "add", "4s", d, n, m) }
func (f *fn) mul(d, n, m vec)   { f.three(0x4ea09c00, "mul", "4s", d, n, m) }
func (f *fn) subb(d, n, m vec)  { f.three(0x6e208400, "sub", "16b", d, n, m) }
func (f *fn) sub(d, n, m vec)   { f.three(0x6ea08400, "sub", "4s", d, n, m) }
func (f *fn) umax(d, n, m vec)  { f.three(0x6ea06400, "umax", "4s", d, n, m) }
func (f *fn) addph(d, n, m vec) { f.three(0x4e60bc00, "addp", "8h", d, n, m) }
func (f *fn) fmax(d, n, m vec)  { f.three(0x4e20f400, "fmax", "4s", d, n, m) }
func (f *fn) addb(d, n, m vec)  { f.three(0x4e208400, "add", "16b", d, n, m) }
func (f *fn) and(d, n, m vec)   { f.three(0x4e201c00, "and", "16b", d, n, m) }
func (f *fn) eor(d, n, m vec)   { f.three(0x6e201c00, "eor", "16b", d, n, m) }
func (f *fn) bic(d, n, m vec)   { f.three(0x4e601c00, "bic", "16b", d, n, m) }

// bsl: where bits of d are set, n, else m. bit: where bits of m are set, d becomes n.
func (f *fn) bsl(d, n, m vec) { f.three(0x6e601c00, "bsl", "16b", d, n, m) }
func (f *fn) bit(d, n, m vec) { f.three(0x6ea01c00, "bit", "16b", d, n, m) }

func (f *fn) fabs(d, n vec)     { f.two(0x4ea0f800, "fabs", "4s", "4s", d, n) }
func (f *fn) fneg(d, n vec)     { f.two(0x6ea0f800, "fneg", "4s", "4s", d, n) }
func (f *fn) scvtf(d, n vec)    { f.two(0x4e21d800, "scvtf", "4s", "4s", d, n) }
func (f *fn) fcvtzs(d, n vec)   { f.two(0x4ea1b800, "fcvtzs", "4s", "4s", d, n) }
func (f *fn) negb(d, n vec)     { f.two(0x6e20b800, "neg", "16b", "16b", d, n) }
func (f *fn) fcvtl(d, n vec)    { f.two(0x0e217800, "fcvtl", "4s", "4h", d, n) }
func (f *fn) fcvtl2(d, n vec)   { f.two(0x4e217800, "fcvtl2", "4s", "8h", d, n) }
func (f *fn) fcvtn(d, n vec)    { f.two(0x0e216800, "fcvtn", "4h", "4s", d, n) }
func (f *fn) wide(d, n vec)     { f.two(0x0e617800, "fcvtl", "2d", "2s", d, n) }
func (f *fn) wide2(d, n vec)    { f.two(0x4e617800, "fcvtl2", "2d", "4s", d, n) }
func (f *fn) slim(d, n vec)     { f.two(0x0e616800, "fcvtn", "2s", "2d", d, n) }
func (f *fn) slim2(d, n vec)    { f.two(0x4e616800, "fcvtn2", "4s", "2d", d, n) }
func (f *fn) sadalp(d, n vec)   { f.two(0x4e606800, "sadalp", "4s", "8h", d, n) }
func (f *fn) addd(d, n, m vec)  { f.three(0x4ee08400, "add", "2d", d, n, m) }
func (f *fn) fmuld(d, n, m vec) { f.three(0x6e60dc00, "fmul", "2d", d, n, m) }

// Sum and largest of a register.
func (f *fn) addv(d, n vec)  { f.word(0x4eb1b800|at2(d, n), "addv s%d, %v.4s", int(d), n) }
func (f *fn) umaxv(d, n vec) { f.word(0x6eb0a800|at2(d, n), "umaxv s%d, %v.4s", int(d), n) }

// smull writes a widening multiplication of bytes into halves: of the lower eight, or of the
// upper ones.
func (f *fn) smull(upper bool, d, n, m vec) {
	code, name, form := uint32(0x0e20c000), "smull", "8b"
	if upper {
		code, name, form = code|1<<30, name+"2", "16b"
	}
	f.word(code|at3(d, n, m), "%s %v.8h, %v.%s, %v.%s", name, d, n, form, m, form)
}

// lane writes a multiplication by lane i, of 32 bits, of m; most are added to d.
func (f *fn) lane(code uint32, format string, d, n, m vec, i int) {
	f.word(code|uint32(i&1)<<21|uint32(i>>1)<<11|at3(d, n, m), format, d, n, m, i)
}

// fmlaLane: d += n · lane i of m. sdotLane: each of four sums of d gains four products of bytes
// of n with the four bytes of lane i of m. Both are signed; of sudotLane, those of m are not.
func (f *fn) fmlaLane(d, n, m vec, i int) {
	f.lane(0x4f801000, "fmla %v.4s, %v.4s, %v.s[%d]", d, n, m, i)
}
func (f *fn) fmulLane(d, n, m vec, i int) {
	f.lane(0x4f809000, "fmul %v.4s, %v.4s, %v.s[%d]", d, n, m, i)
}
func (f *fn) mulLane(d, n, m vec, i int) {
	f.lane(0x4f808000, "mul %v.4s, %v.4s, %v.s[%d]", d, n, m, i)
}
func (f *fn) sdotLane(d, n, m vec, i int) {
	f.lane(0x4f80e000, "sdot %v.4s, %v.16b, %v.4b[%d]", d, n, m, i)
}
func (f *fn) sudotLane(d, n, m vec, i int) {
	f.lane(0x4f00f000, "sudot %v.4s, %v.16b, %v.4b[%d]", d, n, m, i)
}

// smmla: d, a matrix of 2×2, gains n, of 2×8 bytes, times m, of 2×8, transposed. All are
// signed; of usmmla, those of n are not.
func (f *fn) smmla(d, n, m vec) {
	f.word(0x4e80a400|at3(d, n, m), "smmla %v.4s, %v.16b, %v.16b", d, n, m)
}
func (f *fn) usmmla(d, n, m vec) {
	f.word(0x4e80ac00|at3(d, n, m), "usmmla %v.4s, %v.16b, %v.16b", d, n, m)
}

// size is the width of the elements that a permutation moves.
type size uint32

const (
	bytes1 size = iota
	halves
	words
	doubles
)

var arrangement = [4]string{"16b", "8h", "4s", "2d"}

func (f *fn) permute(code uint32, name string, of size, d, n, m vec) {
	f.three(code|uint32(of)<<22, name, arrangement[of], d, n, m)
}

func (f *fn) zip1(of size, d, n, m vec) { f.permute(0x4e003800, "zip1", of, d, n, m) }
func (f *fn) zip2(of size, d, n, m vec) { f.permute(0x4e007800, "zip2", of, d, n, m) }
func (f *fn) uzp1(of size, d, n, m vec) { f.permute(0x4e001800, "uzp1", of, d, n, m) }
func (f *fn) trn1(of size, d, n, m vec) { f.permute(0x4e002800, "trn1", of, d, n, m) }
func (f *fn) trn2(of size, d, n, m vec) { f.permute(0x4e006800, "trn2", of, d, n, m) }

// tbl: the bytes of table that the bytes of m number.
func (f *fn) tbl(d, table, m vec) {
	f.word(0x4e000000|at3(d, table, m), "tbl %v.16b, { %v.16b }, %v.16b", d, table, m)
}

// shift writes a shift by a constant, of which code is the field: more than the width of an
// element to the left, less than twice the width to the right.
func (f *fn) shift(op uint32, name, form string, code, by int, d, n vec) {
	f.word(op|uint32(code)<<16|at2(d, n), "%s %v.%s, %v.%s, #%d", name, d, form, n, form, by)
}

func (f *fn) shl(d, n vec, by int)   { f.shift(0x4f005400, "shl", "4s", 32+by, by, d, n) }
func (f *fn) shlb(d, n vec, by int)  { f.shift(0x4f005400, "shl", "16b", 8+by, by, d, n) }
func (f *fn) shld(d, n vec, by int)  { f.shift(0x4f005400, "shl", "2d", 64+by, by, d, n) }
func (f *fn) sshr(d, n vec, by int)  { f.shift(0x4f000400, "sshr", "4s", 64-by, by, d, n) }
func (f *fn) sshrb(d, n vec, by int) { f.shift(0x4f000400, "sshr", "16b", 16-by, by, d, n) }
func (f *fn) ushrb(d, n vec, by int) { f.shift(0x6f000400, "ushr", "16b", 16-by, by, d, n) }

// Bytes to halves, and halves to words, the lower four and the upper four.
func (f *fn) sxtlb(d, n vec)  { f.word(0x0f08a400|at2(d, n), "sshll %v.8h, %v.8b, #0", d, n) }
func (f *fn) sxtlh(d, n vec)  { f.word(0x0f10a400|at2(d, n), "sshll %v.4s, %v.4h, #0", d, n) }
func (f *fn) sxtlh2(d, n vec) { f.word(0x4f10a400|at2(d, n), "sshll2 %v.4s, %v.8h, #0", d, n) }

// Words to double words, the lower two and the upper two.
func (f *fn) sxtl(d, n vec)  { f.word(0x0f20a400|at2(d, n), "sshll %v.2d, %v.2s, #0", d, n) }
func (f *fn) sxtl2(d, n vec) { f.word(0x4f20a400|at2(d, n), "sshll2 %v.2d, %v.4s, #0", d, n) }

// Copies: of a lane or an integer register into all lanes, of a lane into a register, of all.
func (f *fn) dup(d, n vec, i int) {
	f.word(0x4e040400|uint32(i)<<19|at2(d, n), "dup %v.4s, %v.s[%d]", d, n, i)
}
func (f *fn) dupR(d vec, n reg)      { f.word(0x4e040c00|at2(d, n), "dup %v.4s, w%d", d, int(n)) }
func (f *fn) dupByte(d vec, n reg)   { f.word(0x4e010c00|at2(d, n), "dup %v.16b, w%d", d, int(n)) }
func (f *fn) dupDouble(d vec, n reg) { f.word(0x4e080c00|at2(d, n), "dup %v.2d, x%d", d, int(n)) }
func (f *fn) umov(d reg, n vec, i int) {
	f.word(0x0e043c00|uint32(i)<<19|at2(d, n), "mov w%d, %v.s[%d]", int(d), n, i)
}
func (f *fn) mov(d, n vec) { f.word(0x4ea01c00|at3(d, n, n), "mov %v.16b, %v.16b", d, n) }
func (f *fn) zero(d vec)   { f.word(0x6f00e400|uint32(d), "movi %v.2d, #0000000000000000", d) }

// movib sets all bytes to imm.
func (f *fn) movib(d vec, imm int) {
	f.word(0x4f00e400|uint32(imm>>5)<<16|uint32(imm&31)<<5|uint32(d), "movi %v.16b, #%d", d, imm)
}

// Loads and stores of 16 and 8 bytes. at is a constant, a multiple of the size.
func (f *fn) ldr(t vec, n reg, at int)  { f.memory(0x3dc00000, "ldr", "q", 16, t, n, at) }
func (f *fn) str(t vec, n reg, at int)  { f.memory(0x3d800000, "str", "q", 16, t, n, at) }
func (f *fn) strD(t vec, n reg, at int) { f.memory(0xfd000000, "str", "d", 8, t, n, at) }

func (f *fn) memory(code uint32, name, kind string, unit int, t vec, n reg, at int) {
	if at%unit != 0 || at < 0 || at/unit >= 4096 {
		panic(f.name + ": offset out of range")
	}
	address := "[x%d]"
	args := []any{name, kind, int(t), int(n)}
	if at > 0 {
		address = "[x%d, #%d]"
		args = append(args, at)
	}
	f.word(code|uint32(at/unit)<<10|at2(t, n), "%s %s%d, "+address, args...)
}

// ldur is ldr with any offset from -256 to 255. Neoverse N1 takes a micro-operation for it and
// two for ldr.
func (f *fn) ldur(t vec, n reg, at int) {
	if at < -256 || at > 255 {
		panic(f.name + ": offset out of range")
	}
	f.word(0x3cc00000|uint32(at&511)<<12|at2(t, n), "ldur q%d, [x%d, #%d]", int(t), int(n), at)
}

// post is a load or store that moves its address by by afterwards.
func (f *fn) post(code uint32, name, kind string, t vec, n reg, by int) {
	f.word(code|uint32(by&511)<<12|at2(t, n), "%s %s%d, [x%d], #%d", name, kind, int(t), int(n), by)
}

func (f *fn) ldrPost(t vec, n reg, by int)  { f.post(0x3cc00400, "ldr", "q", t, n, by) }
func (f *fn) strPost(t vec, n reg, by int)  { f.post(0x3c800400, "str", "q", t, n, by) }
func (f *fn) ldrSPost(t vec, n reg, by int) { f.post(0xbc400400, "ldr", "s", t, n, by) }
func (f *fn) strDPost(t vec, n reg, by int) { f.post(0xfc000400, "str", "d", t, n, by) }
func (f *fn) ldrDPost(t vec, n reg, by int) { f.post(0xfc400400, "ldr", "d", t, n, by) }

// Two registers of 16 bytes each.
func (f *fn) ldp(t, u vec, n reg, at int) { f.pair(0xad400000, "ldp", t, u, n, at) }
func (f *fn) stp(t, u vec, n reg, at int) { f.pair(0xad000000, "stp", t, u, n, at) }
func (f *fn) ldpPost(t, u vec, n reg, by int) {
	f.word(0xacc00000|uint32(by/16&127)<<15|uint32(u)<<10|at2(t, n), "ldp q%d, q%d, [x%d], #%d", int(t), int(u), int(n), by)
}

func (f *fn) pair(code uint32, name string, t, u vec, n reg, at int) {
	if at%16 != 0 || at < -1024 || at > 1008 {
		panic(f.name + ": offset out of range")
	}
	f.word(code|uint32(at/16&127)<<15|uint32(u)<<10|at2(t, n), "%s q%d, q%d, [x%d, #%d]", name, int(t), int(u), int(n), at)
}

// ldrLane loads lane i of t, 32 bits, from the address in n. Then n moves on by m bytes.
func (f *fn) ldrLane(t vec, i int, n, m reg) {
	f.word(0x0dc08000|uint32(i>>1)<<30|uint32(i&1)<<12|at3(t, n, m), "ld1 { %v.s }[%d], [x%d], x%d", t, i, int(n), int(m))
}

// Loads from the sum of two registers.
func (f *fn) ldrAt(t vec, n, m reg)  { f.indexed(0x3ce06800, "q", t, n, m) }
func (f *fn) ldrDAt(t vec, n, m reg) { f.indexed(0xfc606800, "d", t, n, m) }
func (f *fn) ldrSAt(t vec, n, m reg) { f.indexed(0xbc606800, "s", t, n, m) }

func (f *fn) indexed(code uint32, kind string, t vec, n, m reg) {
	f.word(code|at3(t, n, m), "ldr %s%d, [x%d, x%d]", kind, int(t), int(n), int(m))
}

// spread loads one word into all four lanes.
func (f *fn) spread(t vec, n reg) {
	f.word(0x4d40c800|at2(t, n), "ld1r { %v.4s }, [x%d]", t, int(n))
}
