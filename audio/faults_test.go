package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/internal/testing/needs"
)

// unknownLength sets the number of samples in a FLAC file's header to 0.
func unknownLength(file []byte) []byte {
	b := bytes.Clone(file)
	b[21] &= 0xf0 // the lower 36 bits of bytes 18 to 25
	clear(b[22:26])
	return b
}

// TestFLACTails appends what programs put after the last frame.
func TestFLACTails(t *testing.T) {
	whole := readFLAC(t, "16")
	for why, tail := range map[string][]byte{
		"ID3v1 tag": append([]byte("TAG"), make([]byte, 125)...), "APE tag": []byte("APETAGEX\xd0\x07\x00\x00\x20"),
		"zeros": make([]byte, 1000), "one zero": {0}, "ID3v2 tag": []byte("ID3\x04\x00\x00\x00\x00\x00\x01x"),
		"lyrics": []byte("LYRICSBEGININD0000200000021LYRICS200"), "noise": []byte("anything else"),
	} {
		for name, file := range map[string][]byte{"": whole, ", length unknown": unknownLength(whole)} {
			c, err := openBytes(append(bytes.Clone(file), tail...))
			if err != nil {
				t.Fatal(err)
			}
			got, err := readAll(t, c)
			cut := why == "noise" && name != "" // it could be a damaged frame
			if len(got) != 5000 || err != nil || c.Truncated() != cut || len(c.Warnings()) > 0 != cut {
				t.Errorf("%s%s: %d samples, %v, truncated %t, warnings %q; want 5000", why, name, len(got), err, c.Truncated(), c.Warnings())
			}
		}
	}
}

// TestTruncatedWAV wants what is there, and a warning unless the header says
// nothing.
func TestTruncatedWAV(t *testing.T) {
	format := chunk("fmt ", fmtBody(1, 1, SampleRate, 16))
	sound := make([]byte, 2*SampleRate)
	for _, tt := range []struct {
		claim   uint32
		warning string
	}{
		{4 * 2 * SampleRate, "the file ends after 1.00 s of 4.00 s: copy it again"},
		{2 * SampleRate, ""}, {0xffffffff, ""}, {0x7ffff000, ""}, {0x80000000, ""},
	} {
		c, err := openBytes(riff(format, chunkOf("data", tt.claim, sound)))
		if err != nil {
			t.Fatal(err)
		}
		if c.Truncated() || c.Warnings() != nil {
			t.Errorf("claim %#x: truncated before the end was read", tt.claim)
		}
		got, err := readAll(t, c)
		if len(got) != SampleRate || err != nil {
			t.Errorf("claim %#x: %d samples, %v", tt.claim, len(got), err)
		}
		var want []string
		if tt.warning != "" {
			want = []string{tt.warning}
		}
		if w := c.Warnings(); !slices.Equal(w, want) || c.Truncated() != (want != nil) {
			t.Errorf("claim %#x: warnings %q, truncated %t; want %q", tt.claim, w, c.Truncated(), want)
		}
	}
}

// swap reverses every size bytes of b.
func swap(b []byte, size int) {
	for ; len(b) >= size; b = b[size:] {
		slices.Reverse(b[:size])
	}
}

// bigEndian turns a WAV file of one fmt and one data chunk into RIFX.
func bigEndian(file []byte, container int) []byte {
	b := bytes.Clone(file)
	copy(b, "RIFX")
	swap(b[4:8], 4)
	swap(b[16:20], 4)
	swap(b[20:24], 2)
	swap(b[24:32], 4)
	swap(b[32:36], 2)
	rest := b[36:]
	if binary.LittleEndian.Uint16(file[20:]) == tagExtensible {
		swap(b[36:40], 2)
		swap(b[40:48], 4)
		swap(b[48:52], 2)
		rest = b[60:]
	}
	swap(rest[4:8], 4)
	swap(rest[8:], container)
	return b
}

// TestRIFX wants the samples of the little-endian file.
func TestRIFX(t *testing.T) {
	sound := make([]byte, 2400)
	for i := range sound {
		sound[i] = byte(noise(uint64(i)))
	}
	for _, bits := range []int{8, 16, 24, 32} {
		for name, body := range map[string][]byte{"": fmtBody(1, 1, SampleRate, bits), " extensible": extensible(1, 1, SampleRate, bits, bits)} {
			file := riff(chunk("fmt ", body), chunk("data", sound))
			var pcm [2][]float32
			for i, b := range [][]byte{file, bigEndian(file, bits/8)} {
				c, err := openBytes(b)
				if err == nil {
					pcm[i], err = readAll(t, c)
				}
				if err != nil {
					t.Fatalf("%d bits%s: %v", bits, name, err)
				}
			}
			if len(pcm[0]) != 2400/(bits/8) || !slices.Equal(pcm[0], pcm[1]) {
				t.Errorf("%d bits%s: %d samples differ from %d", bits, name, len(pcm[1]), len(pcm[0]))
			}
		}
	}
}

// floats returns a WAV file of one second of silence but for sample 100.
func floats(rate int, v float32) []byte {
	body := make([]byte, 4*rate)
	binary.LittleEndian.PutUint32(body[400:], math.Float32bits(v))
	return riff(chunk("fmt ", fmtBody(tagFloat, 1, rate, 32)), chunk("data", body))
}

