package datasets

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"verity/internal/input"
)

// readParquet reads one Parquet file, row group by row group and page by page: memory
// holds one page of each column.
func readParquet(ctx context.Context, d *Dataset, file string, rows sink) error {
	return d.readGroups(ctx, file, nil, rows)
}

// readGroups reads one row group, or all for nil.
func (d *Dataset) readGroups(ctx context.Context, file string, only *int, rows sink) error {
	in, t, err := openTable(ctx, d, file)
	if err != nil {
		return err
	}
	defer in.Close()
	groups, row := t.file.RowGroups(), 0
	if only != nil && (*only < 0 || *only >= len(groups)) {
		return fmt.Errorf("the file has %d: it is not the one that was read before", len(groups))
	}
	for i, group := range groups {
		if only != nil && i != *only {
			row += int(group.NumRows())
			continue
		}
		if err := guard(func() error { return t.checkGroup(in, i) }); err != nil {
			return fmt.Errorf("rows from %d on: %w", row+1, err)
		}
		if err := t.readGroup(d, Place{file, i, row}, group, &row, rows); err != nil {
			return err
		}
	}
	return nil
}

// guard turns a panic of f into an error: the Parquet library panics on some malformed
// files.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed Parquet file: %v", p)
		}
	}()
	return f()
}

// A parquetTable is a Parquet file and the columns to use, by index.
type parquetTable struct {
	file        *parquet.File
	wanted      []parquet.LeafColumn // those that are read: one value per row
	sound, path int                  // of the audio's bytes and path; -1 for none
	others      map[int]string       // names of the others
	left        int64                // bytes of text that the rows to come may hold
}

func openTable(ctx context.Context, d *Dataset, file string) (in *input.File, t *parquetTable, err error) {
	if in, err = input.Open(ctx, file); err != nil {
		return nil, nil, err
	}
	err = guard(func() (err error) { t, err = openParquet(d, in); return err })
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, t, nil
}

