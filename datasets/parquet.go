package datasets

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

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
		if err := t.checkGroup(i); err != nil {
			return fmt.Errorf("rows %d and later: %w", row+1, err)
		}
		if err := t.readGroup(d, Place{file, i, row}, group, &row, rows); err != nil {
			return err
		}
	}
	return nil
}

// catch turns a panic of f into an error, because the Parquet library panics on some
// malformed files.
func catch(f func() error) (err error) {
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
	wanted      []parquet.LeafColumn // the columns to read, with one value per row
	sound, path int                  // of the audio's bytes and path; -1 for none
	others      map[int]string       // names of the others
}

func openTable(ctx context.Context, d *Dataset, file string) (in *input.File, t *parquetTable, err error) {
	if in, err = input.Open(ctx, file); err != nil {
		return nil, nil, err
	}
	err = catch(func() (err error) { t, err = openParquet(d, in); return err })
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, t, nil
}

// Limits on a Parquet file. The library has none of its own: it trusts the sizes that a file
// states, and decompresses a page to its end even beyond the size stated.
const (
	maxParquet = 64 << 30  // bytes of a file
	maxSound   = 256 << 20 // bytes of sound in a row: two hours as WAV at 16 kHz
)

// checkFooter checks that the footer is inside the file, before the library makes room for it.
func checkFooter(in io.ReaderAt, size int64) error {
	const ends = 4 + 8 // magic number; length of the footer, magic number
	if size < ends || size > maxParquet {
		return fmt.Errorf("malformed Parquet file: %d bytes, want %d to %d", size, ends, int64(maxParquet))
	}
	var tail [8]byte
	if _, err := in.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return err
	}
	if string(tail[4:]) != "PAR1" {
		return errors.New("is no Parquet file, or one that is cut off")
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:])); n > size-ends {
		return fmt.Errorf("malformed Parquet file: footer of %d bytes in a file of %d; is it cut off?", n, size)
	}
	return nil
}

// checkGroup checks what the footer says about a row group.
func (t *parquetTable) checkGroup(i int) error {
	group, size := &t.file.Metadata().RowGroups[i], t.file.Size()
	if group.NumRows < 0 || group.NumRows > size {
		return fmt.Errorf("row group %d: %d rows in a file of %d bytes, want at least one byte for each row; "+
			"download or write the file again", i, group.NumRows, size)
	}
	if len(group.Columns) < len(t.file.Schema().Columns()) {
		return errors.New("malformed Parquet file: a row group lacks columns")
	}
	for _, leaf := range t.wanted {
		// The library decompresses a damaged page of LZ4 into ever more memory.
		switch m := &group.Columns[leaf.ColumnIndex].MetaData; m.Codec {
		case format.Uncompressed, format.Snappy, format.Gzip, format.Zstd:
		default:
			return fmt.Errorf("column %v is compressed with %v: want none, SNAPPY, GZIP or ZSTD", m.PathInSchema, m.Codec)
		}
	}
	return nil
}

