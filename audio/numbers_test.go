package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"verity/internal/testing/needs"
)

// floatFiles returns files of every format that holds floats: mono at 16 kHz, with the samples.
func floatFiles(samples []float64) map[string][]byte {
	bits := func(order binary.AppendByteOrder, width int) (b []byte) {
		for _, v := range samples {
			if width == 32 {
				b = order.AppendUint32(b, math.Float32bits(float32(v)))
			} else {
				b = order.AppendUint64(b, math.Float64bits(v))
			}
		}
		return b
	}
	le, be := binary.LittleEndian, binary.BigEndian
	aifc := func(code string, width int) []byte {
		body := bits(be, width)
		comm := slices.Concat([]byte{0, 1}, be.AppendUint32(nil, uint32(len(samples))), []byte{0, byte(width)},
			[]byte("\x40\x0c\xfa\x00\x00\x00\x00\x00\x00\x00"), []byte(code), []byte("\x00\x00"))
		part := func(id string, b []byte) []byte {
			return slices.Concat([]byte(id), be.AppendUint32(nil, uint32(len(b))), b)
		}
		return slices.Concat(part("FORM", nil)[:8], []byte("AIFC"), part("COMM", comm), part("SSND", append(make([]byte, 8), body...)))
	}
	au := func(code byte, width int) []byte {
		return append([]byte(".snd\x00\x00\x00\x18\xff\xff\xff\xff\x00\x00\x00"+string(code)+"\x00\x00\x3e\x80\x00\x00\x00\x01"), bits(be, width)...)
	}
	caf := func(flags byte, width int, b []byte) []byte {
		desc := slices.Concat(be.AppendUint64(nil, math.Float64bits(SampleRate)), []byte("lpcm\x00\x00\x00"), []byte{flags},
			be.AppendUint32(nil, uint32(width/8)), be.AppendUint32(nil, 1), be.AppendUint32(nil, 1), be.AppendUint32(nil, uint32(width)))
		return slices.Concat([]byte("caff\x00\x01\x00\x00desc"), be.AppendUint64(nil, 32), desc,
			[]byte("data"), be.AppendUint64(nil, uint64(len(b)+4)), make([]byte, 4), b)
	}
	wav := func(width int) []byte {
		return riff(chunk("fmt ", fmtBody(tagFloat, 1, SampleRate, width)), chunk("data", bits(le, width)))
	}
	mka := append(mkvFile(mkvSound(1, "A_PCM/FLOAT/IEEE", nil, mkvFloats(SampleRate))), mkvClusterOf(0, simpleBlock(1, 0, bits(le, 32)))...)
	return map[string][]byte{
		"WAV, 32": wav(32), "WAV, 64": wav(64), "RIFX, 32": bigEndian(wav(32), 4), "AIFC, 32": aifc("fl32", 32), "AIFC, 64": aifc("FL64", 64),
		"AU, 32": au(6, 32), "AU, 64": au(7, 64), "CAF, 32": caf(1, 32, bits(be, 32)), "CAF, 64, little": caf(3, 64, bits(le, 64)),
		"Matroska": mka,
	}
}

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
	files := floatFiles(samples)
	files["memory"] = nil
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
		if !slices.Equal(c.Damaged(), want) || !strings.Contains(warning, "in 3 places") || !strings.Contains(warning, "samples of this kind: 5") ||
			strings.Contains(warning, "scaled") {
			t.Errorf("%s: damaged %v, %q", name, c.Damaged(), warning)
		}
		if file == nil {
			continue
		}
		if s := decodeAllMixed(t, file); !errors.Is(s, ErrMalformed) || !strings.Contains(s.Error(), "sample 0") {
			t.Errorf("%s: strict: %v", name, s)
		}
	}
}

// decodeAllMixed reads a file with Input.Strict.
func decodeAllMixed(t *testing.T, file []byte) error {
	t.Helper()
	c, err := Input{Strict: true, FFmpeg: FFmpegNever}.open("x", bytes.NewReader(file), int64(len(file)))
	if err == nil {
		_, err = readAll(t, c)
	}
	return err
}

// TestNoNumbersChannel: a bad sample of one channel does not silence the others.
func TestNoNumbersChannel(t *testing.T) {
	var data []byte
	for _, v := range []float32{0.5, float32(math.NaN()), 0.5, 0.25} {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	file := riff(chunk("fmt ", fmtBody(tagFloat, 2, SampleRate, 32)), chunk("data", data))
	for channel, want := range [][]float32{{0.25, 0.375}, {0.5, 0.5}, {0, 0.25}} {
		c, err := Input{Channel: channel}.open("x", bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		if pcm, err := readAll(t, c); err != nil || !slices.Equal(pcm, want) || len(c.Damaged()) != 1 {
			t.Errorf("channel %d: %v, %v, %q; want %v", channel, pcm, err, c.Warnings(), want)
		}
	}
}

// TestNoNumbersFFmpeg: the same holds for a file that ffmpeg reads.
func TestNoNumbersFFmpeg(t *testing.T) {
	program := fakeFFmpeg(t, written(t, SampleRate, 0.5, float32(math.NaN()), 0.5))
	c, err := Input{FFmpeg: program}.Open(t.Context(), unreadable(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if pcm, err := readAll(t, c); err != nil || !slices.Equal(pcm, []float32{0.5, 0, 0.5}) || len(c.Damaged()) != 1 {
		t.Errorf("%v, %v, %q", pcm, err, c.Warnings())
	}
}

// TestNoNumbersReport reads the file of a report.
func TestNoNumbersReport(t *testing.T) {
	name := needs.SharedFile(t, "reports/nan1.wav")
	c, err := Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if pcm, err := readAll(t, c); err != nil || len(pcm) != 30393 || len(c.Damaged()) != 1 {
		t.Errorf("%d samples, %v, %q", len(pcm), err, c.Warnings())
	}
}

// TestDamageStays checks that a clip still states its damage while it is read again, as transcription does.
func TestDamageStays(t *testing.T) {
	pcm := make([]float32, 2*SampleRate)
	pcm[SampleRate] = float32(math.NaN())
	test := func(t *testing.T, c *Clip, err error) {
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
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
	t.Run("samples", func(t *testing.T) { test(t, FromSamples("samples", pcm), nil) })
	t.Run("gap10.mka", func(t *testing.T) {
		c, err := Open(t.Context(), needs.SharedFile(t, "reports/gap10.mka"))
		test(t, c, err)
	})
}
