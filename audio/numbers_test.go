package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestNoNumbers: samples that are no numbers, or far too large, are silence and counted as damage, in every format
// that has floats. The samples beside them stay.
func TestNoNumbers(t *testing.T) {
	samples := slices.Repeat([]float64{0.25}, SampleRate)
	bad := map[int]float64{0: math.NaN(), 8000: math.Inf(1), 8100: math.Inf(-1), 8101: 1e30, 15999: math.NaN()}
	for i, v := range bad {
		samples[i] = v
	}
	memory := make([]float32, len(samples))
	for i, v := range samples {
		memory[i] = float32(v)
	}
	var narrow, wide []byte
	for _, v := range samples {
		narrow = binary.LittleEndian.AppendUint32(narrow, math.Float32bits(float32(v)))
		wide = binary.LittleEndian.AppendUint64(wide, math.Float64bits(v))
	}
	wav := func(width int, b []byte) []byte {
		return riff(chunk("fmt ", fmtBody(tagFloat, 1, SampleRate, width)), chunk("data", b))
	}
	files := map[string][]byte{
		"WAV, 32": wav(32, narrow), "WAV, 64": wav(64, wide), "memory": nil,
	}
	for name, file := range files {
		c, err := FromSamples(name, memory), error(nil)
		if file != nil {
			c, err = openBytes(file)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		pcm, err := readAll(t, c)
		if err != nil || len(pcm) != len(samples) {
			t.Errorf("%s: %d samples, %v", name, len(pcm), err)
			continue
		}
		for i, v := range pcm {
			want := float32(0.25)
			if _, is := bad[i]; is {
				want = 0
			}
			if v != want {
				t.Errorf("%s: sample %d is %v, want %v", name, i, v, want)
				break
			}
		}
		want := []Gap{{0, 1. / 16000}, {0.5, 8102. / 16000}, {15999. / 16000, 1}}
		warning := strings.Join(c.Warnings(), "\n")
		if !slices.Equal(c.Damaged(), want) || !strings.Contains(warning, "in 3 places") ||
			strings.Contains(warning, "scaled") {
			t.Errorf("%s: damaged %v, %q", name, c.Damaged(), warning)
		}
		if file == nil {
			continue
		}
		if s := strictError(t, file); !errors.Is(s, ErrMalformed) || !strings.Contains(s.Error(), "sample 0") {
			t.Errorf("%s: strict: %v", name, s)
		}
	}
}

// strictError reads a file with Input.Strict.
func strictError(t *testing.T, file []byte) error {
	t.Helper()
	c, err := Input{Strict: true, FFmpeg: FFmpegNever}.open("x", bytes.NewReader(file), int64(len(file)))
	if err == nil {
		_, err = readAll(t, c)
	}
	return err
}

// TestDamageStays checks that a clip still states its damage while it is read again, as transcription does.
func TestDamageStays(t *testing.T) {
	pcm := make([]float32, 2*SampleRate)
	pcm[SampleRate] = float32(math.NaN())
	c := FromSamples("samples", pcm)
	if _, err := NewSpectrogram(t.Context(), c, Options{}); err != nil {
		t.Fatal(err)
	}
	want := c.Damaged()
	if len(want) != 1 || len(c.Warnings()) != 1 {
		t.Fatalf("%s: damaged %v, warnings %q, want one", c.Name(), want, c.Warnings())
	}
	if err := c.Rewind(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]float32, 100)); err != nil || !slices.Equal(c.Damaged(), want) {
		t.Errorf("%s: %v; read again it is damaged at %v, want %v", c.Name(), err, c.Damaged(), want)
	}
}
