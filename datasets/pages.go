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

// checkPages walks over the pages of a column chunk, whose values may be null if so said, and
// reports one that does not match its header, before any is decompressed into memory.
func checkPages(in io.ReaderAt, m *format.ColumnMetaData, null bool) error {
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
		packed, compressed, err := checkPage(r, &h, size)
		if err == nil && packed != nil {
			err = checkDelta(packed, &h, m.Codec, compressed, null)
		}
		if err != nil {
			return fmt.Errorf("column %v: page %d: %w", m.PathInSchema, page, err)
		}
	}
}

// checkPage reads through a page and compares it with its header. It returns the values,
// compressed or not, if they are differences.
func checkPage(r io.Reader, h *format.PageHeader, size func(io.Reader, int64) (int64, error)) (packed []byte, compressed bool, err error) {
	stated := int64(h.UncompressedPageSize)
	if stated < 0 || stated > maxPage || h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > maxPage {
		return nil, false, fmt.Errorf("%d bytes compressed to %d, want at most %d",
			h.UncompressedPageSize, h.CompressedPageSize, maxPage)
	}
	if n := valuesOf(h); n > maxValues {
		return nil, false, fmt.Errorf("%d values, want at most %d", n, maxValues)
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
	if compressed {
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
	for _, leaf := range t.wanted {
		if err := checkPages(in, &columns[leaf.ColumnIndex].MetaData, leaf.MaxDefinitionLevel > 0); err != nil {
			return err
		}
	}
	return nil
}
