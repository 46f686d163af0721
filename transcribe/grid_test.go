package transcribe

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"verity/assistant"
	"verity/audio"
	"verity/internal/testing/needs"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/model/digits"
	"verity/parallel"
	"verity/precision"
	"verity/transcript"
)

// A tape is a network that keeps what its windows decoded, token by token.
type tape struct {
	network
	decoded []decodedWindow
}

type tapedWindow struct {
	encodedWindow
	tape *tape
}

func (l *tape) encode(ctx context.Context, mel *audio.Mel, s *transcript.Seconds, step func(float64)) (encodedWindow, error) {
	w, err := l.network.encode(ctx, mel, s, step)
	return tapedWindow{w, l}, err
}

func (w tapedWindow) decode(ctx context.Context, o decodeOptions, step func(int)) (decodedWindow, error) {
	d, err := w.encodedWindow.decode(ctx, o, step)
	w.tape.decoded = append(w.tape.decoded, decodedWindow{assistant.Result{Choices: d.Choices}, d.noSpeechProb})
	return d, err
}

// A recording is a stretch of one.
type recording struct {
	name string
	wav  []byte
	span Span
}

// recordings returns eight stretches of the demo recording, which is real speech.
func recordings() []recording {
	list := []recording{{"demo", digits.Sample(), Span{0, 4}}, {"demo", digits.Sample(), Span{1, 9.5}}, {"demo", digits.Sample(), Span{3, 5}}, {"demo", digits.Sample(), Span{6, 10}}}
	for i := 0; len(list) < 8; i++ {
		list = append(list, recording{"demo", digits.Sample(), Span{float64(i), float64(i) + 2.5}})
	}
	return list
}

// An outcome is all that must not differ.
type outcome struct {
	Transcript transcript.Transcript // but for statistics
	Decoded    []decodedWindow       // every attempt at every window
	drafted    int
}

func (s recording) transcribe(ctx context.Context, m *Model, temperature float64, text ...transcript.Cue) (outcome, error) {
	keep := &tape{network: m}
	// One temperature: what fails the gates is kept, so that babble is compared too.
	o := Options{Language: "en", Temperatures: []float64{temperature}, Seed: 3, Spans: []Span{s.span}}
	tr, err := newTranscriber(m, keep, o)
	if err != nil {
		return outcome{}, err
	}
	clip, err := audio.Input{}.OpenReader(ctx, s.name, bytes.NewReader(s.wav))
	if err != nil {
		return outcome{}, err
	}
	defer clip.Close()
	got, err := tr.WithDraft(text).Transcribe(ctx, clip, Callbacks{})
	if err != nil {
		return outcome{}, err
	}
	h := outcome{Transcript: *got, Decoded: keep.decoded, drafted: got.Stats.Drafts.Drafted}
	h.Transcript.Stats = transcript.Stats{}
	return h, nil
}

// A point of the grid.
type point struct {
	assistant             string
	draft, batch, threads int // draft: tokens, or a policy
	temperature           float64
}

// What decides on draft lengths, beside numbers of tokens.
const (
	auto       = -1
	heuristic  = -2
	confidence = -3
)

// drafters are the assistants of demoModels.
var drafters = []string{"demo", "separate", "self", "ngram", "bigram", "text", "text+demo"}

// grid returns every point.
func grid() (points []point) {
	for batch := 1; batch <= 8; batch++ {
		for threads := 1; threads <= 2; threads++ {
			for _, temperature := range []float64{0, 0.4, 1} {
				points = append(points, point{"none", 0, batch, threads, temperature})
				for _, a := range drafters {
					for draft := confidence; draft <= 8; draft++ {
						points = append(points, point{a, draft, batch, threads, temperature})
					}
				}
			}
		}
	}
	return points
}

// sample returns n of the points at random for each assistant, and always the same.
func sample(points []point, n int) (some []point) {
	rng := rand.New(rand.NewPCG(4, 2))
	rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	taken := map[string]int{}
	for _, p := range points {
		if taken[p.assistant]++; taken[p.assistant] <= n {
			some = append(some, p)
		}
	}
	return some
}

// policy returns what makes the policies of a point.
func (p point) policy() func() assistant.Policy {
	switch p.draft {
	case auto:
		if p.assistant == "encoder" {
			a := &assistant.CalibratedPolicy{Streams: func() int { return 1 }}
			a.ForceDraft()
			return a.Policy
		}
		a := &assistant.Auto{Streams: func() int { return 1 }}
		a.ForceDraft()
		return a.Policy
	case heuristic:
		return func() assistant.Policy { return assistant.Heuristic(0) }
	case confidence:
		return func() assistant.Policy { return assistant.Confidence(0) }
	}
	return constant(p.draft)
}

