package text

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/setup"
	"verity/internal/input"
	"verity/internal/show"
)

// inputs returns the sound files that arguments name: those in a directory, if recursive also
// those below it; those that match a pattern, which some shells do not expand; and every other
// argument unchanged.
func inputs(args []string, recursive bool) (files []string, err error) {
	for _, arg := range args {
		var found []string
		info, err := os.Stat(arg)
		switch {
		case err == nil && info.IsDir():
			if found, err = soundIn(arg, recursive); err == nil && len(found) == 0 && len(args) > 1 {
				found = []string{arg} // it fails without stopping the others
			} else if err == nil && len(found) == 0 {
				hint := map[bool]string{false: "; --recursive looks below it, too"}[recursive]
				err = cli.Usagef("%s: there is no sound file in this directory%s", show.Name(arg), hint)
			}
		case err != nil && strings.Contains(arg, "**") && !setup.IsAddress(arg):
			return nil, cli.Usagef("%s: ** is no pattern here: name the directory, and --recursive takes what lies below it",
				show.Name(arg))
		case err != nil && strings.ContainsAny(arg, "*?[") && !setup.IsAddress(arg):
			if found, err = filepath.Glob(arg); err != nil {
				found, err = []string{arg}, nil // a name, not a pattern
			} else if len(found) == 0 {
				err = fmt.Errorf("%s: no file has such a name", show.Name(arg))
			}
		default:
			found, err = []string{arg}, nil
		}
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// soundIn returns the sound files in a directory, sorted by name, without hidden ones (names
// that begin with a dot). If a directory below it cannot be read, soundIn returns that error
// and the files of the other directories.
func soundIn(dir string, recursive bool) (files []string, err error) {
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
			return fs.SkipDir
		case !hidden && !entry.IsDir() && hasSound(path):
			if info, err := os.Stat(path); err == nil && info.Mode()&^fs.ModeDir&fs.ModeType != 0 {
				return nil // opening a FIFO that nobody writes to would block
			}
			files = append(files, path)
		}
		return nil
	})
	return files, cmp.Or(err, unread)
}

// hasSound reports whether a file has the extension of a sound file.
func hasSound(path string) bool {
	return slices.Contains(input.SoundFiles, strings.ToLower(strings.TrimPrefix(filepath.Ext(path), ".")))
}
