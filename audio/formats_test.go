package audio

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/internal/testing/needs"
)

// decode reads a whole file of the shared formats.
func decode(t *testing.T, name string) []float32 {
	t.Helper()
	if slices.Contains([]string{".aiff", ".caf", ".au", ".oga", ".m4a", ".wv", ".w64"}, filepath.Ext(name)) || name == "vorbis.ogg" {
		needs.Program(t, "ffmpeg")
	}
	c, err := Open(t.Context(), needs.SharedFile(t, "speech/formats/"+name))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pcm, err := readAll(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return pcm
}

// snr returns the ratio of want to gain·got-want in dB.
func snr(got, want []float32, gain float64) float64 {
	var signal, noise float64
	for i := range want {
		d := gain*float64(got[i]) - float64(want[i])
		signal += float64(want[i]) * float64(want[i])
		noise += d * d
	}
	return 10 * math.Log10(signal/noise)
}

// TestFormats decodes one utterance from many files.
func TestFormats(t *testing.T) {
	exact := math.Inf(1)
	tests := []struct {
		file, like string
		gain       float64 // of the second over the first
		snr        float64 // dB, at least
		why        string
	}{
		{"s24.wav", "s16.wav", 1, exact, "widened from 16 bits"},
		{"s32.wav", "s16.wav", 1, exact, "widened from 16 bits"},
		{"f32.wav", "s16.wav", 1, exact, "widened from 16 bits"},
		{"f64.wav", "s16.wav", 1, exact, "widened from 16 bits"},
		{"rf64.wav", "s16.wav", 1, exact, "another container"},
		{"s16_quad_16k.wav", "s16.wav", 4, exact, "three channels of four are silent"},
		{"stereo_right_only.wav", "s16.wav", 2, exact, "the left channel is silent"},
		{"flac_stereo.flac", "s16.wav", math.Sqrt2, 60, "two equal channels, made with equal power"},
		{"aiff.aiff", "s16.wav", 1, exact, "another container"},
		{"caf.caf", "s16.wav", 1, exact, "another container"},
		{"au.au", "s16.wav", 1, exact, "another container"},
		{"uberi_audio-mono-16-bit-44100Hz.aiff", "uberi_audio-mono-16-bit-44100Hz.wav", 1, 80, "not quite the same take"},
		{"cbr16_16k.mp3", "s16.wav", 1, 3, "MP3, 16 kbit/s"},
		{"cbr64.mp3", "s16.wav", 1, 15, "MP3"},
		{"vbr_44k1_stereo.mp3", "s16.wav", math.Sqrt2, 10, "MP3"},
		{"flac_in_ogg.oga", "s16.wav", 1, exact, "another container"},
		{"vorbis.ogg", "s16.wav", 1, 10, "Vorbis"},
		{"opus16k.opus", "s16.wav", 1, 3, "Opus, 16 kbit/s"},
		{"opus48_stereo.ogg", "s16.wav", 1, 3, "Opus"},
		{"opus.webm", "s16.wav", 1, 3, "Opus"},
		{"u8.wav", "s16.wav", 1, 20, "8 bits with dither"},
		{"s16_48k_mono.wav", "s16.wav", 1, 30, "resampled, loses some above 7 kHz"},
		{"s16_44k1_stereo.wav", "s16.wav", math.Sqrt2, 30, "resampled, loses some above 7 kHz"},
		{"s16_22k05.wav", "s16.wav", 1, 30, "resampled, loses some above 7 kHz"},
		{"flac24_48k.flac", "s16_48k_mono.wav", 1, 60, "24 against 16 bits"},
		{"s16_11k025.wav", "s16.wav", 1, 15, "resampled, above 5.5 kHz is lost"},
		{"s16_8k.wav", "s16.wav", 1, 10, "resampled, above 4 kHz is lost"},
		{"mulaw_8k.wav", "s16_8k.wav", 1, 30, "G.711"},
		{"alaw_8k.wav", "s16_8k.wav", 1, 30, "G.711"},
		{"uberi_audio-mono-16-bit-44100Hz.flac", "uberi_audio-mono-16-bit-44100Hz.wav", 1, 80, "not quite the same take"},
		{"uberi_audio-mono-24-bit-44100Hz.flac", "uberi_audio-mono-24-bit-44100Hz.wav", 1, 80, "not quite the same take"},
		{"uberi_audio-mono-32-bit-44100Hz.wav", "uberi_audio-mono-24-bit-44100Hz.wav", 1, 60, "other depth"},
		{"uberi_audio-mono-8-bit-44100Hz.wav", "uberi_audio-mono-24-bit-44100Hz.wav", 1, 20, "other depth"},
		{"uberi_audio-stereo-24-bit-44100Hz.wav", "uberi_audio-mono-24-bit-44100Hz.wav", 1, 20, "other layout"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			got, want := decode(t, tt.file), decode(t, tt.like)
			if d := len(got) - len(want); d < -4 || d > 4 || tt.snr == exact && d != 0 {
				t.Fatalf("%d samples, %s has %d", len(got), tt.like, len(want))
			}
			n := min(len(got), len(want))
			r := snr(got[:n], want[:n], tt.gain)
			if !(r >= tt.snr) {
				t.Errorf("SNR against %s = %.1f dB, want %.1f (%s)", tt.like, r, tt.snr, tt.why)
			}
			t.Logf("SNR %.1f dB", r)
		})
	}
}

