// Package parallel runs the parts of one job on a fixed set of threads.
//
//	kernel → [Task], cut into parts → [Pool] → Part(0) … Part(n-1), in any order
//
// # Conventions
//
// The caller cuts the work; the pool only decides which thread runs which part
// and when. A part must not depend on either. In this engine the bits of a result never
// depend on the number of threads, because no sum is cut at a boundary that a thread count
// chooses.
//
// A forward pass forks and joins some hundred times per token, so the workers
// spin for a moment after each job before they sleep, and a job allocates
// nothing. A pool serves one caller at a time; others wait their turn.
package parallel
