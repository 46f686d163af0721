package vad

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"verity/audio"
)

// A golden is the output of tools/reference/vad_goldens.py.
type golden struct {
	Demo, Noise, Quiet []float64
	Spans              []struct {
		Options struct {
			Threshold            float64 `json:"threshold"`
			MinSpeechDurationMS  int     `json:"min_speech_duration_ms"`
			MinSilenceDurationMS int     `json:"min_silence_duration_ms"`
			SpeechPadMS          int     `json:"speech_pad_ms"`
		}
		Length        int64
		Probabilities []float32
		Spans         [][2]int64
	}
}

func readGolden(t *testing.T) (g golden) {
	t.Helper()
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// noise returns white noise, by the same rule as in the script.
func noise(n int, seed uint64, level float32) []float32 {
	pcm := make([]float32, n)
	for i := range pcm {
		z := (uint64(i) + seed) * 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		pcm[i] = float32(int64(z>>40)-1<<23) / (1 << 23) * level
	}
	return pcm
}

func probabilities(pcm []float32) (p []float32) {
	n := NewNetwork()
	for chunk := range slices.Chunk(pcm, StepSize) {
		p = append(p, n.Next(chunk))
	}
	return p
}

// compare fails the test unless all probabilities are within 1e-4, and returns the
// largest difference.
func compare(t *testing.T, name string, got []float32, want []float64) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d probabilities, want %d", name, len(got), len(want))
	}
	worst := 0.0
	for i := range got {
		d := math.Abs(float64(got[i]) - want[i])
		if !(d <= 1e-4) {
			t.Fatalf("%s: chunk %d: probability %v, onnxruntime has %v", name, i, got[i], want[i])
		}
		worst = max(worst, d)
	}
	return worst
}

// TestNetwork compares with onnxruntime: speech (the spoken digits of the demo), noise,
// and near silence.
func TestNetwork(t *testing.T) {
	g := readGolden(t)
	c, err := audio.Open(t.Context(), "../../model/digits/digits.wav")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pcm := make([]float32, 30*audio.SampleRate)
	n, _ := c.Read(pcm)
	for name, tt := range map[string]struct {
		pcm  []float32
		want []float64
	}{"speech": {pcm[:n], g.Demo}, "noise": {noise(40000, 1, 1), g.Noise}, "quiet": {noise(40000, 2, 1e-3), g.Quiet}} {
		t.Logf("%s: off by at most %.2g", name, compare(t, name, probabilities(tt.pcm), tt.want))
	}
	if top := slices.Max(g.Demo); top < 0.9 {
		t.Errorf("the speech of the golden reaches %v only", top)
	}
}

// TestSpans compares with faster-whisper's own function on random probabilities.
func TestSpans(t *testing.T) {
	some := 0
	for i, tt := range readGolden(t).Spans {
		o := Options{
			Threshold: tt.Options.Threshold, MinSpeechDurationMS: tt.Options.MinSpeechDurationMS,
			MinSilenceDurationMS: tt.Options.MinSilenceDurationMS, SpeechPadMS: tt.Options.SpeechPadMS,
		}
		if o.SpeechPadMS == 0 {
			o.SpeechPadMS = -1
		}
		got := o.spans(tt.Probabilities, tt.Length)
		want := []audio.Part{}
		for _, s := range tt.Spans {
			want = append(want, audio.Part{Start: s[0], End: s[1]})
		}
		some += len(want)
		if !slices.Equal(got, want) {
			t.Errorf("case %d, %+v: spans\n%v, want\n%v", i, o, got, want)
		}
	}
	if some < 100 {
		t.Errorf("%d spans in all: the golden is empty", some)
	}
}

// TestDetect finds the digits of the demo between seconds of silence.
func TestDetect(t *testing.T) {
	c, err := audio.Open(t.Context(), "../../model/digits/digits.wav")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	demo := make([]float32, 30*audio.SampleRate)
	n, _ := c.Read(demo)
	pcm := slices.Concat(make([]float32, 5*audio.SampleRate), demo[:n], make([]float32, 8*audio.SampleRate), demo[:n])
	parts, length, err := Detect(t.Context(), audio.FromSamples("twice", pcm), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if length != int64(len(pcm)) || len(parts) < 2 {
		t.Fatalf("%d samples, %v; want %d and two parts or more", length, parts, len(pcm))
	}
	var kept int64
	for i, p := range parts {
		if p.Start < 0 || p.End <= p.Start || p.End > length || i > 0 && p.Start < parts[i-1].End {
			t.Errorf("part %d is %v, out of order or range", i, p)
		}
		kept += p.End - p.Start
	}
	if first := parts[0].Start; first < 4*audio.SampleRate || float64(kept) > 2.2*float64(n) {
		t.Errorf("speech from sample %d, %d samples kept of %d", first, kept, length)
	}
	if parts, _, err := Detect(t.Context(), audio.FromSamples("silence", make([]float32, 100000)), Options{}); err != nil || len(parts) != 0 {
		t.Errorf("silence: %v, %v", parts, err)
	}
}

// TestWeights checks the hash of the embedded file.
func TestWeights(t *testing.T) {
	const want = "2ff111bbd149549f539bdc239b24c3c124353bdd814a8486ec5025574466970f"
	if sum := sha256.Sum256(weightFile); hex.EncodeToString(sum[:]) != want {
		t.Errorf("silero.f32 has the hash %x", sum)
	}
}

func BenchmarkNetwork(b *testing.B) {
	n, chunk := NewNetwork(), noise(StepSize, 1, 1)
	for b.Loop() {
		n.Next(chunk)
	}
}
