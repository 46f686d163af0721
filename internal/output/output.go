// Package output writes the files of the program. Who chose the name decides how:
//
//	Check, Write       a name that a person gave: where it leads
//	CheckIn, WriteIn   a name that the program gave, in a directory: nowhere else
//	Own                a file that the program keeps open: records, partial downloads
//	CheckModel, Model  the files of a checkpoint, which are of use only together
//
// # Conventions
//
// A regular file is written beside itself under another name and then renamed: it is
// complete or absent. It has the mode that the umask gives, or keeps the one it had. A process
// that is killed leaves .NAME.verity-PID-N. No other run removes it: whether PID still writes
// is not known of another container or a machine that shares the disk.
//
// A name that a person gave may be a symbolic link to a file: its target is replaced, the
// link stays. It may be a device, a FIFO, a pipe of the shell: that is opened and written
// to. "-" is standard output.
//
// In a directory others may have put links and FIFOs under the names that the program
// would choose. There, only regular files are replaced; all else is an error.
package output

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Stdout is the name of standard output.
const Stdout = "-"

// An Error reports a file that cannot be written. It names the file as the caller
// did.
type Error struct {
	Name string
	Err  error
}

func (e *Error) Error() string { return e.Name + ": cannot be written: " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// wrap names the file; the name of the file, or of a temporary one, is removed from the
// cause.
func wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &Error{name, err}
}

// Check reports why [Write] could not write a file, as far as can be known without writing:
// its directory is missing or refuses new files, or it is a directory. An empty name is none.
func Check(name string) error {
	if name == "" || isStdout(name) {
		return nil
	}
	path, direct, err := find(name)
	if err == nil && !direct {
		err = takes(filepath.Dir(path))
	}
	return wrap(name, err)
}

// Write writes what f writes to the file of that name, or to stdout if the name says
// so. A regular file is left as it was if f or the disk fails.
func Write(name string, stdout io.Writer, f func(io.Writer) error) error {
	if isStdout(name) {
		return f(stdout)
	}
	path, direct, err := find(name)
	switch {
	case err != nil:
	case direct:
		var file *os.File
		// A FIFO that nobody reads is an error, not a wait that hears no signal.
		if file, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			err = fill(file, f)
		}
	default:
		err = replace(path, f)
	}
	return wrap(name, err)
}

// CheckIn reports which of the files of those names [WriteIn] would not replace.
func CheckIn(dir string, names []string) error {
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := regular(path); err != nil {
			return wrap(path, err)
		}
	}
	return nil
}

// WriteIn writes what f writes to a file of that name in a directory, as Write does, but
// replaces only a regular file.
func WriteIn(dir, name string, f func(io.Writer) error) error {
	path := filepath.Join(dir, name)
	err := regular(path)
	if err == nil {
		err = replace(path, f)
	}
	return wrap(path, err)
}

// WriteFile is WriteIn for bytes that are there already.
func WriteFile(dir, name string, b []byte) error {
	return WriteIn(dir, name, func(w io.Writer) error { _, err := w.Write(b); return err })
}

// Own opens a file that the program keeps to itself in a directory, or makes it. It is a
// regular file of that directory, never one that a link leads to, and has no other name:
// what is written would change another's file, or a backup made of hard links.
func Own(path string, flag int) (*os.File, error) {
	if err := regular(path); err != nil {
		return nil, wrap(path, err)
	}
	dir, err := os.OpenRoot(filepath.Dir(path)) // a link that has come since leads nowhere else
	if err != nil {
		return nil, wrap(path, err)
	}
	defer dir.Close()
	f, err := dir.OpenFile(filepath.Base(path), flag|os.O_CREATE, 0o666)
	if err != nil {
		return nil, wrap(path, err)
	}
	if n, err := links(f); err != nil || n > 1 {
		f.Close()
		return nil, wrap(path, cmp.Or(err, errors.New("it has another name, a hard link, where it would change too: remove it, or put a copy in its place")))
	}
	return f, nil
}

// regular reports why what is in the place of a file of the program cannot be replaced.
func regular(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return errors.New("it is a symbolic link, which is not followed: remove it")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file: remove it")
	}
	return nil
}

func isStdout(name string) bool { return name == Stdout || name == "/dev/stdout" }

