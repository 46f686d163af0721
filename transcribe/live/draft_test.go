package live

import (
	"reflect"
	"testing"

	"verity/audio"
	"verity/model"
	"verity/model/digits"
	"verity/transcribe"
	"verity/transcript"
)

// TestPassesDraft: what a pass heard drafts the next one. The words are the same, in
// fewer rounds.
func TestPassesDraft(t *testing.T) {
	pcm := pcmOf(t, "../../model/digits/digits.wav")
	c, err := model.OpenFS(digits.Target(), "model")
	m := load(t, c, err)
	by, err := New(m, transcribe.Options{Language: "en"})
	if err != nil {
		t.Fatal(err)
	}
	var plain, drafted transcript.Stats
	a, b := by.utterance(NewStream(by, nil), 0), by.utterance(NewStream(by, nil), 0)
	for i, end := 0, false; !end; i++ {
		from, to := min(len(pcm), i*audio.SampleRate), (i+1)*audio.SampleRate
		end = to >= len(pcm)
		part := pcm[from:min(to, len(pcm))]
		a.Add(part)
		b.Add(part)
		a.draft = nil
		x, err := a.Pass(t.Context(), end)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.Pass(t.Context(), end)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(x.Confirmed, y.Confirmed) || x.Tentative != y.Tentative {
			t.Fatalf("pass %d: got %+v, want %+v", i, y, x)
		}
		plain.Add(x.Stats)
		drafted.Add(y.Stats)
	}
	if 4*drafted.Drafts.Rounds > 3*plain.Drafts.Rounds {
		t.Errorf("%d rounds, before %d", drafted.Drafts.Rounds, plain.Drafts.Rounds)
	}
}
