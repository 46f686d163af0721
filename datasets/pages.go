package datasets

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

// A small file may say that it holds a lot. These are the most that Verity takes.
const (
	maxSound   = 256 << 20 // bytes of sound in a row: two hours as WAV at 16 kHz
	maxPage    = 512 << 20 // bytes of the pages that are in memory at once, one of each column
	maxPacking = 100       // bytes of a page for each that it takes compressed, beyond those of plainPage
	plainPage  = 64 << 20
	maxColumns = 2000    // columns and groups of a table
	maxItems   = 1 << 20 // items of all lists in a footer, structs as four: 150 MB in memory. Each column of a row group has some twenty
	mostText   = 256     // bytes of text for each byte of a file: dictionaries repeat them
)

// codecs are the supported compressions, those that writers of data sets use. Each
// function returns the decompressed size of a page, or, for a page above limit, some size
// above limit: parquet-go does not bound its codecs, so that a page that holds more than
// its header says would take all memory.
var codecs = map[format.CompressionCodec]func(r io.Reader, limit int64) (int64, error){
	format.Uncompressed: discard,
	format.Snappy:       snappySize,
	format.Gzip: func(r io.Reader, limit int64) (int64, error) {
		z, err := gzip.NewReader(r)
		if err != nil {
			return 0, err
		}
		return discard(z, limit)
	},
	format.Zstd: func(r io.Reader, limit int64) (int64, error) {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage))
		if err != nil {
			return 0, err
		}
		defer z.Close()
		return discard(z, limit)
	},
}

func discard(r io.Reader, limit int64) (int64, error) {
	return io.Copy(io.Discard, io.LimitReader(r, limit+1))
}

// snappySize reads the size at the start of a Snappy block. The decoder allocates that
// much.
func snappySize(r io.Reader, _ int64) (int64, error) {
	n, err := binary.ReadUvarint(bufio.NewReader(r))
	return int64(min(n, 1<<62)), err
}

// checkFooter refuses a footer that is longer than its file, or says that more is in it than can
// be. parquet-go would make room for all of it.
func checkFooter(in io.ReaderAt, size int64) error {
	const ends = 4 + 8 // magic number; length of the footer, magic number
	var tail [8]byte
	if size < ends {
		return fmt.Errorf("malformed Parquet file: %d bytes, want %d at least", size, ends)
	}
	if _, err := in.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-ends {
		return fmt.Errorf("malformed Parquet file: footer of %d bytes in a file of %d; is it cut off?", n, size)
	}
	var m struct { // what is checked of a format.FileMetaData
		Schema []struct {
			Children int32 `thrift:"5,optional"`
		} `thrift:"2,required"`
		RowGroups []struct {
			NumRows int64 `thrift:"3,required"`
		} `thrift:"4,required"`
	}
	if err := newHeaders(in, size-8-n, n).next(&m, maxItems); err != nil {
		return fmt.Errorf("malformed footer: %w; download or write the file again", err)
	}
	if len(m.Schema) > maxColumns {
		return fmt.Errorf("%d columns and groups of columns, want at most %d; keep those of sound and text", len(m.Schema), maxColumns)
	}
	rows := int64(0)
	for i, g := range m.RowGroups {
		if g.NumRows < 0 || g.NumRows > size-rows {
			return fmt.Errorf("row group %d: %d rows in a file of %d bytes, want a byte for each at least; download or write the file again", i, g.NumRows, size)
		}
		rows += g.NumRows
	}
	return nil
}

