// Package text has the commands that turn speech into text: transcribe, listen and watch, and pipe and decode for
// other programs.
package text
