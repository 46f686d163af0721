package transcribe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"verity/assistant"
	"verity/audio"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/parallel"
	"verity/precision"
	"verity/transcript"
)

// newModel loads a test checkpoint.
func newModel(t testing.TB, c *model.Checkpoint, threads int) (*Model, assistant.Target, *parallel.Pool) {
	t.Helper()
	pool := parallel.New(threads)
	t.Cleanup(pool.Close)
	m, err := Load(t.Context(), c, LoadOptions{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	return m, assistant.Target{Checkpoint: c, Tokenizer: m.Tokenizer}, pool
}

// with returns m with an assistant: it shares all weights with m. A nil policy is auto.
func with(m *Model, a assistant.Assistant, policy func() assistant.Policy) *Model {
	return withOptions(m, a, LoadOptions{Policy: policy})
}

func withOptions(m *Model, a assistant.Assistant, o LoadOptions) *Model {
	o.SharedWith = m
	n, err := o.weights(nil)
	if err != nil {
		panic(err)
	}
	n.setAssistant(a, o)
	return n
}

// constant drafts n tokens in every round.
func constant(n int) func() assistant.Policy {
	return func() assistant.Policy { return assistant.Constant(n) }
}

func mustAssistant(t testing.TB) func(a *assistant.Model, err error) assistant.Assistant {
	return func(a *assistant.Model, err error) assistant.Assistant {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

func transcribeClip(t testing.TB, m *Model, o Options, clip *audio.Clip) *transcript.Transcript {
	t.Helper()
	tr, err := New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tr.Transcribe(t.Context(), clip, Callbacks{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// sameText compares all but the statistics, to the bit.
func sameText(a, b *transcript.Transcript) bool {
	x, y := *a, *b
	x.Stats, y.Stats = transcript.Stats{}, transcript.Stats{}
	return reflect.DeepEqual(x, y)
}

// TestUpstreamLadder: a window that fails at temperature 0 is sampled again, with
// an assistant as without: drafting must not use up the target's noise.
func TestUpstreamLadder(t *testing.T) {
	testmodel.Serial(t)
	m, target, pool := newModel(t, testmodel.Open(t, "odd"), 1)
	load := mustAssistant(t)
	assistants := map[string]assistant.Assistant{
		"self":   load(assistant.Self(target, assistant.LoadOptions{Pool: pool, Precision: precision.Of(precision.Int8)})),
		"lookup": &assistant.NGram{EOT: m.Tokenizer.EOT, Shortest: 1},
	}
	o := Options{Language: "en", Strategy: Upstream, Temperatures: []float64{0, 0.4, 1}, Seed: 5, MinLogProb: -1e-3, MaxCompressionRatio: math.Inf(1), MaxNoSpeech: math.Inf(1)}
	clip := audio.FromSamples("sound", sound(50000))
	want := transcribeClip(t, m, o, clip)
	if want.Stats.Attempts != 3*want.Stats.Windows || len(want.Segments) == 0 || want.Segments[0].Temperature != 1 {
		t.Fatalf("%+v: every window should have failed twice", want.Stats)
	}
	for name, a := range assistants {
		t.Run("fallback ladder with "+name+" equals plain with the same seed", func(t *testing.T) {
			got := transcribeClip(t, with(m, a, constant(4)), o, clip)
			if !sameText(got, want) || got.Stats.Attempts != want.Stats.Attempts {
				t.Errorf("%+v\nwant %+v", got, want)
			}
			if name == "self" && got.Stats.Drafts.Accepted == 0 {
				t.Errorf("%+v: nothing was put to the test", got.Stats.Drafts)
			}
		})
	}
	other := o
	other.Seed++
	if sameText(transcribeClip(t, m, other, clip), want) {
		t.Error("another seed gives the same text: the ladder does not sample")
	}
}

// TestUpstreamOddSounds: what others crashed on or looped over.
func TestUpstreamOddSounds(t *testing.T) {
	testmodel.Serial(t)
	m, target, pool := newModel(t, testmodel.Open(t, "odd"), 1)
	assisted := with(m, mustAssistant(t)(assistant.Self(target, assistant.LoadOptions{Pool: pool, Precision: precision.Of(precision.Int8)})), constant(4))
	noise, rng := make([]float32, 16000), rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = float32(rng.NormFloat64()) / 10
	}
	o := Options{Temperatures: []float64{0}}
	for name, pcm := range map[string][]float32{
		"silence": make([]float32, 16000), "noise": noise, "clip of 0.05 s": noise[:800], "clip of one sample": noise[:1], "empty file": nil,
	} {
		t.Run(name, func(t *testing.T) {
			clip := audio.FromSamples(name, pcm)
			want, got := transcribeClip(t, m, o, clip), transcribeClip(t, assisted, o, clip)
			if !sameText(got, want) {
				t.Errorf("%+v\nwant %+v", got, want)
			}
			if name == "empty file" && (got.Text != "" || len(got.Segments) > 0) {
				t.Errorf("%+v: there was nothing to hear", got)
			}
		})
	}
}

// TestUpstreamLanguage: the language is the target's to detect.
func TestUpstreamLanguage(t *testing.T) {
	m, target, pool := newModel(t, testmodel.Open(t, "f16"), 1)
	small := testmodel.Open(t, "sharded") // other weights, windows of the same length
	alone, _, _ := newModel(t, small, 1)
	a := mustAssistant(t)(assistant.Load(small, target, assistant.LoadOptions{Pool: pool}))
	o := Options{Temperatures: []float64{0}}
	for n := range 20 {
		clip := audio.FromSamples("sound", sound(20000+2000*n))
		want, other := language(t, m, clip), language(t, alone, clip)
		if want == other {
			continue
		}
		if got := transcribeClip(t, with(m, a, constant(2)), o, clip).Language; got != want {
			t.Errorf("assisted %s, want %s as the target has it; the assistant has %s", got, want, other)
		}
		return
	}
	t.Fatal("target and assistant detect the same language in every sound")
}

func language(t *testing.T, m *Model, clip *audio.Clip) string {
	t.Helper()
	s, err := audio.NewSpectrogram(t.Context(), clip, audio.Options{Bins: m.Dims.MelBins, Window: m.Dims.WindowFrames()})
	if err != nil {
		t.Fatal(err)
	}
	mel, err := s.Window(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	w, err := m.encode(t.Context(), mel, new(transcript.Seconds), func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	probs, err := w.languages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	best := 0
	for i, p := range probs {
		if p > probs[best] {
			best = i
		}
	}
	return m.Tokenizer.Languages()[best].Code
}

// TestUpstreamBatch: transformers takes an assistant at batch 1 only (#31183), and
// in batches elsewhere all rows wait for the slowest or change their text. Here
// files of different lengths and languages decode together; each accepts on its
// own, ends when it ends, and says what it says alone, in any order.
func TestUpstreamBatch(t *testing.T) {
	m, target, pool := newModel(t, testmodel.Open(t, "odd"), 2)
	assisted := with(m, mustAssistant(t)(assistant.Self(target, assistant.LoadOptions{Pool: pool, Precision: precision.Of(precision.Int8)})), constant(3))
	type clip struct {
		*Transcriber
		sound *audio.Clip
		want  *transcript.Transcript
	}
	var clips []*clip
	for i, code := range []string{"en", "de", "fr"} {
		o := Options{Language: code, Temperatures: []float64{0.4}, Seed: uint64(i)}
		c := &clip{sound: audio.FromSamples(code, sound(20000+30000*i))}
		c.want = transcribeClip(t, m, o, c.sound)
		var err error
		if c.Transcriber, err = New(assisted, o); err != nil {
			t.Fatal(err)
		}
		clips = append(clips, c)
	}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		t.Run(fmt.Sprint("ragged acceptance, order ", order), func(t *testing.T) {
			var wg sync.WaitGroup
			got, errs := make([]*transcript.Transcript, len(clips)), make([]error, len(clips))
			for _, i := range order {
				wg.Go(func() { got[i], errs[i] = clips[i].Transcribe(t.Context(), clips[i].sound, Callbacks{}) })
			}
			wg.Wait()
			rates := map[float64]bool{}
			for i, c := range clips {
				if errs[i] != nil || !sameText(got[i], c.want) {
					t.Fatalf("%s: %v, %+v\nalone %+v", c.want.Language, errs[i], got[i], c.want)
				}
				rates[got[i].Stats.Drafts.Rate()] = true
			}
			if len(rates) < 2 {
				t.Errorf("acceptance was not ragged: %v", rates)
			}
		})
	}
}
