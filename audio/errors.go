package audio

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
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
	Thing string // what is wrong, such as "sample rate"; may be empty
	Got   string
	Want  string // may be empty
	Err   error

	ffmpeg  string // why ffmpeg could not read the file; empty if it was not tried
	never   bool   // ffmpeg must not be used
	unknown bool   // its first bytes are of no known format
	part    bool   // it is cut off; Got is the whole sentence
}

func (e *FormatError) Error() string {
	var b strings.Builder
	switch {
	case e.Got == emptyFile && e.File == "standard input":
		return "nothing came on standard input"
	case e.Got == emptyFile:
		return e.File + ": the file is empty; record or copy it again"
	case e.unknown && e.ffmpeg == noReason:
		return e.File + ": is no sound in any format that Verity or ffmpeg reads; copy or export it again"
	case e.part: // no program has the rest
		return e.File + ": " + e.Got
	case e.Thing == "" && e.Err == ErrUnsupported && e.ffmpeg != "" && !e.unknown && !isDocument(e.Got) && !strings.Contains(e.ffmpeg, "whitelist"):
		fmt.Fprintf(&b, "%s: is %s that ffmpeg cannot read", e.File, e.Got)
		if e.ffmpeg != noReason {
			b.WriteString(" (" + e.ffmpeg + ")")
		}
		return b.String() + "; copy or export it again"
	case e.Thing == "" && e.Err == ErrUnsupported:
		fmt.Fprintf(&b, "%s: is %s", e.File, e.Got)
	default:
		fmt.Fprintf(&b, "%s: %v: %sgot %s", e.File, e.Err, strings.TrimPrefix(e.Thing+": ", ": "), e.Got)
	}
	if e.Want != "" {
		fmt.Fprintf(&b, ", want %s", e.Want)
	}
	b.WriteString(e.remedy())
	return b.String()
}

// emptyFile is the Got of a FormatError for a file without bytes.
const emptyFile = "an empty file"

// noReason is what ffmpeg says of any file that it cannot read.
const noReason = "Invalid data found when processing input"

// words returns what ffmpeg says of a file that it cannot read.
func (e *FormatError) words() string {
	if e.Thing != "ffmpeg" { // it is our own check of what it wrote
		return noReason
	}
	return cmp.Or(strings.TrimSpace(strings.ReplaceAll(e.Got, noReason, "")), noReason)
}

// textFile is the Got of a FormatError for a file of text.
const textFile = "a text file"

// documents are the Got of a FormatError for files of other kinds that people name, by their first bytes.
var documents = map[string]string{
	"PK\x03\x04": "a Word document or another ZIP archive", "%PDF": "a PDF document", "\xd0\xcf\x11\xe0": "an old Office document",
}

// isDocument reports whether a file of this kind has no sound, so that no program can help.
func isDocument(got string) bool {
	return got == textFile || slices.Contains(slices.Collect(maps.Values(documents)), got)
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

// remedy returns advice on what to do.
func (e *FormatError) remedy() string {
	convert := "ffmpeg -i " + shellWord(e.File) + " -ar 16000 -ac 1 out.wav"
	switch {
	case isDocument(e.Got):
		return ""
	case e.NeedsFFmpeg():
		return "; convert it to WAV or FLAC first"
	case e.never:
		return "; copy or export it again"
	case strings.Contains(e.ffmpeg, "not on whitelist"): // ffmpeg's words for formats other than ours
		return "; convert it first, if it has sound: " + convert
	case e.ffmpeg == noReason:
		return "; copy or export it again"
	case e.ffmpeg != "":
		return "; copy or export it again, since ffmpeg cannot read it either: " + e.ffmpeg
	case e.Err == ErrUnsupported:
		return "; install ffmpeg, or convert it first: " + convert
	}
	return "; copy or export it again, or try: " + convert
}

// NeedsFFmpeg reports whether ffmpeg, which was forbidden, might read the file.
func (e *FormatError) NeedsFFmpeg() bool {
	return e.never && e.Err == ErrUnsupported && !isDocument(e.Got)
}

// plainWord matches names that need no quotes in a shell.
var plainWord = regexp.MustCompile(`^[\w./+@%,:=-]+$`)

// shellWord quotes the name of a file for a shell.
func shellWord(name string) string {
	if name == "" || name == "-" || name == "standard input" {
		return "FILE"
	}
	if plainWord.MatchString(name) && name[0] != '-' {
		return name
	}
	if name[0] == '-' {
		name = "./" + name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

func (e *FormatError) Unwrap() error { return e.Err }

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

// noFile is fs.ErrNotExist with a clearer text.
type noFile struct{}

func (noFile) Error() string        { return "there is no such sound file" }
func (noFile) Is(target error) bool { return target == fs.ErrNotExist }

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
