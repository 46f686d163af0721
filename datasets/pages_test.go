package datasets

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/delta"
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

// A forgedPage is a page that is put into a file.
type forgedPage struct {
	encoding   format.Encoding
	values     int32
	dictionary bool
	body       []byte
	unpacked   int32 // if not 0, the page is Snappy, and says that it holds so many bytes
}

// forge puts other pages in the place of a file's texts, each of so many rows.
func forge(t testing.TB, v2 bool, rows int32, pages ...forgedPage) []byte {
	t.Helper()
	marshal := func(v any) []byte {
		b, err := thrift.Marshal(new(thrift.CompactProtocol), v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	file := table(t, &parquet.Uncompressed, v2)
	end := len(file) - 8 - int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	var m format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), file[end:len(file)-8], &m); err != nil {
		t.Fatal(err)
	}
	group := &m.RowGroups[0]
	c := &group.Columns[len(group.Columns)-1].MetaData
	c.Encoding, c.DictionaryPageOffset, c.DataPageOffset = nil, 0, int64(end)
	made := file[:end:end]
	for _, p := range pages {
		var h format.PageHeader
		switch {
		case p.dictionary:
			h.Type, h.DictionaryPageHeader.Valid = format.DictionaryPage, true
			h.DictionaryPageHeader.V = format.DictionaryPageHeader{NumValues: p.values, Encoding: p.encoding}
			c.DictionaryPageOffset = int64(len(made))
		case v2:
			h.Type, h.DataPageHeaderV2.Valid = format.DataPageV2, true
			h.DataPageHeaderV2.V = format.DataPageHeaderV2{NumValues: p.values, NumRows: p.values, Encoding: p.encoding}
		default:
			h.Type, h.DataPageHeader.Valid = format.DataPage, true
			h.DataPageHeader.V = format.DataPageHeader{NumValues: p.values, Encoding: p.encoding,
				DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE}
		}
		h.UncompressedPageSize, h.CompressedPageSize = cmp.Or(p.unpacked, int32(len(p.body))), int32(len(p.body))
		made = slices.Concat(made, marshal(&h), p.body)
		if p.unpacked > 0 {
			c.Codec = format.Snappy
		}
		if p.dictionary {
			c.DataPageOffset = int64(len(made))
		}
		c.Encoding = append(c.Encoding, p.encoding)
	}
	group.NumRows, m.NumRows, c.NumValues = int64(rows), int64(rows), int64(rows)
	c.TotalCompressedSize = int64(len(made) - end)
	c.TotalUncompressedSize = c.TotalCompressedSize
	foot := marshal(&m)
	return append(binary.LittleEndian.AppendUint32(append(made, foot...), uint32(len(foot))), "PAR1"...)
}

// equalTexts is a dictionary of one word, and as many of it as are asked for.
func equalTexts(n int32) []forgedPage {
	run := append(binary.AppendUvarint([]byte{1}, uint64(n)<<1), 0) // indices of one bit, all 0
	return []forgedPage{{format.Plain, 1, true, []byte("\x04\x00\x00\x00word"), 0}, {format.RLEDictionary, n, false, run, 0}}
}

// TestManyValues: a page of 20 bytes that says it holds a billion equal texts took all memory.
func TestManyValues(t *testing.T) {
	for _, v2 := range []bool{false, true} {
		if good, broken := rowsOf(t, forge(t, v2, 40, equalTexts(40)...)); good != 40 || broken != nil {
			t.Errorf("version 2 %t: 40 texts: %d rows, %q", v2, good, broken)
		}
		if good, broken := rowsOf(t, forge(t, v2, 40, equalTexts(41)...)); good != 0 || len(broken) != 1 || !strings.Contains(broken[0], "41 values, want at most 40") {
			t.Errorf("version 2 %t: more values than rows: %d rows, %q", v2, good, broken)
		}
		if good, broken := rowsOf(t, forge(t, v2, 1<<30, equalTexts(1<<30)...)); good != 0 || len(broken) != 1 || !strings.Contains(broken[0], "1073741824 rows in a file of") {
			t.Errorf("version 2 %t: %d rows, %q", v2, good, broken)
		}
	}
}

