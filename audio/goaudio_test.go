package audio

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-audio/audio"
	"github.com/go-audio/wav"

	"verity/internal/testing/needs"
)

// encodeWAV returns a file that go-audio/wav writes.
func encodeWAV(t testing.TB, rate, bits, channels int, samples []int) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "x.wav"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e := wav.NewEncoder(f, rate, bits, channels, tagPCM)
	format := &audio.Format{NumChannels: channels, SampleRate: rate}
	if err := e.Write(&audio.IntBuffer{Format: format, Data: samples, SourceBitDepth: bits}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// generatedWAV returns files of every width with one to three channels, by go-audio/wav and with
// odd sizes and chunks between.
func generatedWAV(t *testing.T) map[string][]byte {
	files := map[string][]byte{}
	for _, bits := range []int{8, 16, 24, 32} {
		for _, channels := range []int{1, 2, 3} {
			for _, n := range []int{0, 1, 7, 8192, 20001} {
				samples, raw := make([]int, n*channels), make([]byte, n*channels*bits/8)
				for i := range samples {
					samples[i] = int(noise(uint64(i))) >> (24 - min(bits, 24)) & (1<<bits - 1)
				}
				for i := range raw {
					raw[i] = byte(noise(uint64(i)) >> 7)
				}
				name := fmt.Sprintf("%d bits, %d channels, %d frames", bits, channels, n)
				if n > 0 {
					files[name+", encoded"] = encodeWAV(t, 22050, bits, channels, samples)
				}
				list := chunk("LIST", []byte("INFOISFT\x04\x00\x00\x00abcd"))
				huge := chunkOf("LIST", 14, []byte("INFOISFT\xff\xff\xff\xffab")) // go-audio/wav would allocate what it claims
				files[name] = riff(chunk("fmt ", fmtBody(tagPCM, channels, 8000, bits)), list, chunk("data", raw), list)
				files[name+", data twice"] = riff(chunk("fmt ", fmtBody(tagPCM, channels, 8000, bits)), chunk("data", raw), chunk("data", raw))
				files[name+", extensible"] = riff(huge, chunk("fmt ", extensible(tagPCM, channels, 8000, bits, bits)), chunk("data", raw))
			}
		}
	}
	return files
}

// TestGoAudio: what go-audio/wav decodes has the bits of our own reader, and every well-formed file
// of integer PCM goes through it.
func TestGoAudio(t *testing.T) {
	t.Run("generated", func(t *testing.T) {
		files := generatedWAV(t)
		for _, name := range []string{"testdata/damage/tiny.wav", "testdata/damage/tiny24.wav", "../model/digits/digits.wav"} {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = b
		}
		compareGoAudio(t, files, 140)
	})
	for set, least := range map[string]int{"badwav/*/*": 1, "speech/formats/*.wav": 1} {
		t.Run(set, func(t *testing.T) {
			files := map[string][]byte{}
			for _, name := range needs.Shared(t, set) {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				files[name] = b
			}
			compareGoAudio(t, files, least)
		})
	}
}

// compareGoAudio checks that both readers give the same samples, and that go-audio/wav reads at least the given number of files.
func compareGoAudio(t *testing.T, files map[string][]byte, least int) {
	t.Helper()
	library := 0
	for name, b := range files {
		d := decodeAll(b, Input{})
		if d.err != nil {
			continue
		}
		w, ok := d.clip.whole.now.mix.src.in.(*wavReader)
		if generated := strings.Contains(name, " bits, "); generated && !ok && !strings.Contains(name, " 0 frames") {
			t.Errorf("%s: read by %T, want go-audio/wav", name, d.clip.whole.now.mix.src.in)
		}
		if !ok {
			continue
		}
		library++
		own := newPCM(w.file, w.layout)
		var want []float64
		for p, err := own.next(); err == nil; p, err = own.next() {
			pcm, _ := own.decode(p)
			want = append(want, pcm...)
		}
		if !slices.Equal(d.samples, want) {
			t.Errorf("%s: %d samples differ from the %d of our reader", name, len(d.samples), len(want))
		}
	}
	if library < least {
		t.Errorf("%d of %d files were read by go-audio/wav, want %d and more", library, len(files), least)
	}
	t.Logf("%d of %d files", library, len(files))
}
