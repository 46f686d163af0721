package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"verity/transcript"
)

// An output is where transcripts go.
type output interface {
	// segment takes a segment as soon as it is known; bar gives way to it.
	segment(bar *progress, s transcript.Segment) error

	// finish takes the transcript of a file that is done.
	finish(name string, t *transcript.Transcript) error
}

// errOutput is the cause when text cannot be written: no use to go on.
var errOutput = errors.New("writing the text")

func cannotWrite(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errOutput, err)
}

// lines writes the text of segments as they come.
type lines struct {
	w    io.Writer
	line func(transcript.Segment) string
}

func (l lines) segment(bar *progress, s transcript.Segment) error {
	bar.giveWay()
	_, err := fmt.Fprintln(l.w, l.line(s))
	return cannotWrite(err)
}

func (l lines) finish(string, *transcript.Transcript) error { return nil }

// A document writes whole transcripts in one format.
type document struct {
	w      io.Writer
	format transcript.Format
}

func (d document) segment(*progress, transcript.Segment) error { return nil }

func (d document) finish(_ string, t *transcript.Transcript) error {
	return cannotWrite(transcript.Write(d.w, d.format, t))
}

// A folder writes a file for every format and transcript.
type folder struct {
	dir     string
	formats []transcript.Format
}

// newFolder makes the directory, unless two files would be written over each
// other in it.
func newFolder(dir string, formats []transcript.Format, files []string) (folder, error) {
	from := make(map[string]string, len(files))
	for _, f := range files {
		name := stem(f)
		if other, taken := from[name]; taken {
			return folder{}, usagef("%s and %s would both be written to %s", other, f, filepath.Join(dir, name+"."+string(formats[0])))
		}
		from[name] = f
	}
	return folder{dir, formats}, os.MkdirAll(dir, 0o777)
}

// stem is the name of a file without its directory and extension.
func stem(name string) string {
	if name == "-" {
		return "stdin"
	}
	base := filepath.Base(name)
	if s := strings.TrimSuffix(base, filepath.Ext(base)); s != "" {
		return s
	}
	return base
}

func (f folder) segment(*progress, transcript.Segment) error { return nil }

func (f folder) finish(name string, t *transcript.Transcript) error {
	for _, format := range f.formats {
		var b bytes.Buffer
		if err := transcript.Write(&b, format, t); err != nil {
			return err
		}
		if err := replace(filepath.Join(f.dir, stem(name)+"."+string(format)), b.Bytes()); err != nil {
			return cannotWrite(err)
		}
	}
	return nil
}

// replace writes a file whole or not at all.
func replace(name string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), ".verity-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails once it has its name
	_, err = tmp.Write(content)
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
