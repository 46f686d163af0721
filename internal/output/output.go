// Package output writes the files of the program.
//
// A file is written under another name in its directory and then renamed: it is complete,
// or what was there stays. It has the mode that the umask gives, or that of the file it
// replaces. A process that is killed leaves .NAME.verity-PID-N, which no other run removes.
//
//	Write(name, stdout, f)  a name that a person gave: links are followed, devices written to
//	Replace(path, f)        a name that the program chose: a link there is replaced
//	WriteModel(dir, f)      the files of a checkpoint, all or none
//	Open(path, flag)        a file that stays open: records, partial downloads
//	NewTemp(dir, pattern)   a file that is gone after Close
package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"verity/internal/input"
)

// Stdout is the name of standard output.
const Stdout = "-"

// An Error reports a file that cannot be written. It names the file as the caller did.
type Error struct {
	Name  string
	Err   error
	Unfit bool // known before the work: another name is needed
}

func (e *Error) Error() string { return e.Name + ": cannot be written: " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// wrap names the file. The cause must not name it again, nor a temporary one.
func wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	if err = input.Cause(err); errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EEXIST) {
		err = errors.New("it is a file, or below one; name another")
	}
	return &Error{Name: name, Err: err}
}

// unfit is wrap for a name that a check before the work refuses.
func unfit(name string, err error) error {
	if e, ok := wrap(name, err).(*Error); ok {
		e.Unfit = true
		return e
	}
	return nil
}

// Write writes what f writes to the file that a person named: standard output for "-", the
// file that a link leads to, or a device, FIFO or pipe of the shell as it is.
func Write(name string, stdout io.Writer, f func(io.Writer) error) error {
	if isStdout(name) {
		return f(stdout)
	}
	path, direct, err := find(name)
	if err == nil && !direct {
		return wrap(name, replace(path, f))
	}
	if err == nil {
		var file *os.File
		// Without a reader a FIFO is an error, where a blocking open would ignore signals.
		if file, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			err = fill(file, f)
		}
	}
	return wrap(name, err)
}

// Check reports why [Write] could not write a file, as far as that is known without writing:
// its directory is missing or refuses new files, or it is a directory. An empty name is fine.
func Check(name string) error {
	if name == "" || isStdout(name) {
		return nil
	}
	path, direct, err := find(name)
	if err == nil && !direct {
		err = acceptsFiles(filepath.Dir(path))
	}
	return unfit(name, err)
}

// Replace writes what f writes to the file at path. A link there is replaced, not followed.
func Replace(path string, f func(io.Writer) error) error { return wrap(path, replace(path, f)) }

// Open opens the file at path, or makes it. A link that leads out of its directory is an error.
func Open(path string, flag int) (*os.File, error) {
	f, err := open(path, flag)
	return f, wrap(path, err)
}

func open(path string, flag int) (*os.File, error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	base := filepath.Base(path)
	if info, err := dir.Stat(base); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file: remove it")
	}
	return dir.OpenFile(base, flag|os.O_CREATE, 0o666)
}

func isStdout(name string) bool { return name == Stdout || name == "/dev/stdout" }

// find follows links to the file that a name means. If it is direct, it must be opened and
// written to: a file put in its place would not be the device, or the open file of a process.
func find(name string) (path string, direct bool, err error) {
	info, err := os.Stat(name)
	slashed := filepath.ToSlash(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		to, notLink := os.Readlink(name)
		if notLink != nil {
			return name, false, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		return find(to)
	case err != nil:
		return "", false, err
	case info.IsDir():
		return "", false, errors.New("it is a directory; name a file")
	case !info.Mode().IsRegular(), slashed == "/dev/stderr",
		strings.HasPrefix(slashed, "/dev/fd/"), strings.HasPrefix(slashed, "/proc/"):
		return name, true, nil
	}
	path, err = filepath.EvalSymlinks(name)
	return path, false, err
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

// stage writes a new file beside the one that it is to replace, with the mode of that.
func stage(path string, f func(io.Writer) error) (tmp string, err error) {
	file, err := beside(path)
	if err != nil {
		return "", err
	}
	return file.Name(), fill(file, func(w io.Writer) error {
		old, missing := os.Lstat(path)
		if missing == nil && old.Mode().IsRegular() {
			if err := file.Chmod(old.Mode().Perm()); err != nil {
				return err
			}
		}
		return f(w)
	})
}

// beside makes a new file in the directory of path.
func beside(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	base = base[:min(len(base), 100)] // names have 255 bytes at most
	for i := 0; ; i++ {
		f, err := os.OpenFile(fmt.Sprintf("%s.%s.verity-%d-%d", dir, base, os.Getpid(), i),
			os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
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
