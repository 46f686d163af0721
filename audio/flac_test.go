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

func TestFLACBehindID3(t *testing.T) {
	tag := append([]byte("ID3\x04\x00\x00\x00\x00\x01\x02"), make([]byte, 130)...)
	c, err := openBytes(append(tag, readFLAC(t, "16")...))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readAll(t, c); len(got) != 5000 || err != nil {
		t.Errorf("%d samples, %v; want 5000", len(got), err)
	}
}

func TestFLACErrors(t *testing.T) {
	whole := readFLAC(t, "16")
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x10
	second := bytes.LastIndex(whole, []byte{0xff, 0xf8}) // where the last frame begins
	noInfo := bytes.Clone(whole)
	noInfo[4] = 6 // a picture
	for _, tt := range []struct {
		why  string
		file []byte
		want string
	}{
		{"cut off", whole[:len(whole)-100], "FLAC frame at sample"},
		{"cut off between frames", whole[:second], "sample 4096 (0.256 s): got the end of the file, want 5000 samples"},
		{"cut off in the header", whole[:20], "FLAC header"},
		{"one bit changed", flipped, "FLAC frame at sample"},
		{"a picture first", noInfo, "want a STREAMINFO block"},
	} {
		c, err := openBytes(tt.file)
		if err == nil {
			_, err = readAll(t, c)
		}
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want ErrMalformed with %q", tt.why, err, tt.want)
		}
	}
}
