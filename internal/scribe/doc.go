// Package scribe has the commands that write what was said: transcribe and serve.
package scribe
