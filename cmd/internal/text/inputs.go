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

// inputs returns the sound files that arguments name: those in a directory, and if recursive
// also below it; those that match a pattern, which some shells leave as it is; and any other
// argument unchanged.
func inputs(args []string, recursive bool) (files []string, err error) {
	for _, arg := range args {
		var found []string
		info, err := os.Stat(arg)
		switch {
		case err == nil && info.IsDir():
			if found, err = soundIn(arg, recursive); err == nil && len(found) == 0 && len(args) > 1 {
				found = []string{arg} // which fails, and the others are done
			} else if err == nil && len(found) == 0 {
				err = cli.Usagef("%s: there is no sound file in this directory%s", show.Name(arg), map[bool]string{false: "; --recursive looks below it, too"}[recursive])
			}
		case err != nil && strings.Contains(arg, "**") && !setup.IsAddress(arg):
			return nil, cli.Usagef("%s: ** is no pattern here: name the directory, and --recursive takes what lies below it", show.Name(arg))
		case err != nil && strings.ContainsAny(arg, "*?[") && !setup.IsAddress(arg):
			if found, err = filepath.Glob(arg); err != nil {
				found, err = []string{arg}, nil // no pattern, but a name
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

// soundIn returns the sound files in a directory, sorted by name, without hidden ones, whose
// names begin with a dot. If a directory below it cannot be read, that is the error, and the
// files of the others are returned, too.
func soundIn(dir string, recursive bool) (files []string, err error) {
	var unread error
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil && path == dir { // there may be no entry
			return err
		}
		switch hidden := strings.HasPrefix(entry.Name(), "."); {
		case err != nil:
			if unread == nil && !errors.Is(err, fs.ErrNotExist) { // it may have gone since it was listed
				unread = err
			}
		case entry.IsDir() && path != dir && (hidden || !recursive):
			return fs.SkipDir
		case !hidden && !entry.IsDir() && slices.Contains(input.SoundFiles, strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))):
			if info, err := os.Stat(path); err == nil && info.Mode()&^fs.ModeDir&fs.ModeType != 0 {
				return nil // a FIFO that nobody writes to would be waited for
			}
			files = append(files, path)
		}
		return nil
	})
	return files, cmp.Or(err, unread)
}
