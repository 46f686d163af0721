// Package input opens files whose names come from outside: manifests, records, settings,
// the small files of checkpoints and caches.
//
//	Open(ctx, path)            a regular file whose reads end with ctx
//	Read(ctx, path, most)      its content, of at most most bytes
//	ReadFS(fsys, name, most)   the same in a file system
//	Line(r, dst, limit)        the next line, or how long it is
//	Text(b)                    a text without a byte order mark
//	Lines(text)                the lines that are not empty or comments
//	JSON(b, err)               an error with the line and the column
//	Cause(err)                 what an error of the system says, without the call
//
// Only regular files are opened, and their type is checked first, since a FIFO or a device might
// never open or never end. Errors do not name the file; callers add it.
package input

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"os"
	"reflect"
	"strings"
	"syscall"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// ErrNotRegular is the cause when a name leads to something that is not a regular file.
var ErrNotRegular = errors.New("it is not a regular file")

// A File is an open regular file. Once its context has ended, every read fails with
// the cause.
type File struct {
	ctx  context.Context
	file *os.File
	size int64
}

// Open opens a file. It checks the type first, since opening a FIFO would wait for a
// writer.
func Open(ctx context.Context, path string) (*File, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err != nil {
		return nil, Cause(err)
	} else if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, Cause(err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, Cause(err)
	}
	return &File{ctx, f, info.Size()}, nil
}

// Read returns the content of a file of at most most bytes. A larger file is ErrTooLarge.
func Read(ctx context.Context, path string, most int64) ([]byte, error) {
	f, err := Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, most)
}

func readAll(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
	}
	return b, err
}

// Size returns how many bytes the file had when it was opened.
func (f *File) Size() int64 { return f.size }

// Read reads as [os.File.Read] does.
func (f *File) Read(p []byte) (int, error) {
	if err := context.Cause(f.ctx); err != nil {
		return 0, err
	}
	return f.file.Read(p)
}

// ReadAt reads as [os.File.ReadAt] does.
func (f *File) ReadAt(p []byte, at int64) (int, error) {
	if err := context.Cause(f.ctx); err != nil {
		return 0, err
	}
	return f.file.ReadAt(p, at)
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Cause returns the cause of an error without the system call and the path.
func Cause(err error) error {
	if p := new(fs.PathError); errors.As(err, &p) {
		err = p.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return reworded{"there is no such file", err}
	}
	if number, ok := err.(syscall.Errno); ok && remedies[number] != "" {
		return reworded{number.Error() + "; " + remedies[number], err}
	}
	return err
}

// remedies are what a person can do about errors of the system.
var remedies = map[syscall.Errno]string{
	syscall.EACCES:  "check the permissions",
	syscall.EPERM:   "check the permissions",
	syscall.ENOSPC:  "free some space, or name another place",
	syscall.EFBIG:   "raise the limit (ulimit -f), or name another place",
	syscall.ENOTDIR: "check the path: part of it is a file",
	syscall.ELOOP:   "name the file that the links stand for",
}

// A reworded error is its cause in the words of this program.
type reworded struct {
	text  string
	cause error
}

func (e reworded) Error() string { return e.text }
func (e reworded) Unwrap() error { return e.cause }

// NetworkCause returns the cause of an error of the network without the call, the addresses and the server of names.
func NetworkCause(err error) error {
	for cause, text := range map[error]string{
		syscall.ECONNREFUSED: "nothing listens at that port", syscall.ECONNRESET: "the connection was cut",
		syscall.ENOENT: "there is no such directory", io.ErrUnexpectedEOF: "the connection was cut", io.EOF: "the connection was cut",
	} {
		if errors.Is(err, cause) {
			return reworded{text, err}
		}
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return reworded{"no host of that name is found", err}
	}
	if call, ok := errors.AsType[*net.OpError](err); ok {
		err = call.Err
	}
	if system, ok := errors.AsType[*os.SyscallError](err); ok {
		err = system.Err
	}
	return err
}

// JSON returns an error of package encoding/json about b with the place of a wrong character, or the field of a wrong type.
func JSON(b []byte, err error) error {
	var syntax *json.SyntaxError
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kinds := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "bool", reflect.Slice: "array", reflect.Struct: "object", reflect.Map: "object"}
		words := strings.NewReplacer("string", "a string", "bool", "true or false", "array", "a list", "object", "an object", "number", "a number")
		return fmt.Errorf("%s is %.40s, want %s", strings.ToLower(cmp.Or(other.Field, "it")), words.Replace(other.Value),
			words.Replace(cmp.Or(kinds[other.Type.Kind()], "number")))
	}
	if !errors.As(err, &syntax) {
		return err
	}
	before := b[:min(int(syntax.Offset), len(b))]
	line, column := bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n')-1
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

// Text returns text without a byte order mark, which programs on Windows write at the start of a file. UTF-16 is
// converted, by its mark or, without one, if it is lines in little-endian order.
func Text[T string | []byte](text T) string {
	s := string(text)
	if len(s) > 3 && s[1] == 0 && s[3] == 0 && strings.Contains(s, "\n\x00") {
		s = "\xff\xfe" + s
	}
	if decoded, _, err := transform.String(unicode.BOMOverride(transform.Nop), s); err == nil {
		return decoded
	}
	return string(text)
}

// Lookup returns the path of a file that exists: the given one, or the same with its letters and accents composed in another
// way, as archives from macOS have it. Without one it returns path.
func Lookup(path string) string {
	if _, err := os.Lstat(path); err != nil {
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			if _, err := os.Lstat(form.String(path)); err == nil {
				return form.String(path)
			}
		}
	}
	return path
}

// Lines returns the lines of a text with their numbers, without surrounding white space. Empty lines, and those that begin
// with #, are skipped.
func Lines[T string | []byte](text T) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range strings.Lines(Text(text)) {
			n++
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' && !yield(n, line) {
				return
			}
		}
	}
}

// Line appends a line without its line end to dst, at most about limit bytes of it, and
// returns the line's full length. The error is io.EOF for a last line without a line end.
func Line(r *bufio.Reader, dst []byte, limit int) (line []byte, length int, err error) {
	for {
		part, err := r.ReadSlice('\n')
		end := err == nil
		if end {
			part = bytes.TrimSuffix(part[:len(part)-1], []byte("\r"))
		}
		length += len(part)
		if length <= limit {
			dst = append(dst, part...)
		}
		if end || err != bufio.ErrBufferFull {
			return dst, length, err
		}
	}
}
