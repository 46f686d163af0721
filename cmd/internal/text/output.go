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

// errOutput is the cause when text cannot be written to standard output: there is no
// point in continuing. A file that cannot be written is a failure of its input alone.
var errOutput = errors.New("writing the text")

func cannotWrite(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errOutput, err)
}

// A folder writes a file for every format and transcript.
type folder struct {
	dir       string
	formats   []transcript.Format
	subtitles transcript.Subtitles
	force     bool      // replace what exists
	skip      bool      // leave what exists
	log       io.Writer // gets a line for each transcript written; may be nil
	undo      func()    // removes the directory if it was made for nothing
}

// make makes the directory and checks that all files can be written to it. No two of them
// may be one file, and none may be an input.
func (f *folder) make(inputs []string) error {
	from := make(map[string]string, len(inputs))
	for _, in := range inputs {
		sound, _ := os.Stat(in) // nil for standard input
		key := oneFile(stem(in))
		if other, taken := from[key]; taken {
			return cli.Usagef("%s and %s would both be written to %s", show.Name(other), show.Name(in), show.Name(f.path(in, f.formats[0])))
		}
		from[key] = in
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

// folds reports whether Talk.txt and talk.txt are one file on this system.
var folds = runtime.GOOS == "windows" || runtime.GOOS == "darwin"

// oneFile returns a name in the form that is equal for all names of one file.
func oneFile(name string) string {
	if folds {
		return strings.ToLower(name)
	}
	return name
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
				return nil, cli.Usagef("%s exists, and nothing was done: --force replaces it, --skip-existing leaves it and goes on", show.Name(path))
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

// write writes all formats that it can. The error is the first of those it cannot.
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
