package audio

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

func readFLAC(t testing.TB, bits string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/golden/stereo" + bits + ".flac")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFLAC compares with the rules the files were made from, cut to their depth.
func TestFLAC(t *testing.T) {
	for bits, shift := range map[string]int{"16": 8, "24": 0} {
		c, err := openBytes(readFLAC(t, bits))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(t, c)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float32, 5000)
		for i := range want {
			left, right := chirp(uint64(i))>>shift, bursts(uint64(i))>>shift
			want[i] = float32(float64(left+right) / 2 / float64(int(1)<<(23-shift)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s bits: %d samples differ from the %d of the rule", bits, len(got), len(want))
		}
		if err := c.Rewind(); err != nil {
			t.Fatal(err)
		}
		if again, err := readAll(t, c); err != nil || !slices.Equal(again, got) {
			t.Errorf("%s bits: after Rewind %d samples, %v", bits, len(again), err)
		}
	}
}

// TestFLACDamage wants a frame that is damaged silent, sound that is cut off named, and
// both an error with Strict.
func TestFLACDamage(t *testing.T) {
	whole := readFLAC(t, "16")
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x10
	second := bytes.LastIndex(whole, []byte{0xff, 0xf8}) // where the last frame begins
	for _, tt := range []struct {
		why     string
		file    []byte
		samples int
		warning string
		strict  string
	}{
		{"cut off", whole[:len(whole)-100], 4096, "the file ends after 0.26 s of 0.31 s", "the file ends after 0.26 s"},
		{"cut off between frames", whole[:second], 4096, "the file ends after 0.26 s of 0.31 s", "the file ends after 0.26 s"},
		{"one bit changed", flipped, 5000, "damaged in one place: 0.00 to 0.26 s; silence stands there (first: FLAC frame at byte 86",
			"FLAC frame at byte 86: got CRC-16 checksum mismatch"},
	} {
		for _, file := range [][]byte{tt.file, unknownLength(tt.file)} {
			c, err := openBytes(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := readAll(t, c)
			if err != nil || len(got) != tt.samples || !strings.Contains(strings.Join(c.Warnings(), "; "), tt.warning) {
				t.Errorf("%s: %d samples, %v, warnings %q; want %d and %q", tt.why, len(got), err, c.Warnings(), tt.samples, tt.warning)
			}
			c, err = Input{Strict: true}.open("x.flac", bytes.NewReader(file), int64(len(file)))
			if err == nil {
				_, err = readAll(t, c)
			}
			if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), tt.strict) {
				t.Errorf("%s: error = %v, want ErrMalformed with %q", tt.why, err, tt.strict)
			}
			if tt.why == "cut off between frames" {
				break // with an unknown length this is a whole file
			}
			tt.warning = strings.Replace(tt.warning, "the file ends after 0.26 s of 0.31 s", "ends after 0.26 s, amid", 1)
		}
	}
}

// A countedReader fails once more than left bytes have been read.
type countedReader struct {
	*bytes.Reader
	left int
}

func (r *countedReader) ReadAt(b []byte, at int64) (int, error) {
	if r.left -= len(b); r.left < 0 {
		return 0, errors.New("too many bytes read")
	}
	return r.Reader.ReadAt(b, at)
}

// TestFLACSearch: a file is read a few times in all, however many places in it look like the
// beginning of a frame.
func TestFLACSearch(t *testing.T) {
	whole := readFLAC(t, "16")
	for _, what := range []string{"\xff\xf8", "\xff\xf8\xc9\x18"} {
		many := bytes.Repeat([]byte(what), 4<<20/len(what))
		for _, tt := range []struct {
			begin   []byte
			samples int
			want    string
		}{
			{whole[:86], 0, "FLAC frame at byte 86"},
			{whole, 5000, ""},
			{whole[:bytes.LastIndex(whole, []byte{0xff, 0xf8})], 4096, "of 0.31 s: copy it again"},
		} {
			file := slices.Concat(tt.begin, many)
			r := &countedReader{bytes.NewReader(file), 4 * len(file)}
			c, err := Input{}.open("x.flac", r, int64(len(file)))
			var got []float32
			var text string
			if err == nil {
				got, err = readAll(t, c)
				text = strings.Join(c.Warnings(), "; ")
			}
			if err != nil {
				text = err.Error()
			}
			if len(got) != tt.samples || (err != nil) != (tt.samples == 0) || !strings.Contains(text, tt.want) || r.left < 0 {
				t.Errorf("% x after %d bytes: %d samples, %q, %d bytes left to read", what, len(tt.begin), len(got), text, r.left)
			}
		}
	}
}
