package audio

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"strings"

	"verity/internal/input"
)

// Causes of a [FormatError], for errors.Is.
var (
	ErrMalformed   = errors.New("damaged sound file")
	ErrUnsupported = errors.New("unsupported sound format")
)

// ErrTooLong reports sound that is longer than Input.MaxDuration.
var ErrTooLong = errors.New("the sound is too long")

// ErrNoSound reports a file of a known format without an audio track, such as a film without sound.
var ErrNoSound = errors.New("has no sound: there is no audio track in it")

var errDirectory = errors.New("is a directory, want a sound file")

// A FormatError reports a file that cannot be read as sound. Its cause is ErrMalformed for a damaged file,
// ErrUnsupported for a format that this package does not read.
type FormatError struct {
	File  string // as the caller named it
	Thing string // what is wrong, such as "sample rate"; empty if Got is a kind of file
	Got   string
	Want  string // may be empty
	Err   error

	final     bool   // Got is the whole sentence: no program can help
	forbidden bool   // ffmpeg must not be used, or cannot be installed by who reads this
	ffmpeg    string // why ffmpeg could not read the file; empty if it was not tried
}

func (e *FormatError) Error() string {
	text := fmt.Sprintf("%s: %v: %s", e.File, e.Err, detail(e))
	switch {
	case e.final:
		return e.File + ": " + e.Got
	case e.Err == ErrMalformed:
		return text + "; copy or export it again"
	case e.Thing == "":
		text = e.File + ": is " + e.Got
	}
	switch {
	case e.ffmpeg != "":
		return fmt.Sprintf("%s; ffmpeg cannot read it (%s): copy or export it again", text, e.ffmpeg)
	case e.forbidden:
		return text + "; convert it to WAV or FLAC first"
	}
	return text + "; install ffmpeg to read it: " + installFFmpeg()
}

// installFFmpeg returns the command that installs ffmpeg.
func installFFmpeg() string {
	switch runtime.GOOS {
	case "windows":
		return "winget install Gyan.FFmpeg"
	case "darwin":
		return "brew install ffmpeg"
	}
	return "sudo apt install ffmpeg"
}

// detail returns the text of an error without the file and the advice.
func detail(err error) string {
	var f *FormatError
	if !errors.As(err, &f) {
		return err.Error()
	}
	text := strings.TrimPrefix(f.Thing+": got ", ": ") + f.Got
	if f.Want != "" {
		text += ", want " + f.Want
	}
	return text
}

func (e *FormatError) Unwrap() error { return e.Err }

// final makes a FormatError that is one sentence, without its file.
func final(cause error, sentence string) error {
	return &FormatError{Got: sentence, Err: cause, final: true}
}

// malformed and unsupported make a FormatError without its file, which open adds.
func malformed(thing, want, got string, args ...any) error {
	return &FormatError{Thing: thing, Want: want, Got: fmt.Sprintf(got, args...), Err: ErrMalformed}
}

func unsupported(thing, want, got string, args ...any) error {
	return &FormatError{Thing: thing, Want: want, Got: fmt.Sprintf(got, args...), Err: ErrUnsupported}
}

// A ReadError reports that a file could not be read to its end, for a reason that lies outside the file.
type ReadError struct {
	File string // as the caller named it
	Err  error
}

func (e *ReadError) Error() string { return e.File + ": " + e.Err.Error() }
func (e *ReadError) Unwrap() error { return e.Err }

// A SampleError reports a sample in memory that cannot be sound.
type SampleError struct {
	Index int64 // of the sample, from 0
	Value float32
}

func (e *SampleError) Error() string {
	remedy := "; divide samples of 16 bits by 32768"
	if x := float64(e.Value); math.IsNaN(x) || math.IsInf(x, 0) {
		remedy = "; replace it by 0 for silence"
	}
	return fmt.Sprintf("samples: got %g at index %d, want -1 to 1%s", e.Value, e.Index, remedy)
}

// A noFile is fs.ErrNotExist with a clearer text.
type noFile string

func (e noFile) Error() string      { return string(e) }
func (noFile) Is(target error) bool { return target == fs.ErrNotExist }

// named returns err with the name of the file in it, once.
func named(name string, err error) error {
	if err == nil {
		return nil
	}
	if format, ok := errors.AsType[*FormatError](err); ok {
		if format.File == "" {
			format.File = name
		}
		return err
	}
	if _, ok := errors.AsType[*ReadError](err); ok {
		return err
	}
	var path *fs.PathError
	if errors.As(err, &path) && path.Path == name {
		err = input.Cause(err) // its text would name the file again
	}
	return &ReadError{File: name, Err: err}
}
