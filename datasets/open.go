package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"verity/internal/input"
)

// Open detects what kind of dataset is at path, a file or a folder, and where its rows
// are. It reads no rows. An error names the files that it looked for, or is ctx's cause.
func Open(ctx context.Context, path string, o Options) (*Dataset, error) {
	real, err := filepath.EvalSymlinks(path)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(real)
	}
	if err != nil {
		return nil, fmt.Errorf("dataset %s: %w", path, input.Cause(err))
	}
	var d *Dataset
	switch {
	case info.IsDir():
		d, err = openFolder(ctx, path, real, o)
	case info.Mode().IsRegular():
		d, err = openFile(path, o)
	default: // a pipe or device may never end, and cannot be read twice
		err = input.ErrNotRegular
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("dataset %s: %w", path, shorten(err))
	}
	return d, nil
}

// ErrKind is the cause of an error about files that are no dataset.
var ErrKind = errors.New("no dataset")

// A kindError is an ErrKind with what was looked for.
type kindError string

func (e kindError) Error() string        { return string(e) }
func (e kindError) Is(target error) bool { return target == ErrKind }

// openFile decides by the name.
func openFile(path string, o Options) (*Dataset, error) {
	for _, l := range layouts {
		switch {
		case l.files == "" || !l.has(path):
		case l.advice != "":
			return nil, kindError(l.advice)
		default:
			return &Dataset{Format: l.format, Root: filepath.Dir(path), Files: []string{path}, options: o}, nil
		}
	}
	return nil, kindError("want a directory, or a file named as one of " + patterns(true))
}

// openFolder decides by the files in the folder.
func openFolder(ctx context.Context, path, real string, o Options) (*Dataset, error) {
	found, other, err := listFiles(ctx, path, real)
	if err != nil {
		return nil, err
	}
	for i, l := range layouts {
		switch {
		case len(found[i]) == 0:
		case l.advice != "":
			return nil, kindError(l.advice)
		case len(found[i]) > 1 && l.where == top:
			return nil, fmt.Errorf("the folder has several manifests: name one of them: %s", strings.Join(found[i], ", "))
		default:
			d := &Dataset{Format: l.format, Root: path, Files: found[i], options: o}
			if d.manifest = other; len(found[i+1]) > 0 { // CSV files
				d.manifest = found[i+1][0]
			}
			return d, nil
		}
	}
	return nil, kindError("want " + patterns(false) + ", or sound files with a .txt beside each: found none of them")
}

// listFiles walks the folder real in the order of names and lists what it finds under
// path, by layout, and the first file that would be read if it were named. Hidden files and folders, and links to folders,
// are skipped.
func listFiles(ctx context.Context, path, real string) (found [][]string, other string, err error) {
	found = make([][]string, len(layouts))
	err = filepath.WalkDir(real, func(p string, e fs.DirEntry, err error) error {
		if err = cmp.Or(err, context.Cause(ctx)); err != nil {
			return err
		}
		if p != real && strings.HasPrefix(e.Name(), ".") {
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if e.IsDir() || e.Type()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket|fs.ModeIrregular) != 0 {
			return nil
		}
		rel, err := filepath.Rel(real, p)
		if err != nil {
			return err
		}
		p, atTop := filepath.Join(path, rel), rel == e.Name()
		for i, l := range layouts {
			if !l.has(p) {
				continue
			}
			if l.where == below || l.where == top && atTop {
				found[i] = append(found[i], p)
			} else if other == "" && l.advice == "" {
				other = p
			}
			break
		}
		return nil
	})
	return found, other, err
}
