// Package text has the commands that write what was said: transcribe, listen, watch
// and serve.
package text
