// Package precision names the number formats of a network's weights, activations and caches.
//
//	option → [Parse] → [Precision] → loader, kernels, caches
//
// A [Format] is how numbers are stored. A [Precision] has a format for weights, and one for the keys
// and values of attention. Zero means that it is chosen automatically. Integer weights are
// multiplied by activations rounded to int8, others by float32.
//
// The type that a file stores is independent of this: the loader converts it.
//
// # Formats
//
// F32 and F16 are stored as they are and computed in float32. Int8 is an integer with a
// scale, and products of two int8 factors are summed exactly.
//
// Int4, Int4Z and MXFP6 store weights as integers of few bits with a scale for each 32 along
// a row. Activations are rounded to int8 in the same groups. Sums are exact inside a group,
// and the chain over groups is in float32.
package precision
