// Package golden compares results with those that upstream's own code computed. For tests
// only.
//
//	tools/reference ─▶ testdata ─▶ [Load], [LoadModel] ─▶ [Check], … in a room's test
//
// Goldens are written by tools/reference/model_goldens.py and by nothing else:
// there is no -update. Every file is listed in testdata/index.json with its hash,
// its shape and the versions that wrote it; a file that does not match fails the
// test that loads it.
//
// # Tolerances
//
// They are derived, not tuned: four times the largest difference between
// float32 and float64 of the same network on the same input, as transformers
// computes both (the "drift" in each <spec>.json). Our order of summation
// drifts from the exact value about as far as torch's does, and the two may
// drift apart. A token must be equal wherever upstream's margin between its two
// best logits exceeds ten tolerances; at least 95 % of all positions do, or
// model_goldens.py refuses the spec. NaN fails everywhere.
package golden