func openParquet(d *Dataset, in *input.File) (*parquetTable, error) {
	if err := checkFooter(in, in.Size()); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(in, in.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	t := &parquetTable{file: f, sound: -1, path: -1, others: map[int]string{}, left: mostText * (in.Size() + 1<<16)}
	schema, text := f.Schema(), names(d.options.Text, textNames)
	if err := t.findAudio(schema, names(d.options.Audio, audioNames)); err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(text, idNames, langNames, []string{"duration", "offset"}) {
		if leaf, ok := schema.Lookup(name); ok && scalar(leaf) && leaf.ColumnIndex != t.path {
			t.others[leaf.ColumnIndex] = name
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(t.others)), func(n string) bool { return slices.Contains(text, n) }) {
		return nil, fmt.Errorf("no text column %q in %q", text, schema.Columns())
	}
	for _, path := range schema.Columns() {
		if leaf, _ := schema.Lookup(path...); t.others[leaf.ColumnIndex] != "" || leaf.ColumnIndex == t.sound || leaf.ColumnIndex == t.path {
			t.wanted = append(t.wanted, leaf)
		}
	}
	return t, nil
}

// findAudio uses the first of names that is a group of bytes and path, a column of
// bytes, or a column of strings, which are paths.
func (t *parquetTable) findAudio(schema *parquet.Schema, names []string) error {
	for _, name := range names {
		if leaf, ok := schema.Lookup(name, "bytes"); ok && isBytes(leaf) {
			t.sound = leaf.ColumnIndex
			if path, ok := schema.Lookup(name, "path"); ok && isBytes(path) {
				t.path = path.ColumnIndex
			}
			return nil
		}
		if leaf, ok := schema.Lookup(name); ok && isBytes(leaf) {
			if isString(leaf) {
				t.path = leaf.ColumnIndex
			} else {
				t.sound = leaf.ColumnIndex
			}
			return nil
		}
	}
	return fmt.Errorf("no audio column %q in %q", names, schema.Columns())
}

func isBytes(c parquet.LeafColumn) bool {
	return c.MaxRepetitionLevel == 0 && c.Node.Type().Kind() == parquet.ByteArray
}

// isString reports whether c is marked as text; older writers use the second mark.
func isString(c parquet.LeafColumn) bool {
	if l := c.Node.Type().LogicalType(); l != nil {
		_, ok := l.Value.(*format.StringType)
		return ok
	}
	old := c.Node.Type().ConvertedType()
	return old != nil && *old == deprecated.UTF8
}

// scalar reports whether c holds one string, number or boolean per row.
func scalar(c parquet.LeafColumn) bool {
	switch c.Node.Type().Kind() {
	case parquet.Boolean, parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
		return c.MaxRepetitionLevel == 0
	}
	return isBytes(c) && isString(c)
}

// Group iterates over the rows of one row group of one of the dataset's Parquet files.
// Unlike All, it does not number repeated identifiers: Source.Place tells the rows
// apart. file may be a copy of the file elsewhere.
func (d *Dataset) Group(ctx context.Context, file string, group int) iter.Seq2[Utterance, error] {
	return func(yield func(Utterance, error) bool) {
		err := d.readGroups(ctx, file, &group, func(u Utterance, err error) bool {
			if ctx.Err() != nil {
				yield(Utterance{}, context.Cause(ctx))
				return false
			}
			return yield(u, err)
		})
		if err != nil && err != errStop {
			yield(Utterance{}, brief(fmt.Errorf("%s: row group %d: %w", file, group, err)))
		}
	}
}

// readGroup reads the rows of a group; row counts the rows of the file.
func (t *parquetTable) readGroup(d *Dataset, at Place, group parquet.RowGroup, row *int, rows sink) error {
	file := at.File
	columns := make([]columnReader, len(t.wanted))
	for i, leaf := range t.wanted {
		columns[i].pages = group.ColumnChunks()[leaf.ColumnIndex].Pages()
		defer columns[i].close()
	}
	buf := make(parquet.Row, len(columns))
	for range group.NumRows() {
		*row++
		var sound []byte
		var path string
		var f fields
		var broken error
		err := guard(func() (err error) {
			for i := range columns {
				if err = columns[i].next(buf[i : i+1]); err != nil {
					return err
				}
			}
			if broken = t.tooLong(buf); broken != nil {
				return nil
			}
			if sound, path, f = t.row(buf); t.left < 0 {
				err = fmt.Errorf("the texts up to here have more than %d bytes for each byte of the file; write it again without repeated texts", mostText)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("row %d: %w", *row, err)
		}
		if broken != nil {
			if !d.emit(file, *row, nil, broken, nil, rows) {
				return errStop
			}
			continue
		}
		at.Row = *row
		f[names(d.options.Audio, audioNames)[0]] = cmp.Or(path, fmt.Sprintf("%s:%d", d.relative(file), *row))
		source := func(name string) (Source, error) {
			switch {
			case sound != nil:
				return Source{Path: name, Place: at, Data: sound}, nil
			case path == "":
				return Source{}, errNoAudio
			}
			return existing(resolve(file, name))
		}
		if !d.emit(file, *row, f, nil, source, rows) {
			return errStop
		}
	}
	return nil
}

// A columnReader reads the values of a column, a page at a time.
type columnReader struct {
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
}

// next reads one value; it is valid until the next call.
func (c *columnReader) next(one []parquet.Value) error {
	for {
		if c.values != nil {
			n, err := c.values.ReadValues(one)
			if n == 1 {
				return nil
			}
			if err != nil && err != io.EOF {
				return err
			}
		}
		page, err := c.pages.ReadPage()
		if err == io.EOF {
			return fmt.Errorf("a column ends early: %w", io.ErrUnexpectedEOF)
		}
		if err != nil {
			return err
		}
		parquet.Release(c.page)
		c.page, c.values = page, page.Values()
	}
}

func (c *columnReader) close() {
	parquet.Release(c.page)
	c.pages.Close()
}

// tooLong returns an error if a value of a row is longer than it may be. Pages that repeat
// themselves hold hundreds of megabytes in little space.
func (t *parquetTable) tooLong(values parquet.Row) error {
	for _, v := range values {
		if v.Kind() != parquet.ByteArray {
			continue
		}
		at, n, what, most := v.Column(), len(v.ByteArray()), "a string", maxLine
		if at == t.sound {
			what, most = "a sound", maxSound
		}
		if n > most {
			return fmt.Errorf("column %v: %s of %d bytes, want at most %d", t.file.Schema().Columns()[at], what, n, most)
		}
	}
	return nil
}

// row picks the wanted columns of a row.
func (t *parquetTable) row(values parquet.Row) (sound []byte, path string, f fields) {
	f = make(fields, len(t.others))
	for _, v := range values {
		switch at := v.Column(); {
		case t.others[at] != "":
			f[t.others[at]] = plain(v)
			if v.Kind() == parquet.ByteArray {
				t.left -= int64(len(v.ByteArray()))
			}
		case v.IsNull():
		case at == t.sound:
			sound = append([]byte{}, v.ByteArray()...) // the page is reused
		case at == t.path:
			path = string(v.ByteArray())
		}
	}
	return sound, path, f
}

// plain converts a value to the type it has in a JSON row.
func plain(v parquet.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == parquet.Boolean:
		return v.Boolean()
	case v.Kind() == parquet.ByteArray:
		return string(bytes.ToValidUTF8(v.ByteArray(), []byte("\ufffd")))
	}
	return json.Number(v.String())
}
