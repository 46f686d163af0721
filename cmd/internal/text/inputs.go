package text

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/internal/input"
	"verity/internal/show"
)

// inputFiles are the sound files of a command.
type inputFiles struct {
	names  []string
	below  map[string]string // where a file lies below the directory that was named
	others otherFiles        // passed over in directories
}

// otherFiles counts files that do not look like sound, and directories that are not read.
type otherFiles struct{ files, directories int }

// String returns such as "3 other files passed over", or "" for none.
func (o otherFiles) String() string {
	if o.files == 0 {
		return ""
	}
	return show.Some(o.files, "other file") + " passed over"
}

// add adds the sound files that an argument names: those in a directory, if recursive also those below it; those
// that match a pattern, which some shells do not expand, unless the name is literal; and any other
// argument unchanged. alone means that it is the only one.
func (in *inputFiles) add(arg string, recursive, literal, alone bool) error {
	info, err := os.Stat(arg)
	switch pattern := err != nil && !literal && !cli.IsAddress(arg); {
	case err == nil && info.IsDir():
		return in.addDirectory(arg, recursive, alone)
	case pattern && strings.Contains(arg, "**"):
		return cli.Usagef("%s: ** is no pattern here: name the directory, and --recursive takes what lies below it", show.Name(arg))
	case pattern && strings.ContainsAny(arg, "*?["):
		found, err := matching(arg)
		if err != nil {
			break // a name, not a pattern
		}
		if len(found) == 0 {
			return fmt.Errorf("%s: no file has such a name; check the pattern", show.Name(arg))
		}
		in.names = append(in.names, found...)
		return nil
	}
	in.names = append(in.names, arg)
	return nil
}

// addDirectory adds the sound files in a directory. None is an error at once only if the directory is alone.
func (in *inputFiles) addDirectory(dir string, recursive, alone bool) error {
	found, others, err := soundIn(dir, recursive)
	switch {
	case err != nil:
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			dir = path.Path // perhaps one below it
		}
		return fmt.Errorf("%s: this directory cannot be read: %w", show.Name(dir), input.Cause(err))
	case len(found) == 0 && alone:
		hint := map[bool]string{false: "; --recursive looks below it, too"}[recursive]
		if text := others.String(); text != "" {
			hint = ": " + text + hint
		}
		return cli.Usagef("%s: there is no sound file in this directory%s", show.Name(dir), hint)
	case len(found) == 0:
		found = []string{dir} // it fails without stopping the others
	}
	in.others.files += others.files
	in.others.directories += others.directories
	for _, name := range found {
		if below, err := filepath.Rel(dir, filepath.Dir(name)); err == nil && name != dir {
			in.below[name] = below
		}
	}
	in.names = append(in.names, found...)
	return nil
}

// matching returns the files that match a pattern, in any case of letters where the system knows none.
func matching(pattern string) ([]string, error) {
	found, err := filepath.Glob(pattern)
	if dir, name := filepath.Split(pattern); err == nil && ignoresCase {
		found, _ = filepath.Glob(dir + "*")
		found = slices.DeleteFunc(found, func(file string) bool {
			same, _ := filepath.Match(foldCase(name), foldCase(filepath.Base(file)))
			return !same
		})
	}
	return found, err
}

// inputs returns the sound files that arguments name, and then those of a list, each once.
func inputs(args, list []string, recursive bool) (*inputFiles, error) {
	in := &inputFiles{below: map[string]string{}}
	for i, arg := range slices.Concat(args, list) {
		if err := in.add(arg, recursive, i >= len(args), len(args)+len(list) == 1); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	in.names = slices.DeleteFunc(in.names, func(name string) bool {
		_, piped := cli.Stdin(name)
		clean := filepath.Clean(name)
		again := seen[clean] && !piped
		seen[clean] = true
		return again
	})
	return in, nil
}

// longestList is the most bytes of a list of files.
const longestList = 64 << 20

// readList reads names of files, one per line, or each before a NUL character if there is one. Empty names are
// skipped. "-" is standard input, and "" no list.
func readList(ctx context.Context, name string, stdin io.Reader) (names []string, err error) {
	r := stdin
	switch name {
	case "":
		return nil, nil
	case "-":
	default:
		f, err := openList(ctx, name)
		if err != nil {
			return nil, cli.Usagef("--files-from %s: %v", show.Name(name), input.Cause(err))
		}
		defer f.Close()
		r = f
	}
	text, err := io.ReadAll(io.LimitReader(r, longestList+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", show.Name(name), input.Cause(err))
	case len(text) > longestList:
		return nil, cli.Usagef("--files-from %s: want at most %d MiB; split the list", show.Name(name), longestList>>20)
	}
	text = []byte(input.Text(text))
	end, space := "\n", "\r"
	if bytes.IndexByte(text, 0) >= 0 {
		end, space = "\x00", ""
	}
	for one := range strings.SplitSeq(string(text), end) {
		if one = strings.TrimSuffix(one, space); strings.TrimSpace(one) == "" {
			continue
		}
		if strings.ContainsFunc(one, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' }) {
			return nil, cli.Usagef("--files-from %s: want a list of file names, got something else, such as a sound file", show.Name(name))
		}
		names = append(names, one)
	}
	if len(names) == 0 {
		return nil, cli.Usagef("--files-from %s: it names no file; want the name of one on each line", show.Name(name))
	}
	return names, nil
}

// openList opens a list: a regular file, or what a shell passes as /dev/fd/63.
func openList(ctx context.Context, name string) (io.ReadCloser, error) {
	if strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/") || name == "/dev/stdin" {
		return os.Open(name)
	}
	return input.Open(ctx, name)
}

// soundIn returns the sound files in a directory, sorted by name, without hidden ones (names
// that begin with a dot), and counts the others. If a directory below it cannot be read, soundIn returns that
// error and the files of the other directories.
func soundIn(dir string, recursive bool) (files []string, others otherFiles, err error) {
	var unread error
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil && path == dir { // entry may be nil
			return err
		}
		switch hidden := strings.HasPrefix(entry.Name(), "."); {
		case err != nil:
			if unread == nil && !errors.Is(err, fs.ErrNotExist) { // it may have been removed meanwhile
				unread = err
			}
		case entry.IsDir() && path != dir && (hidden || !recursive):
			if !hidden {
				others.directories++
			}
			return fs.SkipDir
		case hidden || entry.IsDir():
		case !audio.HasEnding(path):
			others.files++
		default:
			if info, err := os.Stat(path); err == nil && info.Mode()&^fs.ModeDir&fs.ModeType != 0 {
				return nil // opening a FIFO that nobody writes to would block
			}
			files = append(files, path)
		}
		return nil
	})
	return files, others, cmp.Or(err, unread)
}