// checkPages walks over the pages of a column chunk of so many rows, whose values may be null if so
// said, and reports one that does not match its header, before any is decompressed into memory. It
// returns the most memory that the column takes at once.
func checkPages(in io.ReaderAt, m *format.ColumnMetaData, rows int64, null bool) (room int64, err error) {
	size, ok := codecs[m.Codec]
	if !ok {
		return 0, fmt.Errorf("column %v is compressed with %v: want none, SNAPPY, GZIP or ZSTD",
			m.PathInSchema, m.Codec)
	}
	at := m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}
	if at < 0 || m.TotalCompressedSize < 0 {
		return 0, errors.New("malformed Parquet file: a column has no place")
	}
	pages, dictionary := newHeaders(in, at, m.TotalCompressedSize), int64(0)
	for page := 1; ; page++ {
		if _, err := pages.r.Peek(1); err == io.EOF {
			return dictionary + room, nil
		}
		var h format.PageHeader
		if err := pages.next(&h, maxColumns); err != nil {
			return 0, fmt.Errorf("column %v: page %d: malformed header: %w", m.PathInSchema, page, err)
		}
		if left := pages.in.Size() - pages.at(); int64(h.CompressedPageSize) > left {
			return 0, fmt.Errorf("column %v: page %d: %d bytes where %d are left", m.PathInSchema, page, h.CompressedPageSize, left)
		}
		most, took := rows, &room
		if h.DictionaryPageHeader.Valid {
			most, took = int64(h.UncompressedPageSize), &dictionary
		}
		packed, compressed, err := checkPage(pages.r, &h, size, most)
		*took = max(*took, int64(h.UncompressedPageSize)+8*int64(valuesOf(&h)))
		if err == nil && packed != nil {
			err = checkDelta(packed, &h, m.Codec, compressed, null)
		}
		if err != nil {
			return 0, fmt.Errorf("column %v: page %d: %w", m.PathInSchema, page, err)
		}
	}
}

// checkPage reads through a page and compares it with its header. It returns the values,
// compressed or not, if they are differences. most is the most values it may have.
func checkPage(r io.Reader, h *format.PageHeader, size func(io.Reader, int64) (int64, error), most int64) (packed []byte, compressed bool, err error) {
	stated := int64(h.UncompressedPageSize)
	if stated < 0 || stated > maxPage || h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > maxPage {
		return nil, false, fmt.Errorf("%d bytes compressed to %d, want at most %d",
			h.UncompressedPageSize, h.CompressedPageSize, maxPage)
	}
	if full := plainPage + maxPacking*int64(h.CompressedPageSize); stated > full {
		return nil, false, fmt.Errorf("%d bytes compressed to %d, want at most %d bytes; write the file with smaller pages",
			stated, h.CompressedPageSize, full)
	}
	if n := valuesOf(h); n < 0 || int64(n) > most {
		return nil, false, fmt.Errorf("%d values, want at most %d", n, most)
	}
	body := &io.LimitedReader{R: r, N: int64(h.CompressedPageSize)}
	compressed = true
	if v2 := h.DataPageHeaderV2; v2.Valid { // its levels are never compressed
		levels := int64(v2.V.RepetitionLevelsByteLength) + int64(v2.V.DefinitionLevelsByteLength)
		if levels < 0 || levels > body.N || levels > stated {
			return nil, false, fmt.Errorf("levels of %d bytes in a page of %d", levels, body.N)
		}
		if _, err := io.CopyN(io.Discard, body, levels); err != nil {
			return nil, false, err
		}
		stated -= levels
		if c := v2.V.IsCompressed; c.Valid {
			compressed = c.V
		}
	}
	from := io.Reader(body)
	var kept bytes.Buffer
	if differences(h) {
		kept.Grow(int(body.N)) // a buffer that grows takes three times as much
		from = io.TeeReader(body, &kept)
	}
	if body.N > 0 && compressed {
		n, err := size(from, stated)
		if err != nil {
			return nil, false, err
		}
		if n > stated {
			return nil, false, fmt.Errorf("it holds more than the %d bytes that its header says", stated)
		}
	}
	_, err = io.Copy(io.Discard, from)
	if err == nil && body.N > 0 {
		err = io.ErrUnexpectedEOF
	}
	return kept.Bytes(), compressed, err
}

func valuesOf(h *format.PageHeader) int32 {
	return max(h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues, h.DictionaryPageHeader.V.NumValues)
}

// differences reports whether the values of a page are stored as such.
func differences(h *format.PageHeader) bool {
	switch encodingOf(h) {
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray, format.DeltaByteArray:
		return true
	}
	return false
}

