package datasets

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// maxPage is the most bytes a page may hold after decompression.
const maxPage = 512 << 20

// maxValues is the most values of a page. Equal ones take no space in a file, and four
// bytes each in memory.
const maxValues = 1 << 24

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

// checkPages walks over the pages of a column chunk and reports one that does not match
// its header, before any is decompressed into memory.
func checkPages(in io.ReaderAt, m *format.ColumnMetaData) error {
	size, ok := codecs[m.Codec]
	if !ok {
		return fmt.Errorf("column %v is compressed with %v: want none, SNAPPY, GZIP or ZSTD",
			m.PathInSchema, m.Codec)
	}
	at := m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}
	if at < 0 || m.TotalCompressedSize < 0 {
		return errors.New("malformed Parquet file: a column has no place")
	}
	r := bufio.NewReader(io.NewSectionReader(in, at, m.TotalCompressedSize))
	compact := thrift.CompactProtocol{}
	decoder := thrift.NewDecoder(compact.NewReader(r))
	for page := 1; ; page++ {
		if _, err := r.Peek(1); err == io.EOF {
			return nil
		}
		var h format.PageHeader
		if err := decoder.Decode(&h); err != nil {
			return fmt.Errorf("page %d: malformed header: %w", page, err)
		}
		if err := checkPage(r, &h, size); err != nil {
			return fmt.Errorf("column %v: page %d: %w", m.PathInSchema, page, err)
		}
	}
}

// checkPage reads through a page and compares it with its header.
func checkPage(r io.Reader, h *format.PageHeader, size func(io.Reader, int64) (int64, error)) error {
	stated := int64(h.UncompressedPageSize)
	if stated < 0 || stated > maxPage || h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > maxPage {
		return fmt.Errorf("%d bytes compressed to %d, want at most %d",
			h.UncompressedPageSize, h.CompressedPageSize, maxPage)
	}
	if n := max(h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues, h.DictionaryPageHeader.V.NumValues); n > maxValues {
		return fmt.Errorf("%d values, want at most %d", n, maxValues)
	}
	body := &io.LimitedReader{R: r, N: int64(h.CompressedPageSize)}
	compressed := true
	if v2 := h.DataPageHeaderV2; v2.Valid { // its levels are never compressed
		levels := int64(v2.V.RepetitionLevelsByteLength) + int64(v2.V.DefinitionLevelsByteLength)
		if levels < 0 || levels > body.N || levels > stated {
			return fmt.Errorf("levels of %d bytes in a page of %d", levels, body.N)
		}
		if _, err := io.CopyN(io.Discard, body, levels); err != nil {
			return err
		}
		stated -= levels
		if c := v2.V.IsCompressed; c.Valid {
			compressed = c.V
		}
	}
	if body.N > 0 && compressed {
		n, err := size(body, stated)
		if err != nil {
			return err
		}
		if n > stated {
			return fmt.Errorf("it holds more than the %d bytes that its header says", stated)
		}
	}
	_, err := io.Copy(io.Discard, body)
	if err == nil && body.N > 0 {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// checkGroup checks the columns of a row group.
func (t *parquetTable) checkGroup(in io.ReaderAt, group int) error {
	columns := t.file.Metadata().RowGroups[group].Columns
	if len(columns) < len(t.file.Schema().Columns()) {
		return errors.New("malformed Parquet file: a row group lacks columns")
	}
	for i := range columns {
		if err := checkPages(in, &columns[i].MetaData); err != nil {
			return err
		}
	}
	return nil
}
