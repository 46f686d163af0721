// Package text has the commands that turn speech into text: transcribe, listen, watch and serve, and pipe and decode for
// other programs.
package text
