// Package bench measures what this machine can do at best, and how near to that
// the stages of transcription come.
//
//	model.Checkpoint → [Run] → [Result] → a table, JSON (verity.bench/1)
//
// # What is measured
//
// Ceilings are those of the threads in use: operations of independent float32
// multiply-adds, operations of int8 dot products, additions and the like of independent
// vectors, bytes read in order from far
// more memory than the caches hold. They are measured again every second, between
// runs of the stages, so that each run is compared with the ceilings of its time.
// Every stage runs several times, a pass of one row in turn with those of more;
// what is reported are medians.
//
// # What shares mean
//
// Utilization is ideal time over measured time, where the ideal charges each
// operation at the ceiling of the arithmetic that it runs in: products with integer
// weights at the int8 ceiling, attention over an int8 cache too, other products at that
// of float32, and all else at that of vectors: softmax, GELU, norms, sums, scaling and
// rounding to integers, each counted by its definition in package kernel (work.go).
// Results of versions before gops_vector was noted counted products only.
//
// MBU, memory bandwidth utilization, is the bytes that a decode step must read
// (decoder.StepBytes) over its time, over the bandwidth. The bound of a verify pass is the larger of its bytes over
// the bandwidth and its operations over their ceilings.
package bench
