package audio

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"verity/internal/testing/needs"
)

// readAll reads a clip to its end in uneven pieces.
func readAll(t testing.TB, c *Clip) ([]float32, error) {
	t.Helper()
	var pcm []float32
	buf := make([]float32, 1009)
	for {
		n, err := c.Read(buf)
		pcm = append(pcm, buf[:n]...)
		if err == io.EOF {
			return pcm, nil
		}
		if err != nil {
			return pcm, err
		}
	}
}

// TestBadWAV opens every file of the collection: samples or one clear error.
// What is odd but valid must give as many samples as ffmpeg found.
func TestBadWAV(t *testing.T) {
	f, err := os.Open(needs.SharedFile(t, "badwav/manifest.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var item badItem
		if err := json.Unmarshal(lines.Bytes(), &item); err != nil {
			t.Fatal(err)
		}
		t.Run(item.File, item.test)
	}
}

// A badItem is a line of the manifest.
type badItem struct {
	File, Expect string
	FFmpeg       struct {
		Bytes int64 `json:"bytes_out"` // as 16-bit samples
	}
}

// badRefused are valid files we refuse, with part of the reason.
var badRefused = map[string]string{
	// 24 bits in the lower three of four bytes; WAVEFORMATEX has no such thing.
	"hound/pcmwaveformat-24bit-4byte-48kHz-stereo.wav": "block size",
}

func (item badItem) test(t *testing.T) {
	name := needs.SharedFile(t, "badwav/"+item.File)
	c, err := Input{FFmpeg: FFmpegNever}.Open(t.Context(), name)
	var pcm []float32
	if err == nil {
		defer c.Close()
		pcm, err = readAll(t, c)
	}
	t.Logf("%s: %d samples, %v", item.Expect, len(pcm), err)
	if reason, ok := badRefused[item.File]; ok {
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("error = %v, want one with %q", err, reason)
		}
		return
	}
	if err != nil {
		var fe *FormatError
		if !errors.As(err, &fe) || fe.File != name {
			t.Errorf("error is no FormatError of this file: %v", err)
		}
		if item.Expect == "valid-odd" {
			t.Errorf("a valid file is refused: %v", err)
		}
		return
	}
	f := c.pcm(t).layout
	got := f.frames * int64(f.channels) * 2
	if item.Expect == "valid-odd" && got != item.FFmpeg.Bytes {
		t.Errorf("%d samples in the file, ffmpeg has %d", got/2, item.FFmpeg.Bytes/2)
	}
}

// pcm returns the uncompressed source of a clip.
func (c *Clip) pcm(t *testing.T) *pcmReader {
	t.Helper()
	p := pcmOf(c)
	if p == nil {
		t.Fatalf("clip of a %T, want uncompressed samples", c.whole.now.mix.src.in)
	}
	return p
}

// pcmOf returns the uncompressed source of a clip, or nil.
func pcmOf(c *Clip) *pcmReader {
	switch p := c.whole.now.mix.src.in.(type) {
	case *pcmReader:
		return p
	case *wavReader:
		return p.pcmReader
	}
	return nil
}