// TestHugeSamples wants the same answer at every rate. A sample that is too large is damage.
func TestHugeSamples(t *testing.T) {
	for _, rate := range []int{SampleRate, 44100} {
		c, err := openBytes(floats(rate, 3e38))
		if err != nil {
			t.Fatal(err)
		}
		pcm, err := readAll(t, c)
		if err != nil || slices.ContainsFunc(pcm, func(v float32) bool { return v != 0 }) || len(c.Damaged()) != 1 ||
			!strings.Contains(strings.Join(c.Warnings(), ""), "sample 100") {
			t.Errorf("%d Hz: %v, %q", rate, err, c.Warnings())
		}
		if c, err = openBytes(floats(rate, 30000)); err != nil {
			t.Fatal(err)
		}
		if _, err = readAll(t, c); err != nil || len(c.Warnings()) != 1 || !strings.Contains(c.Warnings()[0], "3e+04") {
			t.Errorf("%d Hz: %v, warnings %q, want one on the level", rate, err, c.Warnings())
		}
	}
}

// TestNamedOnce wants the name of the file in every error, once.
func TestNamedOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.wav")
	if err := os.WriteFile(name, noiseWAV(), 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	c.whole.now.file.r.(interruptible).ReaderAt.(*os.File).Close() // what reads then, fails with an error that holds the name already
	_, err = c.Read(make([]float32, 10))
	if err == nil || strings.Count(err.Error(), name+":") != 1 {
		t.Errorf("error = %v, want the name once", err)
	}
	if twice := named(name, named(name, err)); twice.Error() != err.Error() {
		t.Errorf("named again: %v", twice)
	}
}

// TestRefusesBehindTag must not wait for the rest of a file it cannot read.
func TestRefusesBehindTag(t *testing.T) {
	tag := append([]byte("ID3\x04\x00\x00\x00\x00\x01\x02"), make([]byte, 130)...)
	stuck := errors.New("read on")
	r := io.MultiReader(bytes.NewReader(tag), strings.NewReader("ADIF"+strings.Repeat("x", 100)), errReader{stuck})
	if _, err := (Input{FFmpeg: FFmpegNever}).OpenReader(t.Context(), "-", r); !errors.Is(err, ErrUnsupported) {
		t.Errorf("error = %v, want ErrUnsupported", err)
	}
}

type errReader struct{ err error }

func (e errReader) Read([]byte) (int, error) { return 0, e.err }

// TestShrinks cuts a file short while it is read, in each format.
func TestShrinks(t *testing.T) {
	for ext, file := range map[string][]byte{"wav": noiseWAV(), "flac": bytes.Clone(readFLAC(t, "16"))} {
		name := filepath.Join(t.TempDir(), "x."+ext)
		if err := os.WriteFile(name, file, 0o666); err != nil {
			t.Fatal(err)
		}
		c, err := Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, 100); err != nil {
			t.Fatal(err)
		}
		if err = c.Rewind(); err == nil { // or it may all be in a buffer
			_, err = readAll(t, c)
		}
		if err == nil || strings.Count(err.Error(), name+":") != 1 {
			t.Errorf("%s: error = %v, want one that names the file once", ext, err)
		}
		c.Close()
	}
}

// TestChannel picks one channel of three.
func TestChannel(t *testing.T) {
	var body []byte
	for i := range 300 {
		body = binary.LittleEndian.AppendUint16(body, uint16(i%3*1000))
	}
	file := riff(chunk("fmt ", fmtBody(1, 3, SampleRate, 16)), chunk("data", body))
	for pick, want := range []float32{1000, 0, 1000, 2000} {
		c, err := Input{Channel: pick}.open("x.wav", bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(t, c)
		if len(got) != 100 || err != nil || got[7] != want/(1<<15) {
			t.Errorf("channel %d: %d samples of %v, %v; want %v", pick, len(got), got[7], err, want)
		}
	}
	name := filepath.Join(t.TempDir(), "x.wav")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Input{Channel: 4}.Open(t.Context(), name)
	if want := name + ": channel 4: the file has only 3 channels; 0 is the mean of all"; fmt.Sprint(err) != want {
		t.Errorf("error = %v, want %q", err, want)
	}
}

// TestPartsKnowNothing: parts that end long before the file are not taken for a file cut
// off, at the clip's own rate and at others.
func TestPartsKnowNothing(t *testing.T) {
	for _, rate := range []int{SampleRate, 8000} {
		c, err := openBytes(floats(rate, 0.5))
		if err != nil {
			t.Fatal(err)
		}
		p := c.Parts([]Part{{0, 1000}, {2000, 3000}})
		got, err := readAll(t, p)
		if len(got) != 2000 || err != nil || p.Warnings() != nil || p.Truncated() {
			t.Errorf("%d Hz: %d samples, %v, warnings %q", rate, len(got), err, p.Warnings())
		}
	}
}

// TestSharedFaults reads the two sound files of the collection of faults.
func TestSharedFaults(t *testing.T) {
	c, err := Open(t.Context(), needs.SharedFile(t, "faults/id3v1.flac"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if pcm, err := readAll(t, c); len(pcm) != 33360 || err != nil {
		t.Errorf("id3v1.flac: %d samples, %v; want 33360", len(pcm), err)
	}
	w, err := Open(t.Context(), needs.SharedFile(t, "faults/trunc.wav"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := readAll(t, w); err != nil || !w.Truncated() || !strings.Contains(w.Warnings()[0], "the file ends after 3.12 s of 9.98 s") {
		t.Errorf("trunc.wav: %v, truncated %t, %q", err, w.Truncated(), w.Warnings())
	}
}
