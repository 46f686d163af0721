// Package output writes the files of the program. Who chose the name decides how:
//
//	Check, Write       a name that a person gave: where it leads
//	CheckIn, WriteIn   a name that the program gave, in a directory: nowhere else
//	Own                a file that the program keeps open: records, partial downloads
//
// # Conventions
//
// A regular file is written beside itself under another name and then renamed: it is
// complete or absent. It has the mode that the umask gives, or keeps the one it had.
//
// A name that a person gave may be a symbolic link: its target is replaced, the link
// stays. It may be a device, a FIFO, a pipe of the shell: that is opened and written to.
// "-" is standard output.
//
// In a directory others may have put links and FIFOs under the names that the program
// would choose. There, only regular files are replaced; all else is an error.
package output

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
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

// Check reports why one of the outputs could not be written, as far as can be known
// without writing: its directory is missing or refuses new files, it is a directory,
// it is one of the inputs, or two outputs are one file. Names that are empty or
// [Stdout] are left out.
func Check(outputs, inputs []string) error {
	return check(outputs, inputs, find)
}

// CheckIn is Check for files that [WriteIn] shall write.
func CheckIn(dir string, names, inputs []string) error {
	outputs := make([]string, len(names))
	for i, name := range names {
		outputs[i] = filepath.Join(dir, name)
	}
	return check(outputs, inputs, findIn)
}

func check(outputs, inputs []string, find func(name string) (target, error)) error {
	c := checker{inputs: inputs, dirs: map[string]bool{}}
	seen := map[string]string{}
	for _, name := range outputs {
		if name == "" || isStdout(name) {
			continue
		}
		t, err := find(name)
		if err == nil {
			err = c.check(t)
		}
		if err != nil {
			return wrap(name, err)
		}
		key := t.path
		if abs, err := filepath.Abs(key); err == nil {
			key = abs
		}
		if other, twice := seen[key]; twice && !t.direct {
			return &Error{name, fmt.Errorf("%s is the same file", other)}
		}
		seen[key] = name
	}
	return nil
}

// Write writes what f writes to the file of that name, or to stdout if the name says
// so. A regular file is left as it was if f or the disk fails. The context ends only the
// wait for somebody who reads a FIFO.
func Write(ctx context.Context, name string, stdout io.Writer, f func(io.Writer) error) error {
	if isStdout(name) {
		return f(stdout)
	}
	t, err := find(name)
	if err != nil {
		return wrap(name, err)
	}
	if t.direct {
		return wrap(name, t.through(ctx, os.O_WRONLY, f))
	}
	return wrap(name, t.replace(ctx, f))
}

// WriteIn writes what f writes to a file of that name in a directory, as Write does, but
// replaces only a regular file.
func WriteIn(dir, name string, f func(io.Writer) error) error {
	path := filepath.Join(dir, name)
	t, err := findIn(path)
	if err == nil {
		err = t.replace(context.Background(), f)
	}
	return wrap(path, err)
}

// WriteFile is WriteIn for bytes that are there already.
func WriteFile(dir, name string, b []byte) error {
	return WriteIn(dir, name, func(w io.Writer) error { _, err := w.Write(b); return err })
}

// Own opens a file that the program keeps to itself in a directory, or makes it. It is a
// regular file of that directory, never one that a link leads to.
func Own(path string, flag int) (*os.File, error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, wrap(path, err)
	}
	defer dir.Close()
	if info, err := dir.Lstat(filepath.Base(path)); err == nil && !info.Mode().IsRegular() {
		return nil, wrap(path, irregular(info))
	}
	f, err := dir.OpenFile(filepath.Base(path), flag|os.O_CREATE, 0o666)
	return f, wrap(path, err)
}

// irregular is the error of what is in the place of a file of the program.
func irregular(info os.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return errors.New("it is a symbolic link, which is not followed: remove it")
	}
	return errors.New("it is not a regular file: remove it")
}

func isStdout(name string) bool { return name == Stdout || name == "/dev/stdout" }

// A target is where a name leads.
type target struct {
	path   string
	info   os.FileInfo // nil if nothing is there
	direct bool        // opened and written to, not replaced
	within bool        // no link is followed
}

// maxLinks is how many symbolic links are followed.
const maxLinks = 40

// find follows symbolic links to the file that a name means, which need not exist.
func find(name string) (target, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return target{}, err
	case err == nil && info.IsDir():
		return target{}, errors.New("it is a directory")
	case err == nil && (!info.Mode().IsRegular() || descriptor(name)):
		return target{path: name, info: info, direct: true}, nil
	}
	if err != nil {
		info = nil
	}
	path := name
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			return target{path: path, info: info}, nil // it is not a link, or does not exist
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		if path = to; descriptor(path) {
			return target{path: name, info: info, direct: true}, nil
		}
	}
	return target{}, errors.New("too many symbolic links")
}

