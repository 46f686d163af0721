package live

import (
	"context"
	"math"
	"os"
	"reflect"
	"testing"

	"verity/audio"
	"verity/model"
	"verity/models/digits"
	"verity/precision"
	"verity/transcribe"
	"verity/transcript"
)

// TestPassesDraft: what a pass heard drafts the next one. The words are the same, in
// fewer rounds. With VERITY_LIVE_MODEL and VERITY_LIVE (see TestDelay) it measures the
// time of decoding, in turn.
func TestPassesDraft(t *testing.T) {
	fsys, clips := digits.Target(), [][]float32{pcmOf(t, "../models/digits/digits.wav")}
	var held precision.Precision
	if dir, manifest := os.Getenv("VERITY_LIVE_MODEL"), os.Getenv("VERITY_LIVE"); dir != "" && manifest != "" {
		fsys, held.Weights, clips = os.DirFS(dir), precision.Int8, nil
		for _, r := range spokenOf(t, manifest, 12) {
			clips = append(clips, pcmOf(t, r.Path))
		}
	}
	c, err := model.OpenFS(fsys, "model")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := transcribe.Load(t.Context(), c, transcribe.LoadOptions{Precision: held})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	by, err := New(m, transcribe.Options{Language: "en"})
	if err != nil {
		t.Fatal(err)
	}
	var plain, drafted transcript.Stats
	var logs []float64
	for _, pcm := range clips {
		a, b := by.Utterance(), by.Utterance()
		run := a.run
		a.run = func(ctx context.Context, pcm []float32, prompt, language string, last bool, _ []transcript.Line) (
			*transcript.Transcript, []transcript.Line, error,
		) {
			return run(ctx, pcm, prompt, language, last, nil)
		}
		for i, end := 0, false; !end; i++ {
			from, to := min(len(pcm), i*audio.SampleRate), (i+1)*audio.SampleRate
			end = to >= len(pcm)
			part := pcm[from:min(to, len(pcm))]
			a.Add(part)
			b.Add(part)
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
			logs = append(logs, math.Log(y.Stats.Seconds.Decode/x.Stats.Seconds.Decode))
		}
	}
	mean, spread := 0.0, 0.0
	for _, v := range logs {
		mean += v / float64(len(logs))
	}
	for _, v := range logs {
		spread += (v - mean) * (v - mean)
	}
	half := 1.96 * math.Sqrt(spread/float64(len(logs)*max(1, len(logs)-1)))
	t.Logf("%d passes: decoding %.2f of before, 95 %% %.2f to %.2f, in sum %.2f; %d rounds, before %d", len(logs), math.Exp(mean),
		math.Exp(mean-half), math.Exp(mean+half), drafted.Seconds.Decode/plain.Seconds.Decode, drafted.Drafts.Rounds, plain.Drafts.Rounds)
	if 4*drafted.Drafts.Rounds > 3*plain.Drafts.Rounds {
		t.Errorf("%d rounds, before %d", drafted.Drafts.Rounds, plain.Drafts.Rounds)
	}
}
