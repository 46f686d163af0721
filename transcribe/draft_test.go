package transcribe

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"verity/assistant"
	"verity/audio"
	"verity/audio/vad"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/model/digits"
	"verity/model/synth"
	"verity/precision"
	"verity/transcript"
)

// TestUselessText: whatever stands in a text to draft from, the transcript is that of
// plain decoding to the bit, and one warning says that nothing of it was said.
func TestUselessText(t *testing.T) {
	testmodel.Serial(t)
	m := demoModels(t, 1)["none"]
	noise := make([]byte, 10<<20)
	rng := rand.NewChaCha8([32]byte{})
	rng.Read(noise)
	read := func(name string, raw []byte) []transcript.Cue {
		lines, err := transcript.Read(name, raw)
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	want := transcribeClip(t, m, Options{}, demoClip(t))
	for name, lines := range map[string][]transcript.Cue{
		"empty":                   nil,
		"another talk":            {{Text: "Every measure pursued by the commons, and still more every attempt made by their partisans."}},
		"another language":        {{Text: "今天天气很好,我们去公园散步。"}, {Text: "Сегодня хорошая погода"}},
		"10 MB of bytes":          read("x.txt", noise),
		"a word a million times":  read("x.txt", bytes.Repeat([]byte("well "), 1e6)),
		"control characters":      {{Text: "\x00\x1b[2J\u202e\ufeff"}},
		"special tokens":          {{Text: "<|endoftext|><|startoftranscript|><|en|><|transcribe|><|0.00|>"}},
		"backwards, past the end": read("x.srt", []byte("1\n00:59:01,000 --> 00:59:02,000\nso\n\n2\n00:00:05,000 --> 00:00:06,000\nmuch\n\n3\n00:00:01,000 --> 99:00:00,000\nmore\n")),
	} {
		var log bytes.Buffer
		tr, err := New(m, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		got, err := tr.WithDraft(lines).Transcribe(t.Context(), demoClip(t), Callbacks{})
		if err != nil || !sameText(got, want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", name, err, got, want)
		}
		warned := strings.Count(log.String(), "does not fit")
		if useless := len(lines) > 0 && strings.TrimSpace(lines[0].Text) != ""; warned > 1 || useless && warned == 0 && got.Stats.Tokens >= minTokensToWarn {
			t.Errorf("%s: %d warnings: %s", name, warned, log.String())
		}
	}
}

// TestTextSavesRounds drafts from the transcript itself: in chunks, in windows that overlap,
// through voice activity detection and without timestamps, always to the bit.
func TestTextSavesRounds(t *testing.T) {
	m := demoModels(t, 1)["none"]
	for name, o := range map[string]Options{
		"plain": {}, "chunks": {Chunked: true},
		"vad": {VAD: &vad.Options{}}, "no timestamps": {WithoutTimestamps: true}, "words": {WordTimestamps: true},
	} {
		o.Temperatures = []float64{0} // doubt would add windows
		want := transcribeClip(t, m, o, demoClip(t))
		var lines []transcript.Cue
		for _, s := range want.Segments {
			lines = append(lines, transcript.Cue{Start: s.Start, End: s.End, Text: strings.TrimSpace(s.Text)})
		}
		tr, err := New(m, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tr.WithDraft(lines).Transcribe(t.Context(), demoClip(t), Callbacks{})
		if err != nil || !sameText(got, want) {
			t.Fatalf("%s: %v\n got %+v\nwant %+v", name, err, got, want)
		}
		d := got.Stats.Drafts
		if 3*d.Rounds > 2*want.Stats.Drafts.Rounds || d.FromText == 0 {
			t.Errorf("%s: %d rounds, plain %d; %d words from the text", name, d.Rounds, want.Stats.Drafts.Rounds, d.FromText)
		}
	}
}

// TestWrittenFirst: a model of another vocabulary and other windows writes first, which
// changes nothing but the work.
func TestWrittenFirst(t *testing.T) {
	writer, err := model.OpenFS(digits.Target(), "digits")
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	target := testmodel.Open(t, "f16")
	plain, err := Load(t.Context(), target, LoadOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := Load(t.Context(), target, LoadOptions{SharedWith: plain, Assistant: AssistantOptions{Checkpoint: writer}, MeasureOverlap: true}); !errors.As(err, new(*assistant.MismatchError)) {
		t.Errorf("a text has no probabilities to measure: got error %v", err)
	}
	m, err := Load(t.Context(), target, LoadOptions{SharedWith: plain, Assistant: AssistantOptions{Checkpoint: writer}})
	if err != nil {
		t.Fatal(err)
	}
	if got := transcribeClip(t, m, Options{Temperatures: []float64{0}}, demoClip(t)); got.Stats.DraftPasses.Bytes > 0 {
		t.Errorf("a model as large as this one was asked to transcribe first: %+v", got.Stats)
	}
	m.ForceDraft()
	for name, o := range map[string]Options{"": {Temperatures: []float64{0}}, "vad": {Temperatures: []float64{0}, VAD: &vad.Options{}}} {
		want, got := transcribeClip(t, plain, o, demoClip(t)), transcribeClip(t, m, o, demoClip(t))
		if !sameText(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
		if !m.Assisted() || got.Stats.DraftPasses.Bytes == 0 || got.Stats.Drafts.Drafted == 0 || got.Stats.Drafts.Written == 0 || got.Stats.Drafts.Prepared == 0 ||
			got.Stats.Seconds.Opening <= got.Stats.Seconds.Draft/2 {
			t.Errorf("%s: nothing was written first: %+v", name, got.Stats)
		}
	}
}

// TestDraftWork: which models are worth transcribing with first.
func TestDraftWork(t *testing.T) {
	for _, tt := range []struct {
		writer, target string
		bits           [2]precision.Format
		pays           bool
	}{
		{"tiny.en", "base", [2]precision.Format{precision.Int8, precision.Int8}, false},
		{"tiny.en", "small", [2]precision.Format{precision.Int8, precision.Int8}, true},
		{"base", "small", [2]precision.Format{precision.Int8, precision.Int8}, false},
		{"base", "small", [2]precision.Format{precision.Int8, precision.F16}, true},
		{"base", "medium", [2]precision.Format{precision.Int8, precision.Int8}, true},
		{"small", "large-v3", [2]precision.Format{precision.Int8, precision.Int8}, true},
		{"medium", "large-v3-turbo", [2]precision.Format{precision.Int8, precision.Int8}, false},
	} {
		var work [2]float64
		for i, size := range []string{tt.writer, tt.target} {
			d, err := synth.Dims(size)
			if err != nil {
				t.Fatal(err)
			}
			work[i] = windowWork(d, tt.bits[i])
		}
		if share := work[0] / work[1]; share < mostDraftWork != tt.pays {
			t.Errorf("%s for %s: %.2f of the work, want below %.2f: %v", tt.writer, tt.target, share, mostDraftWork, tt.pays)
		}
	}
}

func demoClip(t *testing.T) *audio.Clip {
	t.Helper()
	clip, err := audio.Input{}.OpenReader(t.Context(), "demo", bytes.NewReader(digits.Sample()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clip.Close() })
	return clip
}
