package live

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"verity/audio"
	"verity/diarize"
	"verity/internal/kernel"
	"verity/transcript"
)

// TestTrack: the words of an utterance get the speakers of its stretches, also of one that is labelled before the
// end; their times stay.
func TestTrack(t *testing.T) {
	if kernel.Implementations()[0] == "ref" {
		t.Skip("needs assembly: package diarize shows that plain Go computes the same")
	}
	tracker, err := diarize.NewTracker(diarize.Options{})
	if err != nil {
		t.Fatal(err)
	}
	u := &Utterance{Start: 5 * audio.SampleRate, tracker: tracker}
	word := func(text string, start float64) transcript.Word {
		return transcript.Word{Word: text, Start: start, End: start + 0.3}
	}
	pass := func(last bool, file string, seconds int, words ...transcript.Word) []transcript.Word {
		u.voice = append(u.voice, samplesOf(t, file)[:seconds*audio.SampleRate]...)
		r := &Result{Start: 5, Last: last, Confirmed: words}
		if err := u.track(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		return r.Words
	}
	said := []transcript.Word{word(" And", 1), word(" so", 3), word(" Hello", 8), word(" there", 10)}
	if got := pass(false, "jfk.flac", 6, said[:2]...); got != nil {
		t.Errorf("before the end: words %v", got)
	}
	got := pass(true, "librispeech/1089-134686-0001.flac", 6, said[2:]...)
	var speakers []string
	for i, w := range got {
		speakers = append(speakers, w.Speaker)
		if w.Start != said[i].Start || w.Word != said[i].Word {
			t.Errorf("word %d: got %v, want %v", i, w, said[i])
		}
	}
	if want := "Speaker 1,Speaker 1,Speaker 2,Speaker 2"; strings.Join(speakers, ",") != want {
		t.Errorf("speakers %q, want %s", speakers, want)
	}
	if d := tracker.Finish(); len(d.Voices) != 2 || len(d.Turns) == 0 || d.Turns[0].Start < 5 {
		t.Errorf("at the end: %d voices, turns %v; want 2 from 5 s on", len(d.Voices), d.Turns)
	}
}

// samplesOf returns a recording of model/base.
func samplesOf(t *testing.T, name string) []float32 {
	t.Helper()
	c, err := audio.Open(context.Background(), filepath.Join("../../model/base", name))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pcm := make([]float32, 60*audio.SampleRate)
	n := 0
	for {
		m, err := c.Read(pcm[n:])
		if n += m; err != nil {
			return pcm[:n]
		}
	}
}
