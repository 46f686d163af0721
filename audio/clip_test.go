package audio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// noiseWAV is a second of noise as a 16-bit file at 44.1 kHz.
func noiseWAV() []byte {
	pcm := make([]byte, 0, 2*44100)
	for i := range uint64(44100) {
		v := noise(i) >> 8
		pcm = append(pcm, byte(v), byte(v>>8))
	}
	return riff(chunk("fmt ", fmtBody(1, 1, 44100, 16)), chunk("data", pcm))
}

// TestOpenReader reads from a pipe that gives a byte at a time.
func TestOpenReader(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	file := noiseWAV()
	direct, err := openBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := readAll(t, direct)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Input{}.OpenReader(t.Context(), "standard input", iotest.OneByteReader(strings.NewReader(string(file))))
	if err != nil {
		t.Fatal(err)
	}
	if c.Name() != "standard input" {
		t.Errorf("Name = %q", c.Name())
	}
	for range 2 {
		if got, err := readAll(t, c); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d samples, %v; want the %d of the file", len(got), err, len(want))
		}
		if err := c.Rewind(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // closing twice is harmless
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 && runtime.GOOS != "windows" {
		t.Errorf("Close left %v", left)
	}
	if _, err := c.Read(make([]float32, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Read after Close: error %v, want os.ErrClosed", err)
	}
}

// TestOpenReaderRefusesEarly must not wait for the rest of a file it cannot read.
func TestOpenReaderRefusesEarly(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	never := Input{FFmpeg: FFmpegNever}
	stuck := io.MultiReader(strings.NewReader("OggS"+strings.Repeat("x", 100)), iotest.ErrReader(errors.New("read on")))
	if _, err := never.OpenReader(t.Context(), "-", stuck); !errors.Is(err, ErrUnsupported) {
		t.Errorf("error = %v, want ErrUnsupported", err)
	}
	broken := io.MultiReader(strings.NewReader(string(noiseWAV()[:500])), iotest.ErrReader(errors.New("wire cut")))
	if _, err := (Input{}).OpenReader(t.Context(), "-", broken); err == nil || !strings.Contains(err.Error(), "wire cut") {
		t.Errorf("error = %v, want the reader's", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("temporary files left: %v", left)
	}
}

// TestFileShrinks cuts a file short between the two passes.
func TestFileShrinks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.wav")
	file := riff(chunk("fmt ", fmtBody(1, 1, SampleRate, 16)), chunk("data", make([]byte, 2*SampleRate)))
	if err := os.WriteFile(name, file, 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := NewSpectrogram(t.Context(), c, Options{Window: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 20000); err != nil {
		t.Fatal(err)
	}
	s.head, s.in.buf, s.in.base = strip{bins: 80}, nil, s.in.n // as if the clip were longer than what is kept
	if _, err := s.Window(t.Context(), 90); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("error = %v, want one that names the file", err)
	}
}

// TestLongest: sound that is longer than allowed is read so far and no further.
func TestLongest(t *testing.T) {
	raw := noiseWAV() // one second
	for longest, fits := range map[time.Duration]bool{0: true, time.Second: true, 999 * time.Millisecond: false, 100 * time.Millisecond: false} {
		c, err := Input{MaxDuration: longest}.OpenReader(t.Context(), "x.wav", bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // again, from the beginning
			n, err := c.Read(make([]float32, 10*SampleRate))
			if fits && err != io.EOF || !fits && !errors.Is(err, ErrTooLong) || !fits && n > int(longest.Seconds()*SampleRate)+1<<16 {
				t.Errorf("at most %v: %d samples, %v", longest, n, err)
			}
			if err := c.Rewind(); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
	}
	c := FromSamples("x", make([]float32, 1))
	c.in.MaxDuration, c.limit, c.read = 200*time.Hour, 200*3600*SampleRate, 200*3600*SampleRate
	if _, err := c.Read(make([]float32, 1)); err == nil || !strings.Contains(err.Error(), "200h0m0s") {
		t.Errorf("error = %v, want one with the limit", err)
	}
}

// TestOpenInterrupted: reading a huge file stops when the context ends.
func TestOpenInterrupted(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "x.wav"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Write(riff(chunk("fmt ", fmtBody(1, 1, 16000, 16)), chunk("data", make([]byte, 3200))))
	if err := f.Truncate(1 << 38); err != nil {
		t.Skip("needs sparse files: ", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c, err := Input{}.Open(ctx, f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := readAll(t, c); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want the context's", err)
	}
}
