// Package testmodel makes small checkpoints, for tests only.
//
//	specs.json ─┬─ [Write], [FS] ─▶ checkpoint ─▶ the engine under test
//	            └─ tools/reference ─▶ the same checkpoint ─▶ upstream ─▶ goldens
//
// No weights are stored. Every weight is a function of its name and its index,
// written once here and once in tools/reference/rule.py, and both languages get
// the same bits: the arithmetic is a hash of integers, then float64 operations
// that IEEE 754 defines, then one rounding to the type of the file. The inputs,
// [Mel] and [Waveform], come from the same rule.
//
// # The rule
//
// The name hashes to a stream, and the stream's draw i is
//
//	base = FNV-1a-64("<seed>/<name>")
//	x[i] = (splitmix64(base + (i+1)·0x9E3779B97F4A7C15) >> 40) · 2⁻²³ - 1
//
// uniform in [-1, 1) with 24 bits. A weight is x scaled by its kind (see
// scaled), wide enough that a network of random weights says something else at
// every position and its choices have margins far above rounding.
package testmodel
