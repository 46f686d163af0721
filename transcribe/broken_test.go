package transcribe

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"

	"verity/assistant"
	"verity/audio"
	"verity/decoder"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/model/digits"
	"verity/precision"
)

// notANumber makes the first weight of a float16 tensor one.
func notANumber(data []byte) { data[0], data[1] = 0, 0x7e }

// TestBroken: an assistant whose weights are broken costs time, not the text: the
// target goes on plainly, says so once for each file, and names assistant, place and
// remedy. Streams
// beside it do not notice.
func TestBroken(t *testing.T) {
	open := func(files fs.FS, name string) *model.Checkpoint {
		c, err := model.OpenFS(files, name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	m, target, pool := newModel(t, open(digits.Target(), "demo"), 2)
	// As stored: int8 has no NaN, and a broken scale is another test of the same.
	o, load := assistant.LoadOptions{Pool: pool, Precision: precision.Of(precision.F16)}, mustAssistant(t)
	sick := testmodel.Changed(t, digits.Target(), "model.encoder.layers.1.fc1.weight", notANumber)
	selfless := target // the target as somebody else holds it, whose decoder has gone bad
	selfless.Checkpoint = open(testmodel.Changed(t, digits.Target(), "model.decoder.layers.2.fc1.bias", notANumber), "twin")
	sounds := recordings()
	for _, tt := range []struct {
		name, thing, place string
		a                  assistant.Assistant
	}{
		{"distilled", "worn out", "layer 0 of 1", load(assistant.Load(open(testmodel.Changed(t, digits.Assistant(), "model.decoder.layers.0.fc2.weight", notANumber), "worn out"), target, o))},
		{"separate", "deaf", "layer 1 of 4", load(assistant.Load(open(sick, "deaf"), target, o))},
		{"self", "the model as its own assistant", "layer 2 of 4", load(assistant.Self(selfless, o))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assisted := with(m, tt.a, constant(3))
			var log bytes.Buffer
			opt := Options{Language: "en", Temperatures: []float64{0.4}, Spans: []Span{{0, 9}}, Log: slog.New(slog.NewTextHandler(&log, nil))}
			tr, err := New(assisted, opt)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for _, s := range sounds[:3] {
				wg.Go(func() {
					got, err := tr.Transcribe(t.Context(), s.open(t), Callbacks{})
					if err != nil {
						t.Error(err)
						return
					}
					for _, part := range []string{tt.thing + ":", tt.place, "not a number", "run without it"} {
						if !strings.Contains(got.Stats.Broken, part) {
							t.Errorf("stats say %q, want %q in it", got.Stats.Broken, part)
						}
					}
					opt := opt
					opt.Log = nil
					if want := transcribeClip(t, m, opt, s.open(t)); !sameText(got, want) || got.Stats.Drafts.Drafted != 0 {
						t.Errorf("%+v\nwant %+v", got, want)
					}
				})
			}
			wg.Wait()
			if n := strings.Count(log.String(), tt.thing); n != 3 {
				t.Errorf("%d warnings of %s, want one for each file:\n%s", n, tt.thing, &log)
			}
		})
	}
}

// open returns the recording.
func (s recording) open(t *testing.T) *audio.Clip {
	clip, err := audio.Input{}.OpenReader(t.Context(), s.name, bytes.NewReader(s.wav))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clip.Close() })
	return clip
}

// A moody Assistant fails in some of its windows, in a round of each attempt.
type moody struct {
	assistant.Assistant
	fails func(window int) bool
	round int
	heard int
	asked int
}

func (a *moody) Open(w assistant.Window) assistant.Drafter {
	a.heard++
	return &moodyDrafter{Drafter: a.Assistant.Open(w), a: a, fail: a.fails(a.heard)}
}

type moodyDrafter struct {
	assistant.Drafter
	a     *moody
	fail  bool
	round int
}

func (p *moodyDrafter) Begin(o decoder.SessionOptions, policy assistant.Policy) {
	p.Drafter.Begin(o, policy)
	p.round = 0
}

var errMood = errors.New("not now")

func (p *moodyDrafter) Propose(ctx context.Context, dst []assistant.Token, limit int) ([]assistant.Token, error) {
	p.round++
	p.a.asked++
	if p.fail && p.round == p.a.round {
		return append(dst, 1, 2), errMood
	}
	return p.Drafter.Propose(ctx, dst, limit)
}

// TestBrokenOnce: a window that the assistant fails in goes on without it from there, at
// every temperature; the next has it again, until it has failed in several.
func TestBrokenOnce(t *testing.T) {
	m := demoModels(t, 1)["demo"]
	a := m.Assistant
	clip := func() *audio.Clip { return recordings()[0].open(t) }
	// Every window fails the gates: four attempts each, of windows of one second.
	opt := Options{Language: "en", Temperatures: []float64{0, 0.2, 0.4, 0.6}, MinLogProb: -1e-9, MaxNoSpeech: math.Inf(1)}
	for i := range 8 {
		opt.Spans = append(opt.Spans, Span{float64(i), float64(i + 1)})
	}
	want := transcribeClip(t, with(m, assistant.None{}, constant(0)), opt, clip())
	whole := &moody{Assistant: a, fails: func(int) bool { return false }}
	drafted := transcribeClip(t, with(m, whole, constant(1)), opt, clip()).Stats.Drafts.Drafted
	for name, tt := range map[string]struct {
		fails  func(window int) bool
		round  int
		asked  func(n int) bool
		broken bool
	}{
		"never":  {func(int) bool { return false }, 1, func(n int) bool { return n == whole.asked }, false},
		"once":   {func(w int) bool { return w == 2 }, 2, func(n int) bool { return n < whole.asked && n > whole.asked/2 }, true},
		"always": {func(int) bool { return true }, 1, func(n int) bool { return n == maxFailures }, true},
	} {
		once := &moody{Assistant: a, fails: tt.fails, round: tt.round}
		got := transcribeClip(t, with(m, once, constant(1)), opt, clip())
		if !sameText(got, want) {
			t.Errorf("%s: %+v\nwant %+v", name, got, want)
		}
		if !tt.asked(once.asked) || got.Stats.Broken != "" != tt.broken {
			t.Errorf("%s: asked %d times (%d if it never fails, of %d drafted), broken %q", name, once.asked, whole.asked, drafted, got.Stats.Broken)
		}
	}
}
