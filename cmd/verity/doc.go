// Verity transcribes speech with Whisper models.
//
//	flags → one call → output
//
// Text goes to standard output and nothing else does; progress and logs go to
// standard error, progress only on a terminal. "verity help" and "verity help
// COMMAND" are the documentation. Flags carry the names of openai/whisper's at
// c0d2f62, with dashes.
//
// # Exit status
//
//	0  done
//	1  some input failed; the others are still written
//	2  wrong usage
//	3  outputs differ that must not
package main
