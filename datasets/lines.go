package datasets

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"verity/internal/input"
)

var (
	errNotUTF8 = errors.New("not UTF-8")
	errStrange = errors.New("audio name holds a path or a zero byte")
)

// eachLine calls f with every line of file that is not blank, without its line end. The
// bytes are valid until the next call. A line that is too long or not UTF-8 is passed
// as an error. f reports whether to go on.
func eachLine(ctx context.Context, file string, limit int, f func(n int, line []byte, err error) bool) error {
	in, err := input.Open(ctx, file)
	if err != nil {
		return err
	}
	defer in.Close()
	r := bufio.NewReader(in)
	var line []byte
	for n := 1; ; n++ {
		var length int
		line, length, err = input.Line(r, line[:0], limit)
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("line %d: %w", n, err)
		}
		var broken error
		switch {
		case length > limit:
			broken = fmt.Errorf("line of %d bytes, want at most %d", length, limit)
		case !utf8.Valid(line):
			broken = errNotUTF8
		}
		if (broken != nil || len(bytes.TrimSpace(line)) > 0) && !f(n, line, broken) {
			return errStop
		}
		if err == io.EOF {
			return nil
		}
	}
}
