package text

import (
	"cmp"
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

	"verity/cmd/internal/cli"
	"verity/cmd/internal/setup"
	"verity/internal/output"
	"verity/internal/show"
	"verity/transcript"
)

// errOutput is the cause when standard output cannot be written: no further text could be. A
// file that cannot be written is a failure of its input alone.
var errOutput = errors.New("writing the text")

func cannotWrite(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errOutput, err)
}

// A folder writes transcripts to a directory, a file for each format.
type folder struct {
	dir       string
	formats   []transcript.Format
	subtitles transcript.Subtitles
	force     bool      // replace what exists
	skip      bool      // leave what exists
	log       io.Writer // nil, or gets a line for each transcript
	undo      func()    // removes the directory if it was made and is empty
}

// make makes the directory and checks that files can be written to it. No two inputs may have
// the same output, and no output may be an input.
func (f *folder) make(inputs []string) error {
	inputOf := make(map[string]string, len(inputs))
	for _, in := range inputs {
		sound, _ := os.Stat(in) // nil for standard input
		key := foldCase(stem(in))
		if other, taken := inputOf[key]; taken {
			return cli.Usagef("%s and %s would both be written to %s",
				show.Name(other), show.Name(in), show.Name(f.path(in, f.formats[0])))
		}
		inputOf[key] = in
		for _, format := range f.formats {
			path := f.path(in, format)
			if there, err := os.Stat(path); err == nil && os.SameFile(there, sound) {
				return &output.Error{Name: path, Err: errors.New("it is an input")}
			}
		}
	}
	var err error
	f.undo, err = output.MakeDir(f.dir)
	return err
}

// ignoresCase reports whether Talk.txt and talk.txt are one file on this system.
var ignoresCase = runtime.GOOS == "windows" || runtime.GOOS == "darwin"

// foldCase returns a name in a form that all names of one file share.
func foldCase(name string) string {
	if ignoresCase {
		return strings.ToLower(name)
	}
	return name
}

// path is the file for the transcript of an input.
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

// missing returns the inputs to transcribe: all, or with skip those that lack an output.
// Without force and skip an output that exists is an error.
func (f *folder) missing(inputs []string) (todo []string, err error) {
	if f.force {
		return inputs, nil
	}
	for _, in := range inputs {
		existing := 0
		for _, format := range f.formats {
			path := f.path(in, format)
			if !exists(path) {
				continue
			}
			if existing++; !f.skip {
				return nil, cli.Usagef("%s exists, and nothing was done: --force replaces it, --skip-existing leaves it "+
					"and continues", show.Name(path))
			}
		}
		if existing < len(f.formats) {
			todo = append(todo, in)
		}
	}
	return todo, nil
}

// exists reports whether writing a file would lose something. A link that leads nowhere counts;
// a device or a pipe holds nothing.
func exists(path string) bool {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	info, err := os.Stat(path)
	return err != nil || info.Mode().IsRegular() || info.IsDir()
}

// write writes all formats that it can, and returns the first error.
func (f *folder) write(name string, t *transcript.Transcript) (first error) {
	var written []string
	for _, format := range f.formats {
		path := f.path(name, format)
		if f.skip && exists(path) {
			continue
		}
		err := output.Replace(path, func(w io.Writer) error { return f.subtitles.Write(w, format, t) })
		if err == nil {
			written = append(written, show.Name(path))
		}
		first = cmp.Or(first, err)
	}
	if f.log != nil && len(written) > 0 {
		fmt.Fprintf(f.log, "%s: written to %s\n", show.Name(name), strings.Join(written, ", "))
	}
	return first
}
