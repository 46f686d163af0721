// Package selftest checks on a loaded model what Verity promises of every model:
// the same bits whatever rows share a pass, on any number of threads, in any
// batch, with any draft, and on every instruction set.
//
//	model, assistant → [Run] → [Check], [Check], …
//	the same program under VERITY_DISABLE → [Full], [Light] → equal digests, or not
//
// It compares bits, not text, and says how many. A promise that is not kept is a
// failed [Check], never a panic.
package selftest
