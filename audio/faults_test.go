package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
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
		"noise": []byte("anything else"),
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
	if want := name + ": channel 4: the file has only 3 channels; leave the number out for the mean of all"; fmt.Sprint(err) != want {
		t.Errorf("error = %v, want %q", err, want)
	}
}