// TestAntiphase: of opposite channels, whose mean is silence, one is taken, and a warning says so.
func TestAntiphase(t *testing.T) {
	for name, want := range map[string]bool{"stereo_antiphase.wav": true, "s16_44k1_stereo.wav": false, "s16.wav": false} {
		c, err := Open(t.Context(), needs.SharedFile(t, "speech/formats/"+name))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for range 2 {
			if _, err := readAll(t, c); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(strings.Join(c.Warnings(), ""), "cancel one another"); got != want {
				t.Errorf("%s: warnings %q", name, c.Warnings())
			}
			if err := c.Rewind(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := rms(decode(t, "stereo_antiphase.wav")); got < 0.01 {
		t.Errorf("the mean is %v", got)
	}
}

func rms(pcm []float32) float64 {
	sum := 0.0
	for _, v := range pcm {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(max(1, len(pcm))))
}

// TestOpposedChannels: where channels cancel one another, behind noise that they share too, one is taken, and only there.
func TestOpposedChannels(t *testing.T) {
	var s16 []byte
	const second = SampleRate
	for i := range 3 * second {
		v, hum := 8000*math.Sin(float64(i*i%997)), 400*math.Sin(float64(i)/50)
		right := v
		if i >= second && i < 2*second {
			right = -v
		}
		for _, v := range []float64{v + hum, right + hum} {
			s16 = binary.LittleEndian.AppendUint16(s16, uint16(int16(v)))
		}
	}
	c, err := openBytes(riff(chunk("fmt ", fmtBody(1, 2, second, 16)), chunk("data", s16)))
	if err != nil {
		t.Fatal(err)
	}
	pcm, err := readAll(t, c)
	if err != nil || len(pcm) != 3*second {
		t.Fatalf("%d samples, %v", len(pcm), err)
	}
	for i := range 3 {
		if got := rms(pcm[i*second:][:second]); got < 0.1 || got > 0.25 {
			t.Errorf("second %d has a level of %v", i+1, got)
		}
	}
	want := []string{"the channels cancel one another, so one of them is taken: 1.00 to 2.00 s"}
	if got := c.Warnings(); !slices.Equal(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
}

// TestScaledDown: samples in the range of 16 bits give the spectrogram of the same sound from -1 to 1, also where the loudest
// comes late.
func TestScaledDown(t *testing.T) {
	windows := map[float64][]float32{}
	for _, scale := range []float64{1, 1 << 15} {
		var f32 []byte
		for i := range 2 * SampleRate {
			v := scale * float64(1+i/SampleRate) / 2 * math.Sin(float64(i)/20)
			f32 = binary.LittleEndian.AppendUint32(f32, math.Float32bits(float32(v)))
		}
		c, err := openBytes(riff(chunk("fmt ", fmtBody(3, 1, SampleRate, 32)), chunk("data", f32)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSpectrogram(t.Context(), c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Window(t.Context(), 0)
		if err != nil || len(c.Warnings()) != map[float64]int{1: 0, 1 << 15: 1}[scale] {
			t.Fatalf("%v, warnings %q", err, c.Warnings())
		}
		windows[scale] = m.Data
	}
	for i, v := range windows[1] {
		if d := v - windows[1<<15][i]; d > 1e-3 || d < -1e-3 {
			t.Fatalf("cell %d is %v, want %v", i, windows[1<<15][i], v)
		}
	}
}

// TestBuiltIn: WAV, MP3, FLAC, Ogg Opus and WebM need no ffmpeg.
func TestBuiltIn(t *testing.T) {
	if got := readable(); got != "WAV, FLAC, Ogg Opus, WebM or MP3" {
		t.Errorf("read are %s", got)
	}
	for _, name := range []string{"damage/tiny.wav", "sounds/stereo.mp3", "damage/frames.flac", "sounds/silk.opus", "sounds/opus.webm"} {
		c, err := Input{FFmpeg: FFmpegNever}.Open(t.Context(), filepath.Join("testdata", name))
		if err != nil {
			t.Error(err)
			continue
		}
		if pcm, err := readAll(t, c); err != nil || len(pcm) == 0 || len(c.Warnings()) > 0 {
			t.Errorf("%s: %d samples, %v, %q", name, len(pcm), err, c.Warnings())
		}
		c.Close()
	}
}
