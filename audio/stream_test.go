package audio

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
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

// TestStreamWaits: sound that comes as it is spoken can be read while the rest is still to come, and so
// can what stalls, or goes on as it is spoken, behind a burst. What never waits for so long is a file.
func TestStreamWaits(t *testing.T) {
	samples := make([]byte, 4*60*SampleRate)
	for i := range len(samples) / 2 {
		binary.LittleEndian.PutUint16(samples[2*i:], uint16(i))
	}
	header := []byte("RIFF\xff\xff\xff\xffWAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data\xff\xff\xff\xff")
	for why, tt := range map[string]struct {
		in                  Input
		burst, step, pauses time.Duration // what comes at once, then so much each pause, to the end
		within              time.Duration // it is known to arrive; 0: it is a file
	}{
		"as it is spoken":            {Input{}, time.Second, time.Second / 2, time.Second / 2, 2 * time.Second},
		"raw":                        {Input{Raw: SampleRate}, time.Second, time.Second / 2, time.Second / 2, 2 * time.Second},
		"a burst that stalls":        {Input{}, 50 * time.Second, time.Second, time.Hour, 6 * time.Second},
		"raw, it stalls at once":     {Input{Raw: SampleRate}, time.Second, time.Second, time.Hour, 2 * time.Second},
		"a radio":                    {Input{}, 30 * time.Second, time.Second / 4, time.Second / 4, 12 * time.Second},
		"a file, with a hiccup":      {Input{}, 20 * time.Second, 40 * time.Second, 4 * time.Second, 0},
		"a file, at thrice its pace": {Input{}, time.Second, time.Second, time.Second / 3, 0},
		"any, taken as it comes":     {Input{Live: true}, 0, time.Second, time.Second, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			go func() {
				if tt.in.Raw == 0 {
					time.Sleep(time.Minute) // not for sound
					w.Write(header)
				}
				at := int(tt.burst.Seconds() * 2 * SampleRate)
				w.Write(samples[:at])
				for step := int(tt.step.Seconds() * 2 * SampleRate); at < len(samples)/2; at += step {
					time.Sleep(tt.pauses)
					w.Write(samples[at:min(at+step, len(samples)/2)])
				}
				w.Close()
			}()
			began := time.Now()
			c, err := tt.in.OpenStream(t.Context(), why, r)
			if err != nil {
				t.Fatal(err)
			}
			waited := time.Since(began)
			if tt.in.Raw == 0 {
				waited -= time.Minute
			}
			if arriving := tt.within > 0; c.IsLive() != arriving || arriving && waited > tt.within {
				t.Errorf("%s: arriving %t after %v, want %t after at most %v", why, c.IsLive(), waited, arriving, tt.within)
			}
			came := time.Now()
			got := make([]float32, 60*SampleRate)
			if n, err := c.Read(got[:tt.burst.Milliseconds()*SampleRate/1000]); err != nil || c.IsLive() && time.Since(came) > 0 {
				t.Errorf("%s: the burst: %d samples, %v, after %v more", why, n, err, time.Since(came))
			}
			n, err := c.Read(got[tt.burst.Milliseconds()*SampleRate/1000:])
			if c.IsLive() && c.Rewind() == nil {
				t.Errorf("%s: can be read twice", why)
			}
			if m, end := c.Read(make([]float32, 1)); err != nil || m != 0 || end != io.EOF {
				t.Errorf("%s: the rest: %d samples, %v; %d after the end, %v", why, n, err, m, end)
			}
			for i, v := range got {
				if v != float32(int16(i))/32768 {
					t.Fatalf("%s: sample %d: got %v", why, i, v)
				}
			}
			c.Close()
		})
	}
}

// TestStreamAbandoned: a clip that is closed, or could not be opened, leaves no goroutine once its reader returns.
func TestStreamAbandoned(t *testing.T) {
	for _, head := range []string{"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", strings.Repeat("RIFF", 20)} {
		synctest.Test(t, func(t *testing.T) { // it waits for all of them
			r, w := io.Pipe()
			go func() {
				io.WriteString(w, head+strings.Repeat(" ", 1<<20))
				time.Sleep(time.Hour)
				io.WriteString(w, head)
				w.Close()
			}()
			for _, in := range []Input{{FFmpeg: FFmpegNever}, {Raw: SampleRate}} {
				c, err := in.OpenStream(t.Context(), "pipe", r)
				if (err == nil) != (in.Raw > 0) {
					t.Errorf("%q: %v", head, err)
				}
				if err == nil {
					c.Close()
				}
			}
			io.Copy(io.Discard, r)
		})
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
	if err != nil || len(pcm) == 0 || !c.Truncated() || c.IsLive() || c.Rewind() != nil {
		t.Errorf("%d samples, %v, cut %v, once %v", len(pcm), err, c.Truncated(), c.IsLive())
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
	if err != io.EOF || total != 32<<20 || cap(s.buf) > 4*streamHistory {
		t.Errorf("%d samples, %v, %d bytes kept", total, err, cap(s.buf))
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
