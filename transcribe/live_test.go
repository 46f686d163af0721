package transcribe

import (
	"reflect"
	"testing"
	"time"

	"verity/audio"
	"verity/internal/testing/testmodel"
)

// TestLive wants, of sound that arrives in pieces and fits into a window, the very
// transcript of the file.
func TestLive(t *testing.T) {
	m, _, _ := newModel(t, testmodel.Open(t, "odd"), 1)
	tr, err := New(m, Options{Language: "en", Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	pcm := sound(12000)
	want, err := tr.Transcribe(t.Context(), audio.FromSamples("sound", pcm), Callbacks{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := audio.NewSpectrogram(t.Context(), audio.FromSamples("sound", pcm), tr.melOptions())
	if err != nil {
		t.Fatal(err)
	}
	live, err := audio.NewLive(t.Context(), audio.FromSamples("sound", pcm), s.Hash(), tr.melOptions())
	if err != nil {
		t.Fatal(err)
	}
	got, err := tr.transcribeSource(t.Context(), "sound", live, time.Now(), Callbacks{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Segments, want.Segments) || got.ChoiceHashes != want.ChoiceHashes || got.Duration != want.Duration {
		t.Errorf("live: %d segments, %v s, %v\nfile: %d segments, %v s, %v",
			len(got.Segments), got.Duration, got.ChoiceHashes, len(want.Segments), want.Duration, want.ChoiceHashes)
	}
}