// TestGrid is the promise on real speech: tokens, log-probabilities, no-speech
// probabilities and segment times are those of plain decoding on one thread, one
// file at a time, whatever the assistant, draft length, batch, threads and
// temperature. A seeded sample of the grid; VERITY_GRID=all (make grid) is all of
// it, the race detector meets little of it.
func TestGrid(t *testing.T) {
	points := grid()
	if os.Getenv("VERITY_GRID") != "all" {
		n := 4
		if testmodel.Race { // slow: two streams meet as eight do
			n = 1
			points = slices.DeleteFunc(points, func(p point) bool { return p.batch != 2 || p.threads != 2 || p.assistant == "none" })
		}
		points = sample(points, n)
	}
	sounds := recordings()
	t.Run("../shared", func(t *testing.T) { // single digits instead of half of them
		for i, name := range needs.Shared(t, "digits/fsdd/[2579]_jackson_7.wav") {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sounds[4+i] = recording{filepath.Base(name), b, Span{0, 8}}
		}
	})
	models := map[string]*Model{}
	for threads := 1; threads <= 2; threads++ {
		for name, m := range demoModels(t, threads) {
			models[fmt.Sprint(name, threads)] = m
		}
	}
	want := map[string]outcome{}
	plain := func(i int, temperature float64) outcome {
		key := fmt.Sprint(i, temperature)
		if _, ok := want[key]; !ok {
			h, err := sounds[i].transcribe(t.Context(), models["none1"], temperature)
			if err != nil {
				t.Fatal(err)
			}
			if len(h.Decoded) == 0 {
				t.Fatalf("%s: nothing was decoded", sounds[i].name)
			}
			want[key] = h
		}
		return want[key]
	}
	drafted, asked := map[string]int{}, map[string]bool{}
	for n, p := range points {
		m := models[fmt.Sprint(p.assistant, p.threads)]
		if p.assistant != "none" {
			policy := p.policy()
			if p.assistant == "text" && p.draft == auto {
				policy = nil
			}
			m = with(m, m.Assistant, policy)
			// What auto drafts is a matter of time, and a table needs a repetition.
			asked[p.assistant] = asked[p.assistant] || p.draft > 0 && p.assistant != "ngram" && p.assistant != "bigram"
		}
		text := make([][]transcript.Cue, p.batch)
		for k := range text {
			if i := (n + k) % len(sounds); strings.HasPrefix(p.assistant, "text") {
				text[k] = written(plain(i, 0), n)
			}
		}
		var wg sync.WaitGroup
		got, errs := make([]outcome, p.batch), make([]error, p.batch)
		for k := range p.batch {
			wg.Go(func() {
				got[k], errs[k] = sounds[(n+k)%len(sounds)].transcribe(t.Context(), m, p.temperature, text[k]...)
			})
		}
		wg.Wait()
		for k := range p.batch {
			i := (n + k) % len(sounds)
			w := plain(i, p.temperature)
			drafted[p.assistant] += got[k].drafted
			if errs[k] != nil || !reflect.DeepEqual(got[k].Transcript, w.Transcript) || !reflect.DeepEqual(got[k].Decoded, w.Decoded) {
				t.Fatalf("%+v, %s %v: %v\n got %+v\nwant %+v", p, sounds[i].name, sounds[i].span, errs[k], got[k], w)
			}
		}
	}
	for name, a := range asked {
		if a && drafted[name] == 0 {
			t.Errorf("drafted %v: %s was not put to the test", drafted, name)
		}
	}
	if drafted["none"] != 0 {
		t.Errorf("drafted %v, without an assistant too", drafted)
	}
	t.Logf("%d points, drafted %v", len(points), drafted)
}

// written returns what was said in a transcript as somebody might write it: with or without
// times, and with words changed, left out, or not at all.
func written(said outcome, n int) (lines []transcript.Cue) {
	for i, s := range said.Transcript.Segments {
		words := strings.Fields(s.Text)
		for k := range words {
			switch (i + k + n) % 9 {
			case 3:
				words[k] = strings.ToUpper(words[k]) + ","
			case 5:
				words[k] = "<|endoftext|> and"
			case 7:
				words[k] = ""
			}
		}
		l := transcript.Cue{Text: strings.Join(words, " ")}
		if n%2 == 0 {
			l.Start, l.End = s.Start+float64(n%3)/10, s.End
		}
		lines = append(lines, l)
	}
	return lines
}

// demoModels returns the demo model with every assistant.
func demoModels(t *testing.T, threads int) map[string]*Model {
	t.Helper()
	open := func(files fs.FS, name string) *model.Checkpoint {
		c, err := model.OpenFS(files, name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	m, target, pool := newModel(t, open(digits.Target(), "demo"), threads)
	o, load := assistant.LoadOptions{Pool: pool, Precision: precision.Of(precision.Int8)}, mustAssistant(t)
	// The target itself, but for the last bit of a weight of the encoder: so it hears
	// for itself.
	other := testmodel.Changed(t, digits.Target(), "model.encoder.layer_norm.bias", func(data []byte) { data[0] ^= 1 })
	separate := load(assistant.Load(open(other, "separate"), target, o))
	if separate.(*assistant.Model).Encoder == nil {
		t.Fatal("the separate assistant has no encoder of its own")
	}
	return map[string]*Model{
		"none":     m,
		"demo":     with(m, load(assistant.Load(open(digits.Assistant(), "demo assistant"), target, o)), nil),
		"separate": with(m, separate, nil),
		"self":     with(m, load(assistant.Self(target, o)), nil),
		"ngram":    with(m, &assistant.NGram{EOT: m.Tokenizer.EOT, Shortest: 1}, nil),
		"bigram":   with(m, &assistant.Bigram{EOT: m.Tokenizer.EOT}, nil),

		"text":      with(m, assistant.None{}, nil),
		"text+demo": with(m, load(assistant.Load(open(digits.Assistant(), "demo assistant"), target, o)), nil),
	}
}

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
