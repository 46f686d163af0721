package audio

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// readSound returns one of the files that tools/reference/sounds.sh writes.
func readSound(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata/sounds", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// soundFiles are the files in testdata/sounds, and how near they come to the sweep.
var soundFiles = []struct {
	name string
	snr  float64 // dB, at least
}{
	{"sweep16000.mp3", 25}, {"sweep22050.mp3", 25}, {"sweep44100.mp3", 25}, {"stereo.mp3", 25},
	{"celt.opus", 20}, {"silk.opus", 7}, {"opus.webm", 12},
}

// TestSounds compares each file with the rule it was made from: every sample at its
// place, none before the sound and none after it. Then once more after Rewind.
func TestSounds(t *testing.T) {
	want := make([]float32, 16000)
	for i := range want {
		s := float64(i) / SampleRate
		want[i] = float32(0.5 * math.Sin(2*math.Pi*(300*s+600*s*s)))
	}
	for _, tt := range soundFiles {
		t.Run(tt.name, func(t *testing.T) {
			c, err := openBytes(readSound(t, tt.name))
			if err != nil {
				t.Fatal(err)
			}
			got, err := readAll(t, c)
			if err != nil || len(got) != 16000 {
				t.Fatalf("%d samples, %v", len(got), err)
			}
			r := snr(got, want, 1)
			if t.Logf("SNR %.1f dB", r); !(r >= tt.snr) {
				t.Errorf("SNR %.1f dB, want %.1f", r, tt.snr)
			}
			if c.Truncated() || c.Warnings() != nil {
				t.Errorf("warnings %q", c.Warnings())
			}
			if err := c.Rewind(); err != nil {
				t.Fatal(err)
			}
			if again, err := readAll(t, c); err != nil || !slices.Equal(again, got) {
				t.Errorf("after Rewind: %d samples, %v", len(again), err)
			}
		})
	}
}

// TestMP3Tags puts tags before and after the frames, and noise between them.
func TestMP3Tags(t *testing.T) {
	file := readSound(t, "sweep16000.mp3")
	start := bytes.Index(file, []byte{0xff, 0xf3})
	tag := append([]byte("ID3\x04\x00\x00\x00\x00\x01\x02"), bytes.Repeat([]byte{0xff, 0xf3, 0x48, 0xc4}, 33)[:130]...)
	frames := file[start:]
	for why, b := range map[string][]byte{
		"no tag": frames, "ID3": slices.Concat(tag, frames), "two ID3": slices.Concat(tag, tag, frames),
		"ID3 whose size has eight bits": slices.Concat([]byte("ID3\x04\x00\x00\x00\x00\x00\xc8"), bytes.Repeat(tag[10:14], 50), frames),
		"ID3v1":                         slices.Concat(frames, []byte("TAG"), make([]byte, 125)),
		"APE":                           slices.Concat(frames, []byte("APETAGEX"), make([]byte, 200)),
		"Lyrics3":                       slices.Concat(frames, []byte("LYRICSBEGIN"), make([]byte, 900), []byte("LYRICSENDTAG"), make([]byte, 125)),
		"noise before":                  slices.Concat([]byte("noise before the frames"), frames),
	} {
		c, err := openBytes(b)
		if why == "noise before" { // not recognised by its first bytes
			if !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s: error = %v", why, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", why, err)
			continue
		}
		if got, err := readAll(t, c); len(got) != 16000 || err != nil || c.Warnings() != nil {
			t.Errorf("%s: %d samples, %v, %q", why, len(got), err, c.Warnings())
		}
	}
}

// TestMP3Refused names what the decoder does not read.
func TestMP3Refused(t *testing.T) {
	for head, want := range map[string]string{
		"\xff\xfd\x80\x00": "layer 2", "\xff\xff\x80\x00": "layer 1", "\xff\xe3\x48\xc4": "version 2.5", "\xff\xfb\x00\x00": "the free format",
	} {
		_, err := openBytes(append([]byte(head), make([]byte, 2000)...))
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("% x: error = %v, want ErrUnsupported with %q", head, err, want)
		}
	}
}
