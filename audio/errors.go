package audio

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Causes of a [FormatError], for errors.Is.
var (
	ErrMalformed   = errors.New("damaged sound file")
	ErrUnsupported = errors.New("unsupported sound format")
)

// ErrTooLong reports sound that is longer than Input.Longest.
var ErrTooLong = errors.New("the sound is too long")

// errTooShort reports a signal that upstream's centred transform cannot reflect
// at its ends.
var errTooShort = errors.New("audio too short")

// A FormatError reports a file that cannot be read as sound. Its cause tells
// whose fault that is: ErrMalformed the file's, ErrUnsupported ours.
type FormatError struct {
	File  string // as the caller named it
	Thing string // what is wrong, such as "sample rate"; may be empty
	Got   string
	Want  string // empty where nothing in particular would do
	Err   error
}

func (e *FormatError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v", e.File, e.Err)
	if e.Thing != "" {
		fmt.Fprintf(&b, ": %s", e.Thing)
	}
	fmt.Fprintf(&b, ": got %s", e.Got)
	if e.Want != "" {
		fmt.Fprintf(&b, ", want %s", e.Want)
	}
	if e.Err == ErrUnsupported {
		b.WriteString("; install ffmpeg, or convert it first: ffmpeg -i FILE -ar 16000 -ac 1 out.wav")
	} else {
		b.WriteString("; copy or export it again, or try: ffmpeg -i FILE -ar 16000 -ac 1 out.wav")
	}
	return b.String()
}

func (e *FormatError) Unwrap() error { return e.Err }

// malformed and unsupported make a FormatError without its file, which open adds.
func malformed(thing, want, got string, args ...any) error {
	return &FormatError{Thing: thing, Want: want, Got: fmt.Sprintf(got, args...), Err: ErrMalformed}
}

func unsupported(thing, want, got string, args ...any) error {
	return &FormatError{Thing: thing, Want: want, Got: fmt.Sprintf(got, args...), Err: ErrUnsupported}
}

// A ReadError reports that a file could not be read to its end, for a reason that
// lies outside the file.
type ReadError struct {
	File string // as the caller named it
	Err  error
}

func (e *ReadError) Error() string { return e.File + ": " + e.Err.Error() }
func (e *ReadError) Unwrap() error { return e.Err }

// named returns err with the name of the file in it, once.
func named(name string, err error) error {
	if err == nil {
		return nil
	}
	var format *FormatError
	if errors.As(err, &format) {
		if format.File == "" {
			format.File = name
		}
		return err
	}
	var read *ReadError
	if errors.As(err, &read) {
		return err
	}
	var path *fs.PathError
	if errors.As(err, &path) && path.Path == name {
		err = path.Err // its text would name the file again
	}
	return &ReadError{File: name, Err: err}
}
