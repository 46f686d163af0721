package datasets

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"verity/internal/input"
)

// readJSONL reads a manifest with one JSON object per line.
func readJSONL(ctx context.Context, d *Dataset, file string, rows sink) error {
	source := func(name string) (Source, error) { return besideManifest(file, name) }
	return eachLine(ctx, file, func(n int, line []byte, err error) bool {
		var f fields
		if err == nil {
			f, err = parseJSON(line)
		}
		return d.emit(file, n, f, err, source, rows)
	})
}

// besideManifest returns the sound that a manifest names.
func besideManifest(file, name string) (Source, error) {
	s, err := existing(resolve(file, name))
	if errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(name) {
		err = fmt.Errorf("%w; names are relative to the manifest", err)
	}
	return s, err
}

// emit passes one row to the sink, good or broken, unless the split excludes it. source
// opens the sound that the row names. emit reports whether more rows are wanted.
func (d *Dataset) emit(file string, n int, f fields, err error, source func(string) (Source, error), rows sink) bool {
	var u Utterance
	if err == nil {
		if !d.selected(f) {
			return true
		}
		u, err = d.utterance(f, source)
	}
	if err != nil {
		return rows(Utterance{}, rowError(file, n, u.ID, err))
	}
	return rows(u, nil)
}

// ErrNoObject is the cause of a row of a JSON Lines file that is no JSON object. If it is the first, the file is none of
// JSON Lines.
var ErrNoObject = errors.New("is no JSON object")

// parseJSON parses one object. Numbers keep their spelling.
func parseJSON(line []byte) (fields, error) {
	switch line = bytes.TrimSpace(line); {
	case bytes.HasPrefix(line, []byte("[")):
		return nil, fmt.Errorf("%w but an array; want one object a line: jq -c '.[]' arr.json > arr.jsonl", ErrNoObject)
	case !bytes.HasPrefix(line, []byte("{")):
		return nil, fmt.Errorf("%w: begins with %.20q", ErrNoObject, line)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var f fields
	err := dec.Decode(&f)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it is cut off")
	}
	if err != nil {
		return nil, fmt.Errorf("is no JSON object: %w", input.JSON(line, err))
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("holds more than one JSON value")
	}
	return f, nil
}

// A splitter splits a line of a table into its fields.
type splitter func(line string) ([]string, error)

// tabs splits the lines of Common Voice: nothing is quoted.
func tabs(line string) ([]string, error) { return strings.Split(line, "\t"), nil }

// commas splits a line of RFC 4180; a field must end on its line.
func commas(line string) ([]string, error) { return csv.NewReader(strings.NewReader(line)).Read() }

// readTable returns the reader of a table whose first line names the columns. Audio is
// beside it, or in clips as in Common Voice.
func readTable(split splitter) reader {
	return func(ctx context.Context, d *Dataset, file string, rows sink) error {
		source := func(name string) (Source, error) {
			s, err := besideManifest(file, name)
			if err != nil && !filepath.IsAbs(name) {
				if clip, err := existing(resolve(file, filepath.Join("clips", name))); err == nil {
					return clip, nil
				}
			}
			return s, err
		}
		var columns []string
		var bad error // why the table cannot be read
		err := eachLine(ctx, file, func(n int, line []byte, err error) bool {
			var values []string
			if err == nil {
				values, err = split(string(line))
			}
			if columns == nil {
				if bad = err; bad == nil {
					columns, bad = values, d.header(values)
				}
				return bad == nil
			}
			if err == nil && len(values) != len(columns) {
				err = fmt.Errorf("%d fields, want %d", len(values), len(columns))
			}
			f := make(fields, len(columns))
			for i := range min(len(values), len(columns)) {
				f[columns[i]] = values[i]
			}
			return d.emit(file, n, f, err, source, rows)
		})
		if bad != nil && !errors.As(bad, new(*ColumnsError)) {
			bad = fmt.Errorf("header: %w", bad)
		}
		if bad != nil {
			return bad
		}
		return err
	}
}

// maxColumns is the most columns of a table.
const maxColumns = 2000

// header checks the names of a table's columns.
func (d *Dataset) header(columns []string) error {
	if len(columns) > maxColumns {
		return fmt.Errorf("%d columns, want at most %d; keep those of sound and text", len(columns), maxColumns)
	}
	f := make(fields)
	for _, c := range columns {
		f[c] = c
	}
	if len(f) < len(columns) {
		return errors.New("a column is named twice")
	}
	return cmp.Or(f.checkColumns("sound", d.options.Audio, audioNames), f.checkColumns("text", d.options.Text, textNames))
}

var (
	errNotUTF8 = errors.New("not UTF-8")
	errBadName = errors.New("audio name holds a path or a zero byte")
)

// eachLine calls f with every line of file that is not blank, without its line end. The
// bytes are valid until the next call. A line that is too long or not UTF-8 is passed
// as an error. f reports whether to continue.
func eachLine(ctx context.Context, file string, f func(n int, line []byte, err error) bool) error {
	in, err := input.Open(ctx, file)
	if err != nil {
		return err
	}
	defer in.Close()
	r := bufio.NewReader(in)
	var line []byte
	for n := 1; ; n++ {
		var length int
		line, length, err = input.Line(r, line[:0], maxLine)
		if n == 1 {
			line = []byte(input.Text(line))
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("line %d: %w", n, err)
		}
		var broken error
		switch {
		case length > maxLine:
			broken = fmt.Errorf("line of %d bytes, want at most %d", length, maxLine)
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
