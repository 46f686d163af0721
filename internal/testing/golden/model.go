package golden

import (
	"encoding/json"
	"slices"
	"testing"
)

// marginOverTol is how many tolerances a margin must exceed to decide a token.
const marginOverTol = 10

// A Model is what upstream computed with one spec of internal/testing/testmodel. The
// arrays "<spec>.encoder" and "<spec>.logits" belong to it.
type Model struct {
	Spec    string
	Source  string     // versions and command that wrote it
	Digests Digests    // of the weights and inputs upstream was given
	Drift   Tolerances // largest |float32-float64|
	Tol     Tolerances // four times the drift, two digits
	Special Special

	// Encoder output of testmodel's Mel at some positions, transformers float32:
	// Load(t, spec+".encoder"), [len(Positions)][width].
	Positions []int

	// Logits with Mel as input after each token of Teacher, no rules applied:
	// Load(t, spec+".logits") is [len(Teacher)][len(Sampled)]; Top has a row per
	// token of Teacher.
	Teacher []int32
	Sampled []int32
	Top     []Top

	Runs      []Run
	Beams     Beams
	Languages map[string]map[string]float64 // input ("mel" or "wave") to language code to probability
}

// Digests are SHA-256 of float32 bytes: of all weights in order of their names,
// and of both inputs.
type Digests struct{ Weights, Mel, Waveform string }

// Tolerances are largest absolute errors: of the encoder's output; of logits; of
// logits when the input is sound and the mel front end drifts too; and of logits
// when the decoder's keys and values are rounded to the type of the weights,
// which no golden does: 0 for an f32 spec. Encoder, Logits and Wave hold for
// arithmetic and caches in float32 whatever the type of the weights.
type Tolerances struct{ Encoder, Logits, Wave, Cache float64 }

// Special are the ids of the spec's vocabulary, and openai's lists for it.
type Special struct {
	EOT            int32
	SOT            int32
	Translate      int32
	Transcribe     int32
	SOTLM          int32 `json:"sot_lm"`
	SOTPrev        int32 `json:"sot_prev"`
	NoSpeech       int32 `json:"no_speech"`
	NoTimestamps   int32 `json:"no_timestamps"`
	TimestampBegin int32 `json:"timestamp_begin"`
	Suppress       []int32
	BeginSuppress  []int32 `json:"begin_suppress"`
}

// A Top is the 32 best logits after one token, best first, lowest id first among
// equals, and the margin of the best over the second.
type Top struct {
	IDs    []int32
	Logits []float32
	Margin float64
}

// A Run is one greedy decoding by openai/whisper: all default rules, the first
// timestamp at most 1 s, at most TextPositions/2 tokens.
type Run struct {
	Name              string // "timestamps", "text", "prompt", "detect" or "translate"
	Input             string // "mel": testmodel's Mel; "wave": its Waveform through upstream's log-mel
	WithoutTimestamps bool   `json:"without_timestamps"`
	Task              string
	Language          string  // given or, in "detect", found
	Initial           []int32 // prompt and start sequence
	Tokens            []int32 // chosen, end-of-text included if it came
	Margins           []float64
	LogProbs          []float64 // after the rules, float64 softmax
	AvgLogProb        float64   `json:"avg_logprob"`
	NoSpeechProb      float64   `json:"no_speech_prob"`
}

// Beams is the beam search of Mel in German or, English-only, in English, with
// timestamps and no length penalty.
type Beams struct {
	Size       int
	Tokens     []int32 // without end-of-text
	AvgLogProb float64 `json:"avg_logprob"`
	Stable     bool    // the same when the input moves by rounding; else skip it
}

// LoadModel reads testdata/<spec>.json.
func LoadModel(t testing.TB, spec string) Model {
	t.Helper()
	b, _ := read(t, spec+".json")
	var m Model
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// LogitTol returns the tolerance of logits for an input, "mel" or "wave".
func (m Model) LogitTol(input string) float64 {
	if input == "wave" {
		return max(m.Tol.Logits, m.Tol.Wave)
	}
	return m.Tol.Logits
}

// CheckTop compares the logits after one token of Teacher, [Vocab], with
// upstream's best: values, and the choice where the margin decides it.
func (m Model) CheckTop(t testing.TB, at int, logits []float32) {
	t.Helper()
	want := m.Top[at]
	for i, id := range want.IDs {
		if d := difference(logits[id], want.Logits[i]); !(d <= m.Tol.Logits) {
			t.Errorf("after token %d: logit of %d = %v, want %v, tol %.2g\nreference: %s",
				at, id, logits[id], want.Logits[i], m.Tol.Logits, m.Source)
		}
	}
	best := 0
	for id, x := range logits {
		if x != x {
			t.Fatalf("after token %d: logit of %d is NaN", at, id)
		}
		if x > logits[best] {
			best = id
		}
	}
	if want.Margin > marginOverTol*m.Tol.Logits && best != int(want.IDs[0]) {
		t.Errorf("after token %d: the best token is %d, want %d by a margin of %.3g\nreference: %s",
			at, best, want.IDs[0], want.Margin, m.Source)
	}
}

// CheckTokens compares what was chosen, end-of-text included, with a run, up to
// the first token that upstream's margin does not decide: after that the texts
// may part rightly.
func (m Model) CheckTokens(t testing.TB, run Run, got []int32) {
	t.Helper()
	want := run.Tokens[:m.Decided(run)]
	if n := min(len(got), len(want)); !slices.Equal(got[:n], want[:n]) || n < len(want) {
		t.Errorf("%s/%s/%s: tokens = %v, want %v, all with margins that decide\nreference: %s",
			m.Spec, run.Input, run.Name, got, want, m.Source)
	} else if n == len(run.Tokens) && len(got) > n {
		t.Errorf("%s/%s/%s: %d tokens follow the last of upstream's %d", m.Spec, run.Input, run.Name, len(got)-n, n)
	}
}

// Decided returns how many tokens of a run come before the first whose margin
// does not decide it.
func (m Model) Decided(run Run) int {
	least := marginOverTol * m.LogitTol(run.Input)
	i := slices.IndexFunc(run.Margins, func(margin float64) bool { return !(margin > least) })
	if i < 0 {
		return len(run.Tokens)
	}
	return i
}
