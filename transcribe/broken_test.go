package transcribe

import (
	"bytes"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"verity/assistant"
	"verity/audio"
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