// find follows symbolic links to the file that a name means, which need not exist. It is
// direct if it must be opened and written to, not replaced.
func find(name string) (path string, direct bool, err error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if to, none := os.Readlink(name); none == nil {
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(name), to)
			}
			return find(to)
		}
		return name, false, nil
	case err != nil:
		return "", false, err
	case info.IsDir():
		return "", false, errors.New("it is a directory")
	case !info.Mode().IsRegular() || isDescriptor(name):
		return name, true, nil
	}
	path, err = filepath.EvalSymlinks(name)
	return path, false, err
}

// isDescriptor reports whether a path stands for an open file of a process, which must
// be written through: a file put in its place would not be the open one.
func isDescriptor(path string) bool {
	path = filepath.ToSlash(path)
	return path == "/dev/stderr" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/")
}

// takes reports why a directory takes no new file.
func takes(dir string) error {
	f, err := beside(filepath.Join(dir, "output"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no directory %s", dir)
	}
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// beside makes a new file in the directory of path.
func beside(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	if len(base) > 100 {
		base = base[:100] // names have 255 bytes at most
	}
	for i := 0; ; i++ {
		f, err := os.OpenFile(fmt.Sprintf("%s.%s.verity-%d-%d", dir, base, os.Getpid(), i),
			os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// rename replaces a file by another. Tests replace it with failing versions.
var rename = os.Rename

// replace writes a new file and puts it in the place of the old one.
func replace(path string, f func(io.Writer) error) error {
	tmp, err := stage(path, f)
	if err == nil {
		err = rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return err
}

// stage writes a new file, which is to replace that of path.
func stage(path string, f func(io.Writer) error) (tmp string, err error) {
	file, err := beside(path)
	if err != nil {
		return "", err
	}
	return file.Name(), fill(file, func(w io.Writer) error {
		err := f(w)
		if old, none := os.Lstat(path); err == nil && none == nil {
			err = file.Chmod(old.Mode().Perm()) // of the open file: under its name there may be a link by now
		}
		return err
	})
}

// fill writes and closes a file.
func fill(file *os.File, f func(io.Writer) error) error {
	b := bufio.NewWriterSize(file, 1<<16)
	err := f(b)
	if err == nil {
		err = b.Flush()
	}
	if problem := file.Close(); err == nil {
		err = problem
	}
	return err
}

// Dir makes a directory to write into, and reports why it cannot be one: its files
// could not be created. What it made and nothing was put in, undo removes.
func Dir(name string) (undo func(), err error) {
	var made []string
	for at := filepath.Clean(name); ; at = filepath.Dir(at) {
		if _, there := os.Lstat(at); !errors.Is(there, fs.ErrNotExist) {
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
		err = takes(name)
	}
	if err != nil {
		undo()
	}
	return undo, wrap(name, err)
}

// Below returns the path of a directory below one that a person named. A link on the way would lead elsewhere.
func Below(dir, below string) (string, error) {
	for _, part := range strings.Split(filepath.Clean(below), string(filepath.Separator)) {
		dir = filepath.Join(dir, part)
		if st, err := os.Lstat(dir); err == nil && st.Mode()&fs.ModeSymlink != 0 && part != "." {
			return "", wrap(dir, errors.New("it is a link, which is not followed; remove it, or name the directory it leads to"))
		}
	}
	return dir, nil
}

// A Put writes what f writes to a file of a checkpoint.
type Put func(name string, f func(io.Writer) error) error

// Model makes a directory and the files that write puts there, which are of use only
// together: all take their places when write is done. If it fails, what was there stays, and
// a directory that was not there is none again.
func Model(dir string, write func(Put) error) error {
	undo, err := Dir(dir)
	if err != nil {
		return err
	}
	var tmp, paths []string
	err = write(func(name string, f func(io.Writer) error) error {
		path := filepath.Join(dir, name)
		err := regular(path)
		if err == nil {
			var file string
			file, err = stage(path, f)
			tmp, paths = append(tmp, file), append(paths, path)
		}
		return wrap(path, err)
	})
	for i, path := range paths {
		if err == nil {
			err = wrap(path, rename(tmp[i], path))
		}
		os.Remove(tmp[i]) // none is left of what was renamed
	}
	undo()
	return err
}

// CheckModel reports why a checkpoint cannot be written into a directory: one that holds
// anything must hold a checkpoint that ours recognises, since other weights may be valuable.
func CheckModel(dir string, ours func(dir fs.FS) bool) error {
	all, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && len(all) > 0 && !ours(os.DirFS(dir)):
		err = fmt.Errorf("it holds %.80q, which this program did not make: it is not overwritten; name another directory", all[0].Name())
	}
	return wrap(dir, err)
}
