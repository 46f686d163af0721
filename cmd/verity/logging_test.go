package main

import (
	"bytes"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/mewkiz/flac"
	"github.com/mewkiz/flac/frame"
	"github.com/mewkiz/flac/meta"
)

// TestLibraryLogsHidden reads FLAC at 24 kHz. For every frame the decoder logs, to package log,
// that its own tests have no such file.
func TestLibraryLogsHidden(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.flac")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	const size = 4096
	enc, err := flac.NewEncoder(f, &meta.StreamInfo{
		BlockSizeMin: size, BlockSizeMax: size, SampleRate: 24000, NChannels: 1, BitsPerSample: 16, NSamples: 4 * size,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if err := enc.WriteFrame(&frame.Frame{
			Header: frame.Header{BlockSize: size, SampleRate: 24000, BitsPerSample: 16, HasFixedBlockSize: true},
			Subframes: []*frame.Subframe{{
				SubHeader: frame.SubHeader{Pred: frame.PredVerbatim}, Samples: make([]int32, size), NSamples: size,
			}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}

	var said bytes.Buffer
	log.SetOutput(&said)
	defer log.SetOutput(os.Stderr)
	if code, _, stderr := program(t, nil, "transcribe", "-m", modelDir(t), "--quiet", name); code != 0 || stderr != "" {
		t.Errorf("status %d, standard error %q", code, stderr)
	}
	if said.Len() > 0 {
		t.Errorf("a library wrote to standard error: %s", said.Bytes())
	}
}
