// Package setup turns the flags that commands share (model, assistant, sound, decoding,
// dataset) into what they name.
//
//	ModelFlags.Load → Model, which is ready for work
package setup
