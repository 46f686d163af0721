package tokenizer

import (
	"errors"
	"strings"
)

// Causes of an [Error], for errors.Is.
var (
	ErrMissing     = errors.New("missing")
	ErrMalformed   = errors.New("malformed")   // the file breaks its own format
	ErrUnsupported = errors.New("unsupported") // the file is sound, but this package cannot use it
	ErrUnspellable = errors.New("not in the vocabulary")
)

// An Error reports what is wrong with the files of a tokenizer, or with a text
// it cannot encode. Its cause is one of the errors above.
type Error struct {
	File   string // as the caller named it; empty for a text
	Thing  string // such as "model.merges[17]"
	Err    error
	Got    string // may be empty, as may the rest
	Want   string
	Remedy string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("tokenizer: ")
	if e.File != "" {
		b.WriteString(e.File + ": ")
	}
	b.WriteString(e.Thing + ": " + e.Err.Error())
	if e.Got != "" {
		b.WriteString(": got " + e.Got)
	}
	if e.Want != "" {
		b.WriteString(", want " + e.Want)
	}
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }
