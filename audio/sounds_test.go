package audio

import (
	"bytes"
	"encoding/binary"
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
	name    string
	snr     float64 // dB, at least
	samples int     // 16000 but where the container does not say where the sound ends
	late    int     // samples of silence before the sound, by the container's clock and ffprobe's
}{
	{"sweep16000.mp3", 25, 16000, 0}, {"sweep22050.mp3", 25, 16000, 0}, {"sweep44100.mp3", 25, 16000, 0}, {"stereo.mp3", 25, 16000, 0},
	{"sweep.ogg", 20, 16000, 0}, {"stereo.ogg", 20, 16000, 0}, {"vorbis.mka", 20, 256 + 16128, 256},
	{"celt.opus", 20, 16000, 0}, {"silk.opus", 7, 16000, 0}, {"opus.webm", 12, 16000, 0},
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
			if err != nil || len(got) != tt.samples {
				t.Fatalf("%d samples, %v; want %d", len(got), err, tt.samples)
			}
			r := snr(got[tt.late:][:16000], want, 1)
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

// TestSoundsCutOff wants what is there, a warning, and no error.
func TestSoundsCutOff(t *testing.T) {
	for _, tt := range soundFiles {
		file := readSound(t, tt.name)
		c, err := openBytes(file[:len(file)*7/8])
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got, err := readAll(t, c)
		oneBlock := strings.HasSuffix(tt.name, "ogg") || strings.HasSuffix(tt.name, "opus") // a page holds all of it
		if err != nil || !c.Truncated() || len(c.Warnings()) != 1 || !oneBlock && (len(got) < 5000 || len(got) > 15000) {
			t.Errorf("%s: %d samples, %v, warnings %q", tt.name, len(got), err, c.Warnings())
		}
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
		"ID3v1":        slices.Concat(frames, []byte("TAG"), make([]byte, 125)),
		"APE":          slices.Concat(frames, []byte("APETAGEX"), make([]byte, 200)),
		"noise before": slices.Concat([]byte("noise before the frames"), frames),
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

// reseal sets the checksum of the Ogg page at an offset.
func reseal(b []byte, at int) {
	clear(b[at+22 : at+26])
	n := 27 + int(b[at+26])
	size := 0
	for _, s := range b[at+27 : at+n] {
		size += int(s)
	}
	binary.LittleEndian.PutUint32(b[at+22:], oggSum(b[at:at+n+size]))
}

// TestOggDamage wants a changed bit found by the checksum; with Strict it is an error.
func TestOggDamage(t *testing.T) {
	file := readSound(t, "sweep.ogg")
	last := bytes.LastIndex(file, []byte("OggS"))
	file[len(file)-40] ^= 4
	c, err := openBytes(file)
	if err == nil {
		_, err = readAll(t, c)
	}
	if err != nil || !c.Truncated() {
		t.Errorf("error = %v, warnings %q, want it cut off before the last page", err, c.Warnings())
	}
	c, err = Input{Strict: true}.open("x.ogg", bytes.NewReader(file), int64(len(file)))
	if err == nil {
		_, err = readAll(t, c)
	}
	if !errors.Is(err, ErrMalformed) {
		t.Errorf("error = %v, want ErrMalformed (the last page is at %d)", err, last)
	}
}

// TestVorbisTraps builds codebooks that would hang the library or take gigabytes.
func TestVorbisTraps(t *testing.T) {
	file := readSound(t, "sweep.ogg")
	setup := bytes.Index(file, []byte("\x05vorbis"))
	page := bytes.LastIndex(file[:setup], []byte("OggS"))
	for why, change := range map[string]func(b []byte){
		"a tree without codes":   func(b []byte) { clear(b[16:200]) },
		"no entries":             func(b []byte) { clear(b[13:16]) },
		"2^24 entries":           func(b []byte) { copy(b[13:16], "\xff\xff\xff") },
		"entries of 2^16 values": func(b []byte) { copy(b[11:13], "\xff\xff") },
	} {
		b := bytes.Clone(file)
		change(b[setup:])
		reseal(b, page)
		_, err := openBytes(b)
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "codebook 0") {
			t.Errorf("%s: error = %v, want ErrMalformed that names the codebook", why, err)
		}
	}
}

// TestVorbisRoot wants a codebook left to ffmpeg whose number of entries is a power whose root the library takes for the
// next lower number: 64 is 4 cubed. Encoders before version 1.0 wrote such books.
func TestVorbisRoot(t *testing.T) {
	setup, at := append([]byte("\x05vorbis"), make([]byte, 40)...), 7*8
	for _, field := range []struct{ value, bits int }{{0, 8}, {0x564342, 24}, {3, 16}, {64, 24}, {1, 1}, {6 - 1, 5}, {64, 7}, {1, 4}} {
		for i := range field.bits {
			setup[at>>3] |= byte(field.value >> i & 1 << (at & 7))
			at++
		}
	}
	if err := checkSetup(setup); !errors.Is(err, ErrUnsupported) {
		t.Errorf("error = %v, want ErrUnsupported", err)
	}
}

// TestRIFF wants other forms than WAVE left to ffmpeg, which reads some.
func TestRIFF(t *testing.T) {
	if _, err := openBytes([]byte("RIFF\x04\x00\x00\x00XWMA")); !errors.Is(err, ErrUnsupported) {
		t.Errorf("error = %v, want ErrUnsupported", err)
	}
}

// TestDiscardPadding: what a Matroska file says to drop of a packet's end is at most the packet;
// a number of which the samples overflow made it fail.
func TestDiscardPadding(t *testing.T) {
	file := readSound(t, "opus.webm")
	at := bytes.Index(file, []byte("\x75\xa2\x84"))
	for _, discard := range []string{"\x00\x00\xae\xc3\x3e\x1f\x67\x16", "\x7f\xff\xff\xff\xff\xff\xff\xff", "\x80\x00\x00\x00\x00\x00\x00\x00"} {
		c, err := openBytes(slices.Concat(file[:at], []byte("\x75\xa2\x88"+discard), file[at+7:]))
		if err != nil {
			t.Fatal(err)
		}
		if pcm, err := readAll(t, c); err != nil || len(pcm) < 15000 {
			t.Errorf("%x: %d samples, %v", discard, len(pcm), err)
		}
	}
}

// TestLacing cuts blocks of several packets.
func TestLacing(t *testing.T) {
	for _, tt := range []struct {
		lacing byte
		n      int
		b      string
		sizes  []int
	}{
		{1, 3, "\xff\x01\x02" + strings.Repeat("x", 260), []int{256, 2, 2}},
		{2, 3, "aabbcc", []int{2, 2, 2}},
		{3, 3, "\x82\xc0" + "aabbbccc", []int{2, 3, 3}}, // 2, +1, rest
		{3, 2, "\x85aa", nil}, {1, 2, "\xff", nil}, {2, 2, "abc", nil},
	} {
		packets, ok := unlace(tt.lacing, tt.n, []byte(tt.b))
		var sizes []int
		for _, p := range packets {
			sizes = append(sizes, len(p))
		}
		if ok != (tt.sizes != nil) || ok && !slices.Equal(sizes, tt.sizes) {
			t.Errorf("lacing %d: %v, %t; want %v", tt.lacing, sizes, ok, tt.sizes)
		}
	}
}
