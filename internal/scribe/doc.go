// Package scribe has the commands that write what was said: transcribe, listen, watch
// and serve.
package scribe

// endHelp is what the help of commands ends with that run until they are stopped.
const endHelp = "\n\nExit status: 0 it was stopped, or the sound has ended; 1 it failed; 2 wrong\nusage; 130 interrupted before it began."
