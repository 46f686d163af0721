package audio

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"
	"time"
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
				s, err := in.open(name, &stream{r: r}, unknownSize)
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

// TestStreamWaits: what has come can be read while the rest is still to come.
func TestStreamWaits(t *testing.T) {
	samples := make([]byte, 2*SampleRate)
	for i := range SampleRate {
		binary.LittleEndian.PutUint16(samples[2*i:], uint16(i))
	}
	header := []byte("RIFF\xff\xff\xff\xffWAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data\xff\xff\xff\xff")
	for name, in := range map[string]Input{"wav": {}, "raw": {Raw: SampleRate}} {
		r, w := io.Pipe()
		go func() {
			if name == "wav" {
				w.Write(header)
			}
			w.Write(samples[:SampleRate])
			time.Sleep(500 * time.Millisecond)
			w.Write(samples[SampleRate:])
		}()
		c, err := in.OpenStream(t.Context(), name, r)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, SampleRate)
		if n, err := c.Read(got); n != len(got) || err != nil || got[5] != 5./32768 {
			t.Errorf("%s: %d samples, %v, %v", name, n, got[5], err)
		}
		if !c.Once() || c.Rewind() == nil {
			t.Errorf("%s: can be read twice", name)
		}
		w.Close()
		if n, err := c.Read(got); n != 0 || err != io.EOF {
			t.Errorf("%s: %d samples behind the end, %v", name, n, err)
		}
	}
}

// TestStreamFast: what comes at once is a file, damage and all.
func TestStreamFast(t *testing.T) {
	b := readSound(t, "stereo.mp3")
	c, err := Input{}.OpenStream(t.Context(), "pipe", bytes.NewReader(b[:len(b)*7/8]))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pcm, err := readAll(t, c)
	if err != nil || len(pcm) == 0 || !c.Truncated() || c.Once() || c.Rewind() != nil {
		t.Errorf("%d samples, %v, cut %v, once %v", len(pcm), err, c.Truncated(), c.Once())
	}
}

// TestStreamForgets: an endless stream takes little memory.
func TestStreamForgets(t *testing.T) {
	s := &stream{r: io.LimitReader(zeros{}, 64<<20)}
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
	if err != io.EOF || total != 32<<20 || cap(s.buf) > 4*keptBytes {
		t.Errorf("%d samples, %v, %d bytes kept", total, err, cap(s.buf))
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
