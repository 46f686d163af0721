// Package scribe has the commands that write what was said: transcribe, listen, watch
// and serve.
package scribe
