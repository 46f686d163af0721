// Package precision names the number formats that a network is held and computed in.
//
//	flag or option → [Parse] → [Precision] → loader, kernels, caches
//
// A [Format] says how one kind of number is held. A [Precision] has a format for
// weights, and one for the keys and values of attention. Each of
// them is chosen automatically where it is zero. Integer weights are multiplied by
// activations rounded to int8, others by float32.
//
// The type that a file stores is independent of this: the loader converts it.
//
// # Formats
//
// F32 and F16 are held as they are and computed in float32. Int8 is held as an
// integer with a scale, and products of two int8 factors are summed exactly.
//
// Int4, Int4Z and MXFP6 hold weights as integers of few bits with a scale for each 32 along
// a row. Activations are rounded to int8 in the same groups. Sums are exact inside a group,
// and the chain over groups is in float32.
//
// A new format needs a line in the table of format.go, and kernels that multiply it.
package precision
