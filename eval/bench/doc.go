// Package bench measures the ceilings of this machine, and how close to them the stages
// of transcription come.
//
//	model.Checkpoint → [Run] → [Result] → a table, JSON (verity.bench/1)
//
// # What is measured
//
// Ceilings are those of the kernels and threads in use: products of float32 and of int8, and
// vector operations (those of GELU), all on data in the nearest caches, and bytes read
// sequentially from far more memory than the caches hold. They are measured again every
// second, between runs of the stages, so that each run is compared with the ceilings at
// its time. Every stage runs several times; passes of one row alternate with passes of
// more rows. Reported values are medians.
//
// # What shares mean
//
// Utilization is ideal time over measured time. The ideal charges each operation at the
// ceiling of its arithmetic: products with integer weights, and attention over an int8
// cache, at the int8 ceiling; other products at the float32 ceiling; everything else at
// the vector ceiling: softmax, GELU, norms, sums, scaling and rounding to integers,
// each counted by its definition in package kernel.
//
// MBU, memory bandwidth utilization, is the bytes that a decode step must read
// (decoder.StepBytes) over its time, over the bandwidth. The bound of a verify pass is
// the larger of its bytes over the bandwidth and its operations over their ceilings.
package bench
