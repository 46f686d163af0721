package transcribe

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"verity/audio"
	"verity/internal/testing/testmodel"
	"verity/parallel"
	"verity/transcript"
)

//go:embed testdata/golden/engine.json
var engineJSON []byte

//go:embed testdata/golden/engine_words.json
var engineWordsJSON []byte

// sound is the rule of tools/reference/transcribe_goldens.py: noise held for 1 to
// 23 samples, in blocks of 0.37 s of four loudnesses.
func sound(n int) []float32 {
	pcm := make([]float32, n)
	for i := range uint64(n) {
		block := i / 5920
		hold := block*7%23 + 1
		v := int64(mix((i/hold+block<<32+1)*0x9E3779B97F4A7C15-0x9E3779B97F4A7C15)>>49) - 1<<14
		pcm[i] = float32(v>>(block%4*2)) / 32768
	}
	return pcm
}

// TestEngineGolden compares with openai-whisper's transcribe over the same
// networks and the same sound, from samples to segments. Times, tokens and text
// are equal; log-probabilities within the drift of float32.
func TestEngineGolden(t *testing.T) {
	testEngine(t, engineJSON)
}

// TestEngineWords: the same with the times of words, by upstream's timing.py over the
// attention of the same network.
func TestEngineWords(t *testing.T) {
	testEngine(t, engineWordsJSON)
}

func testEngine(t *testing.T, golden []byte) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs make test-all: whole networks in short mode")
	}
	var file struct {
		Cases []struct {
			Spec    string
			Seconds float64
			Options map[string]any
			Want    struct {
				Text, Language string
				Segments       []transcript.Segment
			}
		}
	}
	if err := json.Unmarshal(golden, &file); err != nil {
		t.Fatal(err)
	}
	pool := parallel.New(0)
	defer pool.Close()
	for i, c := range file.Cases {
		t.Run(fmt.Sprint(i, c.Spec), func(t *testing.T) {
			m, err := Load(t.Context(), testmodel.Open(t, c.Spec), LoadOptions{Pool: pool})
			if err != nil {
				t.Fatal(err)
			}
			o := loopCase{Options: c.Options}.options()
			o.Temperatures = []float64{0}
			o.MaxCompressionRatio, o.MinLogProb, o.MaxNoSpeech = math.Inf(1), math.Inf(-1), math.Inf(1)
			tr, err := New(m, o)
			if err != nil {
				t.Fatal(err)
			}
			clip := audio.FromSamples("sound", sound(int(c.Seconds*16000)))
			got, err := tr.Transcribe(t.Context(), clip, Callbacks{})
			if err != nil {
				t.Fatal(err)
			}
			if text := textAsUpstream(t, m.Tokenizer, got); got.Language != c.Want.Language || text != c.Want.Text {
				t.Errorf("%s, %q; want %s, %q", got.Language, text, c.Want.Language, c.Want.Text)
			}
			if len(got.Segments) != len(c.Want.Segments) {
				t.Fatalf("%d segments, want %d", len(got.Segments), len(c.Want.Segments))
			}
			for i, want := range c.Want.Segments {
				compareSegments(t, got.Segments[i], want)
			}
		})
	}
}

// compareSegments allows log-probabilities 1e-3, ten times the drift that
// internal/testing/golden states for these networks on sound, and times nothing.
func compareSegments(t *testing.T, got, want transcript.Segment) {
	t.Helper()
	const tol = 1e-3
	if got.ID != want.ID || got.Seek != want.Seek || got.End != want.End || got.Text != want.Text ||
		!slices.Equal(got.Tokens, want.Tokens) || got.CompressionRatio != want.CompressionRatio {
		t.Errorf("segment %+v\nwant %+v", got, want)
	}
	if got.Start != want.Start && want.Start >= 0 { // before the start: see cut
		t.Errorf("segment %d starts at %v, want %v", got.ID, got.Start, want.Start)
	}
	if len(got.Words) != len(want.Words) {
		t.Errorf("segment %d: %d words, want %d", got.ID, len(got.Words), len(want.Words))
		return
	}
	for i, w := range got.Words {
		u := want.Words[i]
		if w.Word != u.Word || w.Start != u.Start || w.End != u.End || !(math.Abs(w.Probability-u.Probability) <= tol) {
			t.Errorf("segment %d: word %+v, want %+v", got.ID, w, u)
		}
	}
	if !(math.Abs(got.AvgLogProb-want.AvgLogProb) <= tol) || !(math.Abs(got.NoSpeechProb-want.NoSpeechProb) <= tol) {
		t.Errorf("segment %d: avg_logprob %v, no_speech_prob %v; want %v, %v", got.ID, got.AvgLogProb, got.NoSpeechProb, want.AvgLogProb, want.NoSpeechProb)
	}
}
