package datasets

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
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

// parseJSON parses one object. Numbers keep their spelling.
func parseJSON(line []byte) (fields, error) {
	switch line = bytes.TrimSpace(line); {
	case bytes.HasPrefix(line, []byte("[")):
		return nil, kindError("is no JSON object but an array; want one object a line: jq -c '.[]' arr.json > arr.jsonl")
	case !bytes.HasPrefix(line, []byte("{")):
		return nil, kindError(fmt.Sprintf(`is no JSON object: begins with %.20q; want one a line, as {"audio": "talk.wav", "text": "…"}`, line))
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

var errNotUTF8 = errors.New("not UTF-8")

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
