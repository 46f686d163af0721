package audio

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"
)

// TestStream: sound that arrives in any pieces is the sound of the file, with its warnings:
// whole, cut, and followed by another file.
func TestStream(t *testing.T) {
	var names []string
	for _, pattern := range []string{"testdata/sounds/*", "testdata/golden/*.flac", "testdata/damage/tiny*"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		names = append(names, found...)
	}
	in := Input{FFmpeg: FFmpegNever}
	for _, name := range names {
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range [][]byte{whole, whole[:len(whole)*7/8], slices.Concat(whole, whole)} {
			c, err := openBytes(b)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want, wantErr := readAll(t, c)
			for _, r := range []io.Reader{bytes.NewReader(b), iotest.OneByteReader(bytes.NewReader(b)), iotest.DataErrReader(bytes.NewReader(b))} {
				s, err := in.open(name, &pipe{r: r}, unknownSize)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got, gotErr := readAll(t, s)
				if !slices.Equal(got, want) || (gotErr == nil) != (wantErr == nil) || !slices.Equal(s.Warnings(), c.Warnings()) {
					t.Errorf("%s of %d bytes: %d samples, %v, %q\nwant %d, %v, %q", name, len(b), len(got), gotErr, s.Warnings(), len(want), wantErr, c.Warnings())
				}
			}
		}
	}
}

// TestStreamForgets: an endless stream takes little memory.
func TestStreamForgets(t *testing.T) {
	s := &pipe{r: io.LimitReader(zeros{}, 64<<20)}
	c, err := Input{Raw: SampleRate}.open("zeros", s, unknownSize)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for b := make([]float32, SampleRate); err == nil; {
		var n int
		n, err = c.Read(b)
		total += n
	}
	if err != io.EOF || total != 32<<20 || cap(s.buf) > 4*pipeHistory {
		t.Errorf("%d samples, %v, %d bytes kept", total, err, cap(s.buf))
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
