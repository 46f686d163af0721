package datasets

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"verity/internal/input"
)

// readParquet reads one Parquet file, row group by row group and page by page: memory
// holds one page of each column.
func readParquet(ctx context.Context, d *Dataset, file string, rows sink) error {
	in, t, err := openTable(ctx, d, file)
	if err != nil {
		return err
	}
	defer in.Close()
	row := 0
	for i, group := range t.file.RowGroups() {
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

// A parquetTable is a Parquet file and the columns to read.
type parquetTable struct {
	file   *parquet.File
	audio  string                        // name of the audio column
	sound  *parquet.LeafColumn           // the audio's bytes, or nil
	path   *parquet.LeafColumn           // the audio's path, or nil
	others map[string]parquet.LeafColumn // text and all other columns of strings and numbers
}

// openTable opens a file and the table in it.
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
	t := &parquetTable{file: f, others: make(map[string]parquet.LeafColumn)}
	schema := f.Schema()
	for _, path := range schema.Columns() {
		if leaf, ok := schema.Lookup(path...); ok && len(path) == 1 && scalar(leaf) {
			t.others[path[0]] = leaf
		}
	}
	if err := t.findAudio(schema, names(d.options.Audio, audioNames)); err != nil {
		return nil, err
	}
	text := names(d.options.Text, textNames)
	if !slices.ContainsFunc(text, func(n string) bool { _, ok := t.others[n]; return ok }) {
		return nil, fmt.Errorf("no text column %q in %q", text, schema.Columns())
	}
	return t, nil
}

// checkFooter refuses a footer longer than its file: parquet-go would allocate up to 4
// GB for it before it reads.
func checkFooter(in io.ReaderAt, size int64) error {
	const ends = 4 + 8 // magic number; length of the footer, magic number
	var tail [8]byte
	if size < ends {
		return fmt.Errorf("malformed Parquet file: %d bytes, want %d at least", size, ends)
	}
	if _, err := in.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return err
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:])); n > size-ends {
		return fmt.Errorf("malformed Parquet file: footer of %d bytes in a file of %d; is it cut off?", n, size)
	}
	return nil
}

