package transcribe

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verity/audio"
	"verity/internal/testing/testmodel"
	"verity/tokenizer"
	"verity/transcript"
)

//go:embed testdata/golden/loop.json
var loopJSON []byte

//go:embed testdata/golden/words.json
var wordsJSON []byte

// A loopCase is one run of upstream's transcribe over a script.
type loopCase struct {
	Seed, Frames, Window, Positions int
	Multilingual                    bool
	Options                         map[string]any
	Segments, Words                 int
	SHA256, Want                    string
}

// TestLoopGolden compares with openai-whisper's own loop, which
// tools/reference/transcribe_goldens.py ran over the same script: every segment,
// seek, text and probability, bit for bit.
func TestLoopGolden(t *testing.T) {
	testLoop(t, loopJSON, 200, func(*transcript.Transcript) string { return "" })
}

// TestWordsGolden is the same with word times, which both sides make up by the same rule:
// durations, punctuation, segment times, seeks and what is skipped as a hallucination.
func TestWordsGolden(t *testing.T) { testLoop(t, wordsJSON, 100, canonicalWords) }

func testLoop(t *testing.T, golden []byte, least int, words func(*transcript.Transcript) string) {
	testmodel.Serial(t)
	var file struct{ Cases []loopCase }
	if err := json.Unmarshal(golden, &file); err != nil {
		t.Fatal(err)
	}
	segments := 0
	for _, c := range file.Cases {
		t.Run(fmt.Sprint(c.Seed), func(t *testing.T) {
			tr := c.transcribe(t)
			got := canonical(t, c.tokenizer(t), tr) + words(tr)
			if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(got))); sum != c.SHA256 {
				t.Errorf("%v, %d frames, window %d: differs from upstream's %d segments, %d words\n%s",
					c.Options, c.Frames, c.Window, c.Segments, c.Words, cmp.Diff(c.Want, got))
			}
		})
		segments += c.Segments
	}
	if len(file.Cases) < least || segments < 2*least {
		t.Errorf("%d cases of %d segments, too few to mean anything", len(file.Cases), segments)
	}
}

func (c loopCase) tokenizer(t *testing.T) *tokenizer.Tokenizer {
	vocab := tokenizer.VocabEnglish
	if c.Multilingual {
		vocab = tokenizer.VocabMultilingual
	}
	tok, err := tokenizer.Embedded(vocab)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func (c loopCase) transcribe(t *testing.T) *transcript.Transcript {
	tok, o := c.tokenizer(t), c.options()
	spans := o.Spans
	o.Spans = nil // upstream takes parts in any order; New refuses that
	tr, err := newScripted(scripted{seed: c.Seed, tok: tok}, c.Window, c.Positions, o)
	if err != nil {
		t.Fatal(err)
	}
	if spans != nil {
		tr.opt.Spans = spans
	}
	r := tr.newTranscription("", ramp{c.Frames, c.Window}, Callbacks{})
	if err := r.transcribeSpans(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.transcript()
}

// options translates upstream's options to ours.
func (c loopCase) options() Options {
	o := Options{Pad: audio.PadMel, Strategy: Upstream}
	o.Language, _ = c.Options["language"].(string)
	if task, ok := c.Options["task"].(string); ok {
		o.Task = Task(task)
	}
	condition, set := c.Options["condition_on_previous_text"].(bool)
	o.ForgetPrevious = set && !condition
	o.InitialPrompt, _ = c.Options["initial_prompt"].(string)
	o.CarryInitialPrompt, _ = c.Options["carry_initial_prompt"].(bool)
	o.WithoutTimestamps, _ = c.Options["without_timestamps"].(bool)
	switch t := c.Options["temperature"].(type) {
	case float64:
		o.Temperatures = []float64{t}
	case []any:
		o.Temperatures = floats(t)
	}
	o.WordTimestamps, _ = c.Options["word_timestamps"].(bool)
	o.PrependPunctuations, _ = c.Options["prepend_punctuations"].(string)
	o.AppendPunctuations, _ = c.Options["append_punctuations"].(string)
	o.HallucinationSilence, _ = c.Options["hallucination_silence_threshold"].(float64)
	o.MaxCompressionRatio = threshold(c.Options, "compression_ratio_threshold", math.Inf(1))
	o.MinLogProb = threshold(c.Options, "logprob_threshold", math.Inf(-1))
	o.MaxNoSpeech = threshold(c.Options, "no_speech_threshold", math.Inf(1))
	if clips, ok := c.Options["clip_timestamps"].([]any); ok {
		times := append(floats(clips), math.Inf(1))
		for i := 0; i+1 < len(times); i += 2 {
			o.Spans = append(o.Spans, Span{times[i], times[i+1]})
		}
	}
	return o
}

func floats(x []any) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v.(float64)
	}
	return out
}

// threshold returns upstream's threshold, off where it is None.
func threshold(o map[string]any, name string, off float64) float64 {
	v, set := o[name]
	if !set {
		return 0
	}
	if v == nil {
		return off
	}
	return v.(float64)
}

// canonical spells a transcript as the script does, floats as their bits.
func canonical(t *testing.T, tok *tokenizer.Tokenizer, tr *transcript.Transcript) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %x\n", tr.Language, tr.Stats.Attempts, textAsUpstream(t, tok, tr))
	for _, s := range tr.Segments {
		fmt.Fprintf(&b, "%d %d", s.ID, s.Seek)
		for _, f := range []float64{s.Start, s.End, s.Temperature, s.AvgLogProb, s.CompressionRatio, s.NoSpeechProb} {
			fmt.Fprintf(&b, " %016x", math.Float64bits(f))
		}
		fmt.Fprintf(&b, " %s %x\n", strings.ReplaceAll(fmt.Sprint(s.Tokens), " ", ", "), s.Text)
	}
	return b.String()
}

// textAsUpstream returns the text of a transcript with its special tokens spelled out, as
// upstream has it. The transcript itself must have the same text without them.
func textAsUpstream(t *testing.T, tok *tokenizer.Tokenizer, tr *transcript.Transcript) string {
	t.Helper()
	var tokens []tokenizer.Token
	for _, s := range tr.Segments {
		tokens = append(tokens, s.Tokens...)
	}
	if want := tok.Decode(tokens); tr.Text != want {
		t.Errorf("text %q, want %q", tr.Text, want)
	}
	return upstreamText(tok, tokens)
}

// canonicalWords spells words as the script does, floats as their bits.
func canonicalWords(t *transcript.Transcript) string {
	var b strings.Builder
	for _, s := range t.Segments {
		var words []string
		for _, w := range s.Words {
			words = append(words, fmt.Sprintf("%x %016x %016x %016x", w.Word, math.Float64bits(w.Start), math.Float64bits(w.End), math.Float64bits(w.Probability)))
		}
		fmt.Fprintf(&b, "%d: %s\n", s.ID, strings.Join(words, ", "))
	}
	return b.String()
}

// TestRound2 compares with Python's round(x, 2), which goes by the exact value.
func TestRound2(t *testing.T) {
	for x, want := range map[float64]float64{2.675: 2.67, 1.005: 1, 0.125: 0.12, 0.375: 0.38, 12.345: 12.35, 7.5: 7.5} {
		if got := round2(x); got != want {
			t.Errorf("round2(%v) = %v, want %v", x, got, want)
		}
	}
}
