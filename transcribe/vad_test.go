package transcribe

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"verity/audio"
	"verity/audio/vad"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/model/base"
	"verity/transcript"
)

// spokenTwice is the demo's speech, behind five seconds of silence and before and
// after twenty.
func spokenTwice(t *testing.T) (pcm []float32, speech int) {
	t.Helper()
	c, err := audio.Open(t.Context(), "../model/digits/digits.wav")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	demo := make([]float32, 30*audio.SampleRate)
	speech, _ = c.Read(demo)
	quiet := make([]float32, 20*audio.SampleRate)
	return slices.Concat(quiet[:5*audio.SampleRate], demo[:speech], quiet, demo[:speech], quiet), speech
}

// TestVAD wants the transcript of the packed speech, its times mapped back.
func TestVAD(t *testing.T) {
	testmodel.Serial(t)
	m, _, _ := newModel(t, testmodel.Open(t, "odd"), 1)
	pcm, speech := spokenTwice(t)
	o := Options{Language: "en", Temperatures: []float64{0}, MaxNoSpeech: math.Inf(1)}
	parts, length, err := vad.Detect(t.Context(), audio.FromSamples("twice", pcm), vad.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var packed []float32
	for _, p := range parts {
		packed = append(packed, pcm[p.Start:p.End]...)
	}
	want := transcribeClip(t, m, o, audio.FromSamples("twice", packed))

	o.VAD = &vad.Options{}
	tr, err := New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	var live []transcript.Segment
	last, within, steps, windows := 0.0, 0.0, 0, 0
	got, err := tr.Transcribe(t.Context(), audio.FromSamples("twice", pcm), Callbacks{
		Segment: func(s transcript.Segment) { live = append(live, s) },
		Progress: func(done, total float64) {
			if done < last || done > total || total != float64(length)/audio.SampleRate {
				t.Errorf("progress %v of %v after %v", done, total, last)
			}
			last = done
			windows++
		},
		Estimate: func(done, total float64) {
			if done < within || done > total || total != float64(length)/audio.SampleRate {
				t.Errorf("within a window: progress %v of %v after %v", done, total, within)
			}
			within = done
			steps++
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Text != want.Text || got.ChoiceHashes != want.ChoiceHashes || len(got.Segments) != len(want.Segments) {
		t.Fatalf("text %q of %d segments, want %q of %d", got.Text, len(got.Segments), want.Text, len(want.Segments))
	}
	if got.Duration != float64(len(pcm))/audio.SampleRate || last != got.Duration {
		t.Errorf("duration %v, progress to %v, want %v", got.Duration, last, float64(len(pcm))/audio.SampleRate)
	}
	if within != got.Duration || steps < 3*windows {
		t.Errorf("%d steps in %d windows, to %v of %v s: the clock stands still within them", steps, windows, within, got.Duration)
	}
	for i, s := range got.Segments {
		start := audio.Original(parts, int64(math.Round(want.Segments[i].Start*audio.SampleRate)), false)
		end := audio.Original(parts, int64(math.Round(want.Segments[i].End*audio.SampleRate)), true)
		if s.Start != float64(start)/audio.SampleRate || s.End != float64(end)/audio.SampleRate || live[i].Start != s.Start {
			t.Errorf("segment %d from %v to %v, want samples %d to %d", i, s.Start, s.End, start, end)
		}
	}
	if len(parts) < 2 || len(packed) > 3*speech {
		t.Errorf("%d parts of %d samples in all: too much for %d of speech", len(parts), len(packed), 2*speech)
	}
}

// TestVADTrailingSilence: skipped silence at the end of a file is not missing sound.
func TestVADTrailingSilence(t *testing.T) {
	testmodel.Serial(t)
	m, _, _ := newModel(t, testmodel.Open(t, "odd"), 1)
	pcm, _ := spokenTwice(t)
	wav := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data"),
		binary.LittleEndian.AppendUint32(nil, uint32(2*len(pcm)))...)
	for _, v := range pcm {
		wav = binary.LittleEndian.AppendUint16(wav, uint16(int16(v*32767)))
	}
	clip, err := audio.Input{}.OpenReader(t.Context(), "silence.wav", bytes.NewReader(wav))
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	var said strings.Builder
	o := Options{Language: "en", Temperatures: []float64{0}, VAD: &vad.Options{}, Log: slog.New(slog.NewTextHandler(&said, nil))}
	got := transcribeClip(t, m, o, clip)
	if got.Truncated || strings.Contains(said.String(), "WARN") {
		t.Errorf("truncated %t, said %s", got.Truncated, said.String())
	}
}

// TestVADSilence wants no text where there is no speech, and no work.
func TestVADSilence(t *testing.T) {
	testmodel.Serial(t)
	m, _, _ := newModel(t, testmodel.Open(t, "odd"), 1)
	for _, n := range []int{0, 100, 10 * audio.SampleRate} {
		got := transcribeClip(t, m, Options{Language: "en", VAD: &vad.Options{}}, audio.FromSamples("silence", make([]float32, n)))
		if got.Text != "" || len(got.Segments) != 0 || got.Stats.Windows != 0 || got.Duration != float64(n)/audio.SampleRate || got.Language != "en" {
			t.Errorf("%d samples: %q, %d windows, %v s", n, got.Text, got.Stats.Windows, got.Duration)
		}
	}
}

// TestSpeechCheck: silence, of which the model inside the program makes a word, is none; a
// window of it behind speech neither; what is spoken stays as it is.
func TestSpeechCheck(t *testing.T) {
	testmodel.Serial(t)
	files := base.Base()
	if files == nil {
		t.Skip("needs the model inside: built with -tags nomodel")
	}
	c, err := model.OpenFS(files, "base")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, _, _ := newModel(t, c, 2)
	silence := make([]float32, audio.SampleRate)
	heard := func(confirm bool, pcm []float32) *transcript.Transcript {
		o := Options{Language: "en", Temperatures: []float64{0}, SkipSpeechCheck: !confirm}
		return transcribeClip(t, m, o, audio.FromSamples("test", pcm))
	}
	if got := heard(false, silence); got.Text == "" {
		t.Fatal("the model writes nothing: nothing is put to the test")
	}
	if got := heard(true, silence); len(got.Segments) != 0 || got.Text != "" || got.Stats.Silent != 1 {
		t.Errorf("%q in silence, %+v", got.Text, got.Stats)
	}
	var speech []float32
	clip, piece := openSound(t, "../model/base/jfk.flac"), make([]float32, 1<<14)
	for {
		n, err := clip.Read(piece)
		if speech = append(speech, piece[:n]...); err != nil {
			break
		}
	}
	want, got := heard(false, speech), heard(true, speech)
	if got.ChoiceHashes != want.ChoiceHashes || len(got.Segments) != len(want.Segments) {
		t.Errorf("speech: got %q, want %q", got.Text, want.Text)
	}
}
