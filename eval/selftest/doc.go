// Package selftest checks on a loaded model what Verity guarantees for every model: the
// same bits whatever rows share a pass, on any number of threads, in any batch, with any
// draft, and on every instruction set.
//
//	model, assistant → [Run] → [Check], [Check], …
//	the same program under VERITY_DISABLE → [Subject.Digest] → equal digests, or not
//
// It compares bits, not text, and reports how many. A broken guarantee is a failed
// [Check], never a panic.
package selftest