func openParquet(d *Dataset, in *input.File) (*parquetTable, error) {
	if err := checkFooter(in, in.Size()); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(in, in.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	t := &parquetTable{file: f, sound: -1, path: -1, others: map[int]string{}}
	schema, text := f.Schema(), names(d.options.Text, textNames)
	if !t.findAudio(schema, names(d.options.Audio, audioNames)) {
		return nil, cmp.Or(numbersAsSound(schema, names(d.options.Audio, audioNames)), error(&ColumnsError{cmp.Or(d.options.Audio, "sound"), columnNames(schema)}))
	}
	for _, name := range slices.Concat(text, idNames, langNames, []string{"duration", "offset"}) {
		if leaf, ok := schema.Lookup(name); ok && scalar(leaf) && leaf.ColumnIndex != t.path {
			t.others[leaf.ColumnIndex] = name
		}
	}
	isText := func(name string) bool { return slices.Contains(text, name) }
	if !slices.ContainsFunc(slices.Collect(maps.Values(t.others)), isText) {
		return nil, &ColumnsError{cmp.Or(d.options.Text, "text"), columnNames(schema)}
	}
	for _, path := range schema.Columns() {
		leaf, _ := schema.Lookup(path...)
		if at := leaf.ColumnIndex; t.others[at] != "" || at == t.sound || at == t.path {
			t.wanted = append(t.wanted, leaf)
		}
	}
	return t, nil
}

// findAudio uses the first of names that is a group of bytes and path, a column of
// bytes, or a column of strings, which are paths.
func (t *parquetTable) findAudio(schema *parquet.Schema, names []string) bool {
	for _, name := range names {
		if leaf, ok := schema.Lookup(name, "bytes"); ok && isBytes(leaf) {
			t.sound = leaf.ColumnIndex
			if path, ok := schema.Lookup(name, "path"); ok && isBytes(path) {
				t.path = path.ColumnIndex
			}
			return true
		}
		if leaf, ok := schema.Lookup(name); ok && isBytes(leaf) {
			if isString(leaf) {
				t.path = leaf.ColumnIndex
			} else {
				t.sound = leaf.ColumnIndex
			}
			return true
		}
	}
	return false
}

// numbersAsSound returns an error if a column of one of names holds numbers; else nil.
func numbersAsSound(schema *parquet.Schema, names []string) error {
	for _, path := range schema.Columns() {
		leaf, _ := schema.Lookup(path...)
		if kind := leaf.Node.Type().Kind(); slices.Contains(names, path[0]) && kind != parquet.ByteArray {
			return kindError(fmt.Sprintf("column %s holds numbers (%s), want sound bytes or a path", path[0], strings.ToLower(kind.String())))
		}
	}
	return nil
}

func columnNames(schema *parquet.Schema) (names []string) {
	for _, path := range schema.Columns() {
		names = append(names, strings.Join(path, "."))
	}
	return names
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
			yield(Utterance{}, shorten(fmt.Errorf("%s: row group %d: %w", file, group, err)))
		}
	}
}

// readGroup reads the rows of a group; row counts the rows of the file.
func (t *parquetTable) readGroup(d *Dataset, at Place, group parquet.RowGroup, row *int, rows sink) error {
	columns := make([]columnReader, len(t.wanted))
	defer func() {
		for i := range columns {
			columns[i].close()
		}
	}()
	err := catch(func() error {
		for i, leaf := range t.wanted {
			columns[i].pages = group.ColumnChunks()[leaf.ColumnIndex].Pages()
		}
		return nil
	})
	if err != nil {
		return err
	}
	values := make(parquet.Row, len(columns))
	for range group.NumRows() {
		*row++
		at.Row = *row
		var r parquetRow
		var broken error
		err := catch(func() error {
			for i := range columns {
				if err := columns[i].next(values[i : i+1]); err != nil {
					return err
				}
			}
			if broken = t.tooLong(values); broken == nil {
				r = t.row(values)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("row %d: %w", *row, err)
		}
		if broken == nil {
			name := cmp.Or(r.path, fmt.Sprintf("%s:%d", d.relative(at.File), *row))
			r.fields[names(d.options.Audio, audioNames)[0]] = name
		}
		if !d.emit(at.File, *row, r.fields, broken, func(name string) (Source, error) { return r.source(name, at) }, rows) {
			return errStop
		}
	}
	return nil
}

// A parquetRow is what the wanted columns hold for a row.
type parquetRow struct {
	sound  []byte // nil for none
	path   string
	fields fields
}

// source returns the sound of the row: the bytes in it, or the file at its path.
func (r *parquetRow) source(name string, at Place) (Source, error) {
	switch {
	case r.sound != nil:
		return Source{Path: name, Place: at, Data: r.sound}, nil
	case r.path == "":
		return Source{}, errNoAudio
	}
	return existing(resolve(at.File, name))
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
	if c.pages != nil {
		c.pages.Close()
	}
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

// row sorts the values of a row by what their columns are for.
func (t *parquetTable) row(values parquet.Row) parquetRow {
	r := parquetRow{fields: make(fields, len(t.others))}
	for _, v := range values {
		switch at := v.Column(); {
		case t.others[at] != "":
			r.fields[t.others[at]] = plain(v)
		case v.IsNull():
		case at == t.sound:
			r.sound = append([]byte{}, v.ByteArray()...) // the page is reused
		case at == t.path:
			r.path = string(v.ByteArray())
		}
	}
	return r
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
