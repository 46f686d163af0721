package main

// Loops that do nothing but one kind of instruction, for the machine's ceilings.

// peak writes a loop of 24 independent instructions.
func (f *file) peak(name string, one func(fn *fn, d vec)) {
	fn, args := f.function(name, "n int", "")
	fn.zeros(0, 27)
	fn.loop(args[0], 1, func() {
		for i := range 24 {
			one(fn, vec(i))
		}
	})
	fn.ret()
}

// read loads n blocks of 512 bytes.
func (f *file) read(name string) {
	fn, args := f.function(name, "p *byte, n int", "")
	fn.advance(256, args[0]) // in the middle of what ldur reaches
	fn.loop(args[1], 1, func() {
		for i := range 32 {
			fn.ldur(vec(i&7), args[0], 16*i-256)
		}
		fn.advance(512, args[0])
	})
	fn.ret()
}
