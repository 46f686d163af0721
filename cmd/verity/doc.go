// Verity transcribes speech with Whisper models.
//
//	arguments → commandLine → applyVariables → a command of cmd/internal → exit status
//
// Results go to standard output, and nothing else does. Progress and logs go to standard
// error, progress only on a terminal. "verity help" and "verity help COMMAND" explain
// everything. Flags have the names of openai/whisper's at c0d2f62, with hyphens.
//
// # Exit status
//
//	0    done
//	1    some sound could not be transcribed, or other work failed; the rest is done
//	2    wrong usage: what was typed cannot be used; nothing was done
//	3    outputs differ that must be equal
//	130  interrupted
package main
