package datasets

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// parquetOf returns a Parquet file of some rows, compressed as asked.
func parquetOf(t testing.TB, codec compress.Codec, v2 bool) []byte {
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
			if good, broken := rowsOf(t, parquetOf(t, codec, v2)); good != 40 || len(broken) != 0 {
				t.Errorf("%s, version 2 %v: %d rows, %v", name, v2, good, broken)
			}
		}
	}
	if good, broken := rowsOf(t, parquetOf(t, &parquet.Lz4Raw, false)); good != 0 || len(broken) != 1 || !strings.Contains(broken[0], "compressed with LZ4_RAW: want none") {
		t.Errorf("lz4: %d rows, %v", good, broken)
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

// TestManyRows: a small file that claims many rows is refused.
func TestManyRows(t *testing.T) {
	type row struct {
		Audio string `parquet:"audio,dict"`
		Text  string `parquet:"text,dict"`
	}
	raw := tableOf(t, slices.Repeat([]row{{"a.wav", "x"}}, 100_000))
	if good, broken := rowsOf(t, raw); good != 0 || len(broken) != 1 || !strings.Contains(broken[0], "row group 0: 100000 rows in a file of") {
		t.Errorf("%d rows, broken %.300q", good, broken)
	}
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
