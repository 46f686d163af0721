// Package text has the commands that turn speech into text: transcribe, listen, watch and serve.
package text
