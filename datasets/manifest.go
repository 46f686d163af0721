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
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

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

// commas splits a line of RFC 4180; a field must end on its line. Without commas, semicolons separate fields, as spreadsheets
// write them where the comma is in numbers.
func commas(line string) ([]string, error) {
	r := csv.NewReader(strings.NewReader(line))
	if first, err := r.Read(); err != nil || len(first) > 1 || !strings.Contains(line, ";") {
		return first, err
	}
	r = csv.NewReader(strings.NewReader(line))
	r.Comma = ';'
	return r.Read()
}

// layouts are tables without a line that names their columns.
var layouts = []struct {
	mark    string // between columns
	columns []string
}{
	{"\t", []string{"number", "file_name", "raw_text", "transcription", "letters", "samples", "gender"}}, // FLEURS
	{"|", []string{"file_name", "raw_text", "text"}},                                                     // LJSpeech
	{"|", []string{"file_name", "text"}},
}

// layoutOf returns the columns of a table without names whose first line names a sound, and how its lines are split; nil
// without one.
func (d *Dataset) layoutOf(line string, source func(name string) (Source, error)) ([]string, splitter) {
	for _, l := range layouts {
		split := func(line string) ([]string, error) { return strings.Split(line, l.mark), nil }
		if values, _ := split(line); len(values) == len(l.columns) {
			if _, err := source(values[slices.Index(l.columns, "file_name")]); err == nil {
				return l.columns, split
			}
		}
	}
	return nil, nil
}

// readTable returns the reader of a table whose first line names the columns, or of one of the layouts. Audio is
// beside it, in clips as in Common Voice, in wavs as in LJSpeech, or in a folder of the table's name as in FLEURS.
func readTable(split splitter) reader {
	return func(ctx context.Context, d *Dataset, file string, rows sink) error {
		split := split
		source := func(name string) (Source, error) {
			s, err := besideManifest(file, name)
			stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
			for _, at := range []string{filepath.Join("clips", name), filepath.Join(stem, name), filepath.Join("wavs", name+".wav")} {
				if err != nil && !filepath.IsAbs(name) {
					if clip, err := existing(resolve(file, at)); err == nil {
						return clip, nil
					}
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
				found, apart := d.layoutOf(string(line), source)
				if bad == nil || found == nil {
					return bad == nil
				}
				columns, split, bad = found, apart, nil
				values, err = split(string(line))
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
	err := cmp.Or(f.checkColumns("sound", d.options.Audio, audioNames), f.checkColumns("text", d.options.Text, textNames))
	if e, ok := err.(*ColumnsError); ok {
		e.Has = columns // in their order
	}
	return err
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
	r := bufio.NewReader(transform.NewReader(in, unicode.BOMOverride(transform.Nop)))
	var line []byte
	for n := 1; ; n++ {
		var length int
		line, length, err = input.Line(r, line[:0], maxLine)
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
