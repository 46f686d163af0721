package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// MakeDir makes a directory, and reports why files cannot be written to it. undo removes the
// directories that it made, as far as they are empty.
func MakeDir(name string) (undo func(), err error) {
	var made []string
	for at := filepath.Clean(name); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, at)
	}
	undo = func() {
		for _, dir := range made {
			os.Remove(dir)
		}
	}
	if err = os.MkdirAll(name, 0o777); err == nil {
		err = acceptsFiles(name)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("the directory cannot be made; name another")
	} else if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: the directory cannot be made; name another", fs.ErrPermission)
	}
	if err != nil {
		undo()
	}
	return undo, unfit(name, err)
}

// acceptsFiles reports why no new file can be made in a directory.
func acceptsFiles(dir string) error {
	f, err := beside(filepath.Join(dir, "output"))
	if _, missing := os.Stat(dir); errors.Is(missing, fs.ErrNotExist) {
		return fmt.Errorf("there is no directory %s; make it, or name another", dir)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: no file can be made in %s; name another directory", fs.ErrPermission, dir)
	}
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// Below returns the path of a directory below dir. A link that leads out of dir is an error.
func Below(dir, below string) (string, error) {
	path := filepath.Join(dir, below)
	root, err := os.OpenRoot(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return path, unfit(dir, err)
	}
	defer root.Close()
	if _, err = root.Stat(below); errors.Is(err, fs.ErrNotExist) {
		return path, nil
	} else if err != nil {
		err = fmt.Errorf("%w: a link that leads out of %s is not followed", errors.Unwrap(err), dir)
	}
	return path, unfit(path, err)
}

// A FileWriter writes a file of a checkpoint: what f writes.
type FileWriter func(name string, f func(io.Writer) error) error

// WriteModel makes a directory and the files that write puts there. All take their places
// when write is done, since they are of use only together. If it fails, what was there stays.
func WriteModel(dir string, write func(FileWriter) error) error {
	undo, err := MakeDir(dir)
	if err != nil {
		return err
	}
	defer undo()
	var tmp, paths []string
	err = write(func(name string, f func(io.Writer) error) error {
		path := filepath.Join(dir, name)
		file, err := stage(path, f)
		tmp, paths = append(tmp, file), append(paths, path)
		return wrap(path, err)
	})
	for i, path := range paths {
		if err == nil {
			err = wrap(path, rename(tmp[i], path))
		}
		os.Remove(tmp[i]) // fails after a rename
	}
	return err
}

// CheckModel reports why a checkpoint cannot be written into a directory: one that is not
// empty must hold a checkpoint that ours recognises, since other weights may be valuable.
func CheckModel(dir string, ours func(dir fs.FS) bool) error {
	all, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && len(all) > 0 && !ours(os.DirFS(dir)):
		err = fmt.Errorf("it holds %.80q, which this program did not make: it is not overwritten; name another directory", all[0].Name())
	}
	return unfit(dir, err)
}