func encodingOf(h *format.PageHeader) format.Encoding {
	switch {
	case h.DataPageHeaderV2.Valid:
		return h.DataPageHeaderV2.V.Encoding
	case h.DictionaryPageHeader.Valid:
		return h.DictionaryPageHeader.V.Encoding
	}
	return h.DataPageHeader.V.Encoding
}

// checkDelta checks values that are stored as differences. parquet-go makes room for as many
// as their own header says, and for strings that repeat the beginning of the one before.
func checkDelta(packed []byte, h *format.PageHeader, codec format.CompressionCodec, compressed, null bool) (err error) {
	if len(packed) == 0 {
		return nil
	}
	if compressed && codec != format.Uncompressed {
		if packed, err = parquet.LookupCompressionCodec(codec).Decode(nil, packed); err != nil {
			return err
		}
	}
	if null && h.DataPageHeader.Valid { // first which of them are null
		n := int64(4)
		if len(packed) >= 4 {
			n += int64(binary.LittleEndian.Uint32(packed))
		}
		if n > int64(len(packed)) {
			return fmt.Errorf("levels of %d bytes in a page of %d", n, len(packed))
		}
		packed = packed[n:]
	}
	rest, err := skipDelta(packed, valuesOf(h))
	size := 0
	switch {
	case err != nil:
	case encodingOf(h) == format.DeltaByteArray:
		if _, err = skipDelta(rest, valuesOf(h)); err == nil {
			size = new(delta.ByteArrayEncoding).EstimateDecodeByteArraySize(packed)
		}
	case encodingOf(h) == format.DeltaLengthByteArray:
		size = new(delta.LengthByteArrayEncoding).EstimateDecodeByteArraySize(packed)
	}
	if size < 0 || size > maxPage {
		err = fmt.Errorf("strings of %d bytes, want at most %d", size, maxPage)
	}
	return err
}

// skipDelta returns what follows a run of at most so many differences.
//
// Source: Parquet, Encodings.md, DELTA_BINARY_PACKED.
func skipDelta(b []byte, most int32) ([]byte, error) {
	bad := errors.New("malformed differences")
	var head [4]uint64 // values in a block; parts of a block; all values; the first
	for i := range head {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, bad
		}
		head[i], b = v, b[n:]
	}
	if head[2] > uint64(most) {
		return nil, fmt.Errorf("%d differences in a page of %d values", head[2], most)
	}
	if head[0] > 1<<20 || head[1] < 1 || head[1] > head[0] {
		return nil, bad
	}
	parts, part := int(head[1]), int(head[0]/head[1])
	for left := int(head[2]) - 1; left > 0; {
		_, n := binary.Uvarint(b) // the least difference
		if n <= 0 || len(b) < n+parts {
			return nil, bad
		}
		widths := b[n : n+parts]
		b = b[n+parts:]
		for i := 0; i < parts && left > 0; i++ {
			b = b[min(part*int(widths[i])/8, len(b)):]
			left -= part
		}
	}
	return b, nil
}

// checkGroup checks the columns of a row group that are read.
func (t *parquetTable) checkGroup(in io.ReaderAt, group int) error {
	columns := t.file.Metadata().RowGroups[group].Columns
	if len(columns) < len(t.file.Schema().Columns()) {
		return errors.New("malformed Parquet file: a row group lacks columns")
	}
	total, rows := int64(0), t.file.Metadata().RowGroups[group].NumRows
	for _, leaf := range t.wanted {
		m := &columns[leaf.ColumnIndex].MetaData
		if m.TotalCompressedSize > t.file.Size() {
			return fmt.Errorf("column %v: %d bytes in a file of %d", m.PathInSchema, m.TotalCompressedSize, t.file.Size())
		}
		room, err := checkPages(in, m, rows, leaf.MaxDefinitionLevel > 0)
		if err != nil {
			return err
		}
		if total += room; total > maxPage {
			return fmt.Errorf("the pages of %d rows take %d bytes at once, want at most %d; write the file with smaller pages",
				rows, total, maxPage)
		}
	}
	return nil
}