// TestDelta: a page of 9 bytes that says it holds two billion differences, and one of 200
// kB whose strings all repeat one of 100 kB, took 8 GB and more.
func TestDelta(t *testing.T) {
	many := append(binary.AppendUvarint([]byte{128, 1, 4}, 1<<31-1), 0)
	long := make([]int32, 40)
	for i := range long {
		long[i] = 100_000
	}
	pack := func(n []int32) []byte {
		b, err := new(delta.BinaryPackedEncoding).EncodeInt32(nil, n)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	repeat := func(times int) []byte {
		prefix, suffix := make([]int32, times), make([]int32, times)
		for i := range prefix {
			prefix[i] = 100_000
		}
		prefix[0], suffix[0] = 0, 100_000
		return slices.Concat(pack(prefix), pack(suffix), bytes.Repeat([]byte("word "), 20_000))
	}
	for _, v2 := range []bool{false, true} {
		for _, tt := range []struct {
			page forgedPage
			want string // of the broken row; empty if all can be read
		}{
			{forgedPage{format.DeltaByteArray, 40, false, repeat(40), 0}, ""},
			{forgedPage{format.DeltaLengthByteArray, 40, false, append(pack(long), make([]byte, 4_000_000)...), 0}, ""},
			{forgedPage{format.DeltaByteArray, 10_000, false, repeat(10_000), 0}, "strings of 1000000000 bytes, want at most"},
			{forgedPage{format.DeltaByteArray, 40, false, many, 0}, "2147483647 differences in a page of 40 values"},
			{forgedPage{format.DeltaByteArray, 40, false, append(pack(long), many...), 0}, "2147483647 differences in a page of 40 values"},
			{forgedPage{format.DeltaLengthByteArray, 40, false, many, 0}, "2147483647 differences in a page of 40 values"},
			{forgedPage{format.DeltaLengthByteArray, 40, false, []byte{128, 1}, 0}, "malformed differences"},
			{forgedPage{format.DeltaLengthByteArray, 40, false, []byte{128, 1, 4, 40, 0}, 0}, "malformed differences"},
		} {
			good, broken := rowsOf(t, forge(t, v2, tt.page.values, tt.page))
			if tt.want == "" && (good != 40 || broken != nil) || tt.want != "" && (good != 0 || len(broken) != 1 || !strings.Contains(broken[0], tt.want)) {
				t.Errorf("version 2 %t, %v: %d rows, %.200q, want %q", v2, tt.page.encoding, good, broken, tt.want)
			}
		}
	}
}

// TestUnreadColumns: lists that nobody asked for may be of any length; they are not read.
func TestUnreadColumns(t *testing.T) {
	type row struct {
		Audio string   `parquet:"audio"`
		Words []string `parquet:"words,list"`
		Text  string   `parquet:"text"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	sound, err := filepath.Abs(filepath.Join("..", "model", "digits", "digits.wav"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := w.Write([]row{{sound, make([]string, 100_000), "one"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	raw := b.Bytes()
	if good, broken := rowsOf(t, raw); good != 3 || broken != nil {
		t.Fatalf("%d rows, %q", good, broken)
	}
	f, err := parquet.OpenFile(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	at := f.Metadata().RowGroups[0].Columns[1].MetaData.DataPageOffset
	clear(raw[at : at+64])
	if good, broken := rowsOf(t, raw); good != 3 || broken != nil {
		t.Errorf("with lists that are damaged: %d rows, %q", good, broken)
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
		d, err := Open(t.Context(), name, Options{})
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

// TestLongStrings: a string that takes little space in a file, and more than a line of text may have,
// breaks its row alone; one that nobody asked for is not read.
func TestLongStrings(t *testing.T) {
	type row struct {
		Audio []byte `parquet:"audio"`
		Text  string `parquet:"text"`
		Note  string `parquet:"note"`
	}
	long := strings.Repeat("so ", maxLine/3+1)
	good, broken := rowsOf(t, tableOf(t, []row{{[]byte("a"), long[:maxLine], ""}, {[]byte("b"), long, ""}, {[]byte("c"), "x", long}, {[]byte(long), "y", ""}}))
	if said := strings.Join(broken, "\n"); good != 3 || len(broken) != 1 || !strings.Contains(said, "d.parquet:2: column [text]: a string of") {
		t.Errorf("%d rows, broken: %s", good, said)
	}
	in, p, err := openTable(t.Context(), &Dataset{}, filepath.Join("testdata", "pyarrow.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for n, want := range map[int]bool{maxSound: false, maxSound + 1: true} {
		err := p.tooLong(parquet.Row{parquet.ByteArrayValue(make([]byte, n)).Level(0, 0, p.sound)})
		if (err != nil) != want || want && !strings.Contains(err.Error(), "a sound of 268435457 bytes, want at most 268435456") {
			t.Errorf("a sound of %d bytes: %v", n, err)
		}
	}
}

func tableOf[T any](t testing.TB, rows []T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, parquet.Compression(&parquet.Zstd))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCounts: small files that say they hold a lot. The first three took a gigabyte, half of one,
// and more than there is.
func TestCounts(t *testing.T) {
	type row struct {
		Audio string `parquet:"audio,dict"`
		Text  string `parquet:"text,dict"`
	}
	rows := tableOf(t, slices.Repeat([]row{{"a.wav", "x"}}, 100_000))
	footer := func(b ...byte) []byte {
		b = append([]byte("PAR1"), b...)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(b)-4)), "PAR1"...)
	}
	wide := parquet.Group{"audio": parquet.Leaf(parquet.ByteArrayType), "text": parquet.String()}
	for i := range maxColumns {
		wide[fmt.Sprint("c", i)] = parquet.Leaf(parquet.BooleanType)
	}
	var columns bytes.Buffer
	if err := parquet.NewWriter(&columns, parquet.NewSchema("wide", wide)).Close(); err != nil {
		t.Fatal(err)
	}
	snappy := func(bytes int32) []byte {
		return append(binary.AppendUvarint(nil, uint64(bytes)), make([]byte, bytes/100)...)
	}
	const large = 300 << 20
	equal := equalTexts(40)
	equal[0].body = append([]byte{0, 0, 16, 0}, bytes.Repeat([]byte("x"), maxLine)...)
	for i, p := range equal {
		equal[i].body, equal[i].unpacked = must(parquet.Snappy.Encode(nil, p.body)), int32(len(p.body))
	}
	texts := forge(t, false, 40, equal...)
	for name, tt := range map[string]struct {
		file []byte
		good int
		want string
	}{
		"rows":       {rows, 0, "row group 0: 100000 rows in a file of"},
		"columns":    {columns.Bytes(), 0, "2003 columns and groups of columns, want at most 2000"},
		"list":       {footer(0x15, 2, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7), 0, "too many items"},
		"string":     {footer(0x68, 0xff, 0xff, 0xff, 0xff, 7), 0, "a value of 2147483647 bytes where 0 are left"},
		"nested":     {footer(bytes.Repeat([]byte{0x19}, 1000)...), 0, "more than 16 values inside one another"},
		"texts":      {texts, mostText * (len(texts) + 1<<16) / maxLine, "the texts up to here"},
		"packed":     {forge(t, false, 40, forgedPage{format.Plain, 40, false, snappy(1000), 1 << 28}), 0, "268435456 bytes compressed to 12, want at most"},
		"many pages": {forge(t, false, 40, forgedPage{format.Plain, 1, true, snappy(large), large}, forgedPage{format.Plain, 1, false, snappy(large), large}), 0, "take 629150282 bytes at once"},
	} {
		good, broken := rowsOf(t, tt.file)
		if good != tt.good || len(broken) != 1 || !strings.Contains(broken[0], tt.want) {
			t.Errorf("%s, in %d bytes: %d rows, %.300q, want %q", name, len(tt.file), good, broken, tt.want)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestPageCopies: a sound in a Parquet file takes a few times its bytes while it is read, not seven.
func TestPageCopies(t *testing.T) {
	type row struct {
		Audio []byte `parquet:"audio,delta"` // as differences, which are walked over first
		Text  string `parquet:"text"`
	}
	const n = 16 << 20
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.SkipPageBounds("audio"), parquet.DataPageStatistics(false))
	if _, err := w.Write([]row{{make([]byte, n), "one"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	good, broken := rowsOf(t, b.Bytes())
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; good != 1 || len(broken) > 0 || took > 5*n {
		t.Errorf("%d rows, broken %q, %d MB allocated for %d", good, broken, took>>20, n>>20)
	}
}
