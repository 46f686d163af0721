package scribe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"verity/internal/command"
	"verity/internal/output"
	"verity/internal/setup"
	"verity/internal/show"
	"verity/transcript"
)

// A sink is where transcripts go.
type sink interface {
	// segment takes a segment as soon as it is known; it clears bar first if both use
	// one terminal.
	segment(bar *command.Progress, s transcript.Segment) error

	// finish takes the transcript of a file that is done.
	finish(ctx context.Context, name string, t *transcript.Transcript) error
}

// errOutput is the cause when text cannot be written to standard output: there is no
// point in continuing. A file that cannot be written is a failure of its input alone.
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

func (l lines) segment(bar *command.Progress, s transcript.Segment) error {
	bar.GiveWay()
	_, err := fmt.Fprintln(l.w, l.line(s))
	return cannotWrite(err)
}

func (l lines) finish(context.Context, string, *transcript.Transcript) error { return nil }

// A document writes whole transcripts in one format.
type document struct {
	w         io.Writer
	format    transcript.Format
	subtitles transcript.Subtitles
}

func (d document) segment(*command.Progress, transcript.Segment) error { return nil }

func (d document) finish(_ context.Context, _ string, t *transcript.Transcript) error {
	return cannotWrite(d.subtitles.Write(d.w, d.format, t))
}

// A folder writes a file for every format and transcript.
type folder struct {
	dir       string
	formats   []transcript.Format
	subtitles transcript.Subtitles

	force bool      // replace what exists
	skip  bool      // leave what exists
	told  io.Writer // is told what was written; may be nil
}

// newFolder makes the directory and checks that all files can be written to it. No
// two of them may be one file, and none may be an input.
func newFolder(dir string, formats []transcript.Format, subtitles transcript.Subtitles, inputs []string) (*folder, error) {
	f := &folder{dir: dir, formats: formats, subtitles: subtitles}
	from := make(map[string]string, len(inputs))
	var outputs []string
	for _, in := range inputs {
		key := stem(in)
		if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
			key = strings.ToLower(key) // one file on their disks
		}
		if other, taken := from[key]; taken {
			return f, command.Usagef("%s and %s would both be written to %s", show.Name(other), show.Name(in), show.Name(f.path(in, formats[0])))
		}
		from[key] = in
		for _, format := range formats {
			outputs = append(outputs, filepath.Base(f.path(in, format)))
		}
	}
	if err := output.Dir(dir); err != nil {
		return f, err
	}
	return f, output.CheckIn(dir, outputs, inputs)
}

// path is where the transcript of an input goes.
func (f *folder) path(input string, format transcript.Format) string {
	return filepath.Join(f.dir, stem(input)+"."+string(format))
}

// stem is the name of a file without its directory and extension.
func stem(name string) string {
	if _, piped := setup.Stdin(name); piped {
		return "stdin"
	}
	if u, err := url.Parse(name); err == nil && setup.IsAddress(name) {
		name = path.Base(u.Path)
	}
	base := filepath.Base(name)
	if s := strings.TrimSuffix(base, filepath.Ext(base)); s != "" {
		return s
	}
	return base
}

func (f *folder) segment(*command.Progress, transcript.Segment) error { return nil }

// missing returns the inputs to transcribe: all of them, or with skip those of which an
// output is missing. Without force and skip it is an error if an output exists.
func (f *folder) missing(inputs []string) (todo []string, err error) {
	for _, in := range inputs {
		there := 0
		for _, format := range f.formats {
			path := f.path(in, format)
			if !exists(path) {
				continue
			}
			there++
			if !f.force && !f.skip {
				return nil, command.Usagef("%s exists, and nothing was done: --force replaces it, --skip-existing leaves it and goes on", show.Name(path))
			}
		}
		if !f.skip || there < len(f.formats) {
			todo = append(todo, in)
		}
	}
	return todo, nil
}

// exists reports whether something would be lost if a file were written. A symbolic link
// that leads nowhere counts; a device or a pipe holds nothing.
func exists(path string) bool {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	info, err := os.Stat(path)
	return err != nil || info.Mode().IsRegular() || info.IsDir()
}

// finish writes all formats that it can. The error is the first of those it cannot.
func (f *folder) finish(ctx context.Context, name string, t *transcript.Transcript) (first error) {
	var written []string
	for _, format := range f.formats {
		path := f.path(name, format)
		if f.skip && exists(path) {
			continue
		}
		err := output.WriteIn(f.dir, filepath.Base(path), func(w io.Writer) error { return f.subtitles.Write(w, format, t) })
		if err == nil {
			written = append(written, show.Name(path))
		}
		first = cmp.Or(first, err)
	}
	if f.told != nil && len(written) > 0 {
		fmt.Fprintf(f.told, "%s: written to %s\n", show.Name(name), strings.Join(written, ", "))
	}
	return first
}