// findIn finds a file of the program in a directory. It follows no link.
func findIn(path string) (target, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return target{path: path}, nil
	case err != nil:
		return target{}, err
	case !info.Mode().IsRegular():
		return target{}, irregular(info)
	}
	return target{path: path, info: info, within: true}, nil
}

// descriptor reports whether a path stands for an open file of a process, which must
// be written through: a file put in its place would not be the open one.
func descriptor(path string) bool {
	dir := filepath.ToSlash(filepath.Dir(path))
	return dir == "/dev/fd" || strings.HasPrefix(dir, "/proc/") && strings.HasSuffix(dir, "/fd")
}

// A checker examines every input and every directory once.
type checker struct {
	inputs []string
	infos  []os.FileInfo   // of inputs, once one is asked for; nil for what is not there
	dirs   map[string]bool // that take new files
}

// input returns the input that is the same file as info; empty if none is.
func (c *checker) input(info os.FileInfo) string {
	if c.infos == nil {
		for _, name := range c.inputs {
			in, _ := os.Stat(name)
			c.infos = append(c.infos, in)
		}
	}
	for i, in := range c.infos {
		if in != nil && os.SameFile(info, in) {
			return c.inputs[i]
		}
	}
	return ""
}

// check reports why t could not be written.
func (c *checker) check(t target) error {
	if t.direct {
		return nil // opening a FIFO would wait for its reader
	}
	if t.info != nil {
		if in := c.input(t.info); in == t.path {
			return errors.New("it is an input")
		} else if in != "" {
			return fmt.Errorf("it is an input: %s", in)
		}
	}
	dir := filepath.Dir(t.path)
	if c.dirs[dir] {
		return nil
	}
	f, err := t.beside()
	switch {
	case err == nil:
		c.dirs[dir] = true
		f.Close()
		return os.Remove(f.Name())
	case t.writable():
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no directory %s", dir)
	}
	return err
}

// beside makes a new file in the directory of t.
func (t target) beside() (*os.File, error) {
	dir, base := filepath.Split(t.path)
	if len(base) > 100 {
		base = base[:100] // names have 255 bytes at most
	}
	for i := range 1000 {
		f, err := os.OpenFile(fmt.Sprintf("%s.%s.verity-%d-%d", dir, base, os.Getpid(), i),
			os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, errors.New("its directory is full of temporary files")
}

// writable reports whether the file exists and can be opened although its directory
// takes no new file, as with a single file mounted into a container.
func (t target) writable() bool {
	if t.info == nil || t.within {
		return false
	}
	f, err := os.OpenFile(t.path, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// rename replaces a file by another. Tests replace it with failing versions.
var rename = os.Rename

// replace writes a new file and puts it in the place of the old one.
func (t target) replace(ctx context.Context, f func(io.Writer) error) error {
	tmp, err := t.beside()
	if err != nil {
		if t.writable() {
			return t.through(ctx, os.O_WRONLY|os.O_TRUNC, f)
		}
		return err
	}
	err = fill(tmp, f)
	if err == nil && t.info != nil {
		err = os.Chmod(tmp.Name(), t.info.Mode().Perm())
	}
	if err == nil {
		err = rename(tmp.Name(), t.path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// through opens the existing file and writes to it.
func (t target) through(ctx context.Context, flags int, f func(io.Writer) error) error {
	file, err := t.open(ctx, flags)
	if err != nil {
		return err
	}
	return fill(file, f)
}

// open opens the existing file. It waits for the reader of a FIFO, as opening one always
// does, but not without end.
func (t target) open(ctx context.Context, flags int) (*os.File, error) {
	if t.info == nil || t.info.Mode()&fs.ModeNamedPipe == 0 {
		return os.OpenFile(t.path, flags, 0)
	}
	for {
		file, err := os.OpenFile(t.path, flags|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.ENXIO) {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.New("nobody has opened the FIFO to read it")
		case <-time.After(20 * time.Millisecond):
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

// Dir makes a directory to write into, and reports why it cannot be one: its files
// could not be created.
func Dir(name string) error {
	if err := os.MkdirAll(name, 0o777); err != nil {
		if errors.Is(err, fs.ErrExist) || isFile(name) {
			err = errors.New("it is not a directory")
		}
		return wrap(name, err)
	}
	f, err := target{path: filepath.Join(name, "output")}.beside()
	if err != nil {
		return wrap(name, err)
	}
	f.Close()
	return wrap(name, os.Remove(f.Name()))
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}
