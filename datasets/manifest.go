package datasets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// readJSONL reads a manifest with one JSON object per line.
func readJSONL(ctx context.Context, d *Dataset, file string, rows sink) error {
	source := func(name string) (Source, error) { return existing(resolve(file, name)) }
	return eachLine(ctx, file, d.options.MaxLine, func(n int, line []byte, err error) bool {
		var f fields
		if err == nil {
			f, err = parseJSON(line)
		}
		return d.emit(file, n, f, err, source, rows)
	})
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
		return rows(Utterance{}, &RowError{File: file, Line: n, Err: err, ID: u.ID})
	}
	return rows(u, nil)
}

// parseJSON parses one object, nested at most maxDepth deep. Numbers keep their
// spelling.
func parseJSON(line []byte) (fields, error) {
	if depth(line) > maxDepth {
		return nil, fmt.Errorf("JSON nests deeper than %d", maxDepth)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var f fields
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if f == nil {
		return nil, errors.New("not a JSON object: null")
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value on a line")
	}
	return f, nil
}

// depth returns the nesting depth of the brackets outside strings. It does not check
// that they match.
func depth(line []byte) int {
	deepest, level, quoted, escaped := 0, 0, false, false
	for _, c := range line {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}

// readTSV reads a table whose first line names the columns. Audio is beside it, or in
// clips as in Common Voice.
func readTSV(ctx context.Context, d *Dataset, file string, rows sink) error {
	source := func(name string) (Source, error) {
		s, err := existing(resolve(file, name))
		if err != nil && !filepath.IsAbs(name) {
			if clip, err := existing(resolve(file, filepath.Join("clips", name))); err == nil {
				return clip, nil
			}
		}
		return s, err
	}
	var columns []string
	var bad error // why the table cannot be read
	err := eachLine(ctx, file, d.options.MaxLine, func(n int, line []byte, err error) bool {
		if columns == nil {
			if bad = err; bad == nil {
				columns, bad = d.header(string(line))
			}
			return bad == nil
		}
		var f fields
		if err == nil {
			f, err = parseTSV(columns, string(line))
		}
		return d.emit(file, n, f, err, source, rows)
	})
	if bad != nil {
		return fmt.Errorf("header: %w", bad)
	}
	return err
}

// header splits the first line of a table and checks that the required columns exist.
func (d *Dataset) header(line string) ([]string, error) {
	columns := strings.Split(line, "\t")
	f := make(fields)
	for _, c := range columns {
		f[c] = c
	}
	if len(f) < len(columns) {
		return nil, errors.New("a column is named twice")
	}
	for _, want := range [][]string{names(d.options.Audio, audioNames), names(d.options.Text, textNames)} {
		if v, _ := f.take(want); v == nil {
			return nil, fmt.Errorf("no column %s among %q", strings.Join(want, ", "), columns)
		}
	}
	return columns, nil
}

func parseTSV(columns []string, line string) (fields, error) {
	values := strings.Split(line, "\t")
	if len(values) != len(columns) {
		return nil, fmt.Errorf("%d fields, want %d", len(values), len(columns))
	}
	f := make(fields, len(columns))
	for i, c := range columns {
		f[c] = values[i]
	}
	return f, nil
}