// findAudio uses the first of names that is a group of bytes and path, a column of
// bytes, or a column of strings, which are paths.
func (t *parquetTable) findAudio(schema *parquet.Schema, names []string) error {
	for _, name := range names {
		if leaf, ok := schema.Lookup(name, "bytes"); ok && isBytes(leaf) {
			t.audio, t.sound = name, &leaf
			if path, ok := schema.Lookup(name, "path"); ok && isBytes(path) {
				t.path = &path
			}
			return nil
		}
		if leaf, ok := schema.Lookup(name); ok && isBytes(leaf) {
			t.audio = name
			if isString(leaf) {
				t.path = &leaf
			} else {
				t.sound = &leaf
			}
			delete(t.others, name)
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
		err := d.readOneGroup(ctx, file, group, func(u Utterance, err error) bool {
			if ctx.Err() != nil {
				yield(Utterance{}, context.Cause(ctx))
				return false
			}
			return yield(u, err)
		})
		if err != nil && err != errStop {
			yield(Utterance{}, fmt.Errorf("%s: row group %d: %w", file, group, err))
		}
	}
}

func (d *Dataset) readOneGroup(ctx context.Context, file string, group int, rows sink) error {
	in, t, err := openTable(ctx, d, file)
	if err != nil {
		return err
	}
	defer in.Close()
	groups := t.file.RowGroups()
	if group < 0 || group >= len(groups) {
		return fmt.Errorf("the file has %d: it is not the one that was read before", len(groups))
	}
	row := 0
	for _, g := range groups[:group] {
		row += int(g.NumRows())
	}
	if err := guard(func() error { return t.checkGroup(in, group) }); err != nil {
		return err
	}
	return t.readGroup(d, Place{file, group, row}, groups[group], &row, rows)
}

// readGroup reads the rows of a group; row counts the rows of the file.
func (t *parquetTable) readGroup(d *Dataset, at Place, group parquet.RowGroup, row *int, rows sink) error {
	file := at.File
	g := t.openGroup(group)
	defer g.close()
	for range group.NumRows() {
		*row++
		var r parquetRow
		if err := guard(func() (err error) { r, err = g.next(); return err }); err != nil {
			return fmt.Errorf("row %d: %w", *row, err)
		}
		at.Row = *row
		f := r.fields
		f[names(d.options.Audio, audioNames)[0]] = r.path
		if r.path == "" {
			f[names(d.options.Audio, audioNames)[0]] = fmt.Sprintf("%s:%d", d.relative(file), *row)
		}
		source := func(name string) (Source, error) {
			switch {
			case r.sound != nil:
				return Source{Path: name, Place: at, data: r.sound}, nil
			case r.path == "":
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

// A groupReader reads the wanted columns of a row group side by side.
type groupReader struct {
	sound, path *columnReader
	others      map[string]*columnReader
}

type parquetRow struct {
	sound  []byte
	path   string
	fields fields
}

func (t *parquetTable) openGroup(group parquet.RowGroup) *groupReader {
	chunks := group.ColumnChunks()
	open := func(c *parquet.LeafColumn) *columnReader {
		if c == nil {
			return nil
		}
		return &columnReader{chunk: chunks[c.ColumnIndex]}
	}
	g := &groupReader{sound: open(t.sound), path: open(t.path), others: make(map[string]*columnReader)}
	for name, c := range t.others {
		g.others[name] = open(&c)
	}
	return g
}

func (g *groupReader) next() (r parquetRow, err error) {
	v, err := g.sound.next()
	if err != nil {
		return r, err
	}
	if !v.IsNull() {
		r.sound = append([]byte{}, v.ByteArray()...) // the page is reused
	}
	if v, err = g.path.next(); err != nil {
		return r, err
	}
	if !v.IsNull() {
		r.path = string(v.ByteArray())
	}
	r.fields = make(fields, len(g.others))
	for name, c := range g.others {
		if v, err = c.next(); err != nil {
			return r, err
		}
		if r.fields[name], err = plain(v); err != nil {
			return r, fmt.Errorf("column %s: %w", name, err)
		}
	}
	return r, nil
}

// plain converts a value to the type it has in a JSON row.
func plain(v parquet.Value) (any, error) {
	switch {
	case v.IsNull():
		return nil, nil
	case v.Kind() == parquet.Boolean:
		return v.Boolean(), nil
	case v.Kind() == parquet.ByteArray:
		return string(bytes.ToValidUTF8(v.ByteArray(), []byte("\ufffd"))), nil
	}
	return json.Number(v.String()), nil
}

func (g *groupReader) close() {
	g.sound.close()
	g.path.close()
	for _, c := range g.others {
		c.close()
	}
}

// A columnReader yields the values of a column that has one per row. A nil columnReader
// yields nulls.
type columnReader struct {
	chunk  parquet.ColumnChunk
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    [1]parquet.Value
}

// next returns the next value, valid until the following call.
func (c *columnReader) next() (parquet.Value, error) {
	if c == nil {
		return parquet.Value{}, nil
	}
	for {
		if c.values != nil {
			n, err := c.values.ReadValues(c.buf[:])
			if n == 1 {
				return c.buf[0], nil
			}
			if err != nil && err != io.EOF {
				return parquet.Value{}, err
			}
			if err == nil {
				return parquet.Value{}, errors.New("column yields no value")
			}
		}
		if err := c.turn(); err != nil {
			return parquet.Value{}, err
		}
	}
}

// turn opens the next page.
func (c *columnReader) turn() error {
	if c.pages == nil {
		c.pages = c.chunk.Pages()
	}
	parquet.Release(c.page)
	c.page, c.values = nil, nil
	page, err := c.pages.ReadPage()
	if err == io.EOF {
		return fmt.Errorf("column ends early: %w", io.ErrUnexpectedEOF)
	}
	if err != nil {
		return err
	}
	c.page, c.values = page, page.Values()
	return nil
}

func (c *columnReader) close() {
	if c == nil || c.pages == nil {
		return
	}
	parquet.Release(c.page)
	c.pages.Close()
}
