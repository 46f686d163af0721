package datasets

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// table returns a Parquet file of some rows, compressed as asked.
func table(t testing.TB, codec compress.Codec, v2 bool) []byte {
	t.Helper()
	type sound struct {
		Bytes []byte `parquet:"bytes"`
		Path  string `parquet:"path"`
	}
	type row struct {
		Audio sound  `parquet:"audio"`
		Text  string `parquet:"text"`
	}
	var b bytes.Buffer
	version := 1
	if v2 {
		version = 2
	}
	w := parquet.NewGenericWriter[row](&b, parquet.Compression(codec), parquet.DataPageVersion(version), parquet.PageBufferSize(4000))
	for i := range 40 {
		pcm := make([]byte, 500)
		for j := range pcm {
			pcm[j] = byte(i * j * j)
		}
		if _, err := w.Write([]row{{sound{pcm, "a.wav"}, strings.Repeat("word ", i+1)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rowsOf reads a file and counts.
func rowsOf(t testing.TB, raw []byte) (good int, broken []string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "d.parquet")
	if err := os.WriteFile(name, raw, 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range d.All(t.Context()) {
		if err != nil {
			broken = append(broken, err.Error())
		} else {
			good++
		}
	}
	return good, broken
}

// TestCodecs reads pages of each compression, and refuses others by name.
func TestCodecs(t *testing.T) {
	for name, codec := range map[string]compress.Codec{"none": &parquet.Uncompressed, "snappy": &parquet.Snappy, "gzip": &parquet.Gzip, "zstd": &parquet.Zstd} {
		for _, v2 := range []bool{false, true} {
			if good, broken := rowsOf(t, table(t, codec, v2)); good != 40 || len(broken) != 0 {
				t.Errorf("%s, version 2 %v: %d rows, %v", name, v2, good, broken)
			}
		}
	}
	if good, broken := rowsOf(t, table(t, &parquet.Lz4Raw, false)); good != 0 || len(broken) != 1 || !strings.Contains(broken[0], "compressed with LZ4_RAW: want none") {
		t.Errorf("lz4: %d rows, %v", good, broken)
	}
}

// TestPageSizes gives each codec a limit that is one too small, and blocks that are
// damaged: it must see the first and end with the second, in bounded memory.
func TestPageSizes(t *testing.T) {
	page := bytes.Repeat([]byte("the same words again "), 5000)
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd} {
		packed, err := codec.Encode(nil, page)
		if err != nil {
			t.Fatal(err)
		}
		size, limit := codecs[codec.CompressionCodec()], int64(len(page))
		if n, err := size(bytes.NewReader(packed), limit); err != nil || n != limit {
			t.Errorf("%v: got %d bytes, %v, want %d", codec, n, err, limit)
		}
		if n, err := size(bytes.NewReader(packed), limit-1); err == nil && n < limit {
			t.Errorf("%v: with a limit of one byte less: got %d bytes and no error", codec, n)
		}
		for at := range min(len(packed), 300) {
			damaged := bytes.Clone(packed)
			damaged[at] ^= 0xff
			if n, err := size(bytes.NewReader(damaged), limit); err == nil && n > limit+64 && codec != &parquet.Snappy {
				t.Errorf("%v: byte %d damaged: made %d bytes, want at most %d", codec, at, n, limit)
			}
		}
	}
}

// TestBombs: pages that hold more than they say, or say more than they hold. Without the
// checks the first took 30 GB, the second 8.
func TestBombs(t *testing.T) {
	for _, name := range []string{"lz4-bomb.parquet", "pqmem-9-65.parquet"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "shared", "data", "faults", name))
		if err != nil {
			t.Skip("the file of the finding is not here: ", err)
		}
		began := time.Now()
		_, broken := rowsOf(t, raw)
		if len(broken) == 0 {
			t.Errorf("%s: no broken row", name)
		}
		t.Logf("%s: %v in %v", name, broken, time.Since(began))
	}
}

// forge puts a dictionary of one word and a page of as many equal texts as it says in the
// place of a file's texts.
func forge(t testing.TB, values int32, v2 bool) []byte {
	t.Helper()
	marshal := func(v any) []byte {
		b, err := thrift.Marshal(new(thrift.CompactProtocol), v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	word := []byte("\x04\x00\x00\x00word")
	run := append(binary.AppendUvarint([]byte{1}, uint64(values)<<1), 0) // indices of one bit, all 0
	page := func(h format.PageHeader, body []byte) []byte {
		h.UncompressedPageSize, h.CompressedPageSize = int32(len(body)), int32(len(body))
		return append(marshal(&h), body...)
	}
	var first, data format.PageHeader
	first.Type, first.DictionaryPageHeader.Valid = format.DictionaryPage, true
	first.DictionaryPageHeader.V = format.DictionaryPageHeader{NumValues: 1, Encoding: format.Plain}
	if v2 {
		data.Type, data.DataPageHeaderV2.Valid = format.DataPageV2, true
		data.DataPageHeaderV2.V = format.DataPageHeaderV2{NumValues: values, NumRows: values, Encoding: format.RLEDictionary}
	} else {
		data.Type, data.DataPageHeader.Valid = format.DataPage, true
		data.DataPageHeader.V = format.DataPageHeader{NumValues: values, Encoding: format.RLEDictionary,
			DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE}
	}
	dictionary, texts := page(first, word), page(data, run)

	file := table(t, &parquet.Uncompressed, v2)
	end := len(file) - 8 - int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	var m format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), file[end:len(file)-8], &m); err != nil {
		t.Fatal(err)
	}
	group := &m.RowGroups[0]
	c := &group.Columns[len(group.Columns)-1].MetaData
	group.NumRows, m.NumRows, c.NumValues = int64(values), int64(values), int64(values)
	c.Encoding = []format.Encoding{format.RLEDictionary, format.RLE}
	c.DictionaryPageOffset, c.DataPageOffset = int64(end), int64(end+len(dictionary))
	c.TotalCompressedSize = int64(len(dictionary) + len(texts))
	c.TotalUncompressedSize = c.TotalCompressedSize
	foot := marshal(&m)
	return append(binary.LittleEndian.AppendUint32(slices.Concat(file[:end], dictionary, texts, foot), uint32(len(foot))), "PAR1"...)
}

// TestManyValues: a page of 20 bytes that says it holds a billion equal texts took all memory.
func TestManyValues(t *testing.T) {
	for _, v2 := range []bool{false, true} {
		if good, broken := rowsOf(t, forge(t, 40, v2)); good != 40 || broken != nil {
			t.Errorf("version 2 %t: 40 texts: %d rows, %q", v2, good, broken)
		}
		if good, broken := rowsOf(t, forge(t, 1<<30, v2)); good != 0 || len(broken) != 1 || !strings.Contains(broken[0], "1073741824 values, want at most") {
			t.Errorf("version 2 %t: %d rows, %q", v2, good, broken)
		}
	}
}

// FuzzPages changes bytes of a Parquet file: rows are broken, and nothing else happens.
func FuzzPages(f *testing.F) {
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd} {
		for _, v2 := range []bool{false, true} {
			f.Add(table(f, codec, v2), uint32(100), byte(0x80), uint32(4), byte(0xff))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, at uint32, x byte, at2 uint32, x2 byte) {
		if len(raw) == 0 || len(raw) > 1<<16 {
			return
		}
		raw = bytes.Clone(raw)
		raw[int(at)%len(raw)] ^= x
		raw[int(at2)%len(raw)] ^= x2
		name := filepath.Join(t.TempDir(), "d.parquet")
		if err := os.WriteFile(name, raw, 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := Open(t.Context(), name, Options{Format: "parquet"})
		if err != nil {
			return
		}
		n := 0
		for range d.All(t.Context()) {
			if n++; n > 1000 {
				break // a footer may claim many
			}
		}
	})
}
