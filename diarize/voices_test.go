package diarize

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/audio"
	"verity/transcript"
)

// voiceOf returns the voice of a few seconds of a recording of this repository.
func voiceOf(t *testing.T, name, file string, start, length float64) Voice {
	t.Helper()
	pcm := excerpt(baseSamples(t, file), start, length)
	v, err := NewVoice(context.Background(), name, audio.FromSamples(file, pcm), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestKnownVoices names a speaker by another recording of the voice, and nobody by that of somebody else.
func TestKnownVoices(t *testing.T) {
	if slow() {
		t.Skip("needs assembly: TestSameBits and TestVoiceBits show that plain Go computes the same")
	}
	pcm, _ := twoSpeakers(t)
	known := []Voice{
		voiceOf(t, "Somebody", "librispeech/84-121123-0003.flac", 0, 4),
		voiceOf(t, "Reader", "librispeech/1089-134691-0001.flac", 0, 4),
	}
	d := analyze(t, pcm, Options{Known: known})
	if want := []string{"Speaker 1", "Reader"}; !slices.Equal(d.Names, want) {
		t.Errorf("names %q, want %q", d.Names, want)
	}
}

// TestKnownFragments names the speaker of a sample also if its windows are too unlike for a cluster, as those of digits
// with pauses are.
func TestKnownFragments(t *testing.T) {
	if slow() {
		t.Skip("needs assembly: TestSameBits and TestVoiceBits show that plain Go computes the same")
	}
	pcm, err := audio.Open(t.Context(), filepath.Join("..", "model", "digits", "digits.wav"))
	if err != nil {
		t.Fatal(err)
	}
	defer pcm.Close()
	known, err := NewVoice(t.Context(), "Ann", pcm, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Analyze(t.Context(), pcm, Options{Known: []Voice{known}})
	if err != nil || !slices.Equal(d.Names, []string{"Ann"}) {
		t.Errorf("names %q, error %v, want Ann alone", d.Names, err)
	}
}

// TestSamples: what is no sample of one voice is an error that says why.
func TestSamples(t *testing.T) {
	if slow() {
		t.Skip("needs assembly: TestSameBits and TestVoiceBits show that plain Go computes the same")
	}
	jfk := excerpt(baseSamples(t, "jfk.flac"), 0.3, 3)
	two := slices.Concat(jfk, make([]float32, 8000), excerpt(baseSamples(t, "librispeech/84-121123-0003.flac"), 0.5, 3))
	for _, tt := range []struct {
		why  string
		pcm  []float32
		want string
	}{
		{"silence", make([]float32, 32000), "no speech"},
		{"nothing", nil, "no speech"},
		{"a syllable", jfk[:8000], "want at least 1 s"},
		{"two speakers", two, "2 speakers"},
	} {
		_, err := NewVoice(context.Background(), "Ann", audio.FromSamples("sample", tt.pcm), nil)
		if e := new(SampleError); !errors.As(err, &e) || e.Name != "Ann" || !strings.Contains(e.Problem, tt.want) {
			t.Errorf("%s: got error %v, want %q", tt.why, err, tt.want)
		}
	}
}

// axis returns a unit vector along one axis, turned a little towards another.
func axis(at, towards int, by float32) []float32 {
	v := make([]float32, voiceSize)
	v[at] = 1
	v[towards] += by
	normalise(v)
	return v
}

func TestNameVoices(t *testing.T) {
	clusters := func() []cluster {
		return []cluster{{[]int{0, 1}, axis(0, 1, 0.05)}, {[]int{2}, axis(1, 0, 0.2)}, {[]int{3}, axis(2, 3, 0)}, {[]int{4}, axis(0, 3, 0.5)}}
	}
	ann, bob, none := Voice{"Ann", axis(0, 1, 0)}, Voice{"Bob", axis(1, 0, 0)}, Voice{"Eve", axis(9, 8, 0)}
	for _, tt := range []struct {
		why   string
		known []Voice
		least int
		names string
		sizes []int
	}{
		{"nobody is known", nil, 1, ",,,", []int{2, 1, 1, 1}},
		{"somebody else", []Voice{none}, 1, ",,,", []int{2, 1, 1, 1}},
		{"two clusters are Ann", []Voice{ann, none, bob}, 1, "Ann,Bob,", []int{3, 1, 1}},
		{"four speakers were asked for", []Voice{ann, bob}, 4, "Ann,Bob,,", []int{2, 1, 1, 1}},
	} {
		joined, names := nameVoices(clusters(), tt.known, tt.least)
		var sizes []int
		for _, m := range joined {
			sizes = append(sizes, len(m.members))
		}
		if strings.Join(names, ",") != tt.names || !slices.Equal(sizes, tt.sizes) {
			t.Errorf("%s: names %q, sizes %v, want %s, %v", tt.why, names, sizes, tt.names, tt.sizes)
		}
	}
}

// TestNumbered: nobody without a name gets that of another.
func TestNumbered(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""}, {",,", "Speaker 1,Speaker 2,Speaker 3"}, {"Ann,", "Ann,Speaker 2"},
		{"Speaker 2,", "Speaker 2,Speaker 3"}, {",Speaker 1,", "Speaker 2,Speaker 1,Speaker 3"},
	} {
		var in []string
		if tt.in != "" {
			in = strings.Split(tt.in, ",")
		}
		if got := strings.Join(numbered(in), ","); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

// TestTracker: a voice keeps its number when it comes back, and a known one has its name.
func TestTracker(t *testing.T) {
	if slow() {
		t.Skip("needs assembly: TestSameBits and TestVoiceBits show that plain Go computes the same")
	}
	tracker, err := NewTracker(Options{Known: []Voice{voiceOf(t, "Reader", "librispeech/1089-134691-0001.flac", 0, 4)}})
	if err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for _, tt := range []struct {
		file  string
		start float64
		want  string
	}{
		{"jfk.flac", 0, "Speaker 1"}, {"librispeech/1089-134686-0001.flac", 0, "Reader"}, {"jfk.flac", 6, "Speaker 1"}, {"", 0, ""},
	} {
		pcm := make([]float32, audio.SampleRate)
		if tt.file != "" {
			pcm = excerpt(baseSamples(t, tt.file), tt.start, 4)
		}
		d, err := tracker.Add(context.Background(), pcm, at)
		if err != nil {
			t.Fatal(err)
		}
		words := []transcript.Word{{Word: " Yes.", Start: float64(at)/audio.SampleRate + 1.5, End: float64(at)/audio.SampleRate + 2}}
		if d.LabelWords(words); tt.want != "" && words[0].Speaker != tt.want {
			t.Errorf("%s from %v s: %q, want %q", tt.file, tt.start, words[0].Speaker, tt.want)
		}
		at += int64(len(pcm))
	}
	if d := tracker.Finish(); !slices.Equal(d.Names, []string{"Speaker 1", "Reader"}) {
		t.Errorf("at the end: names %q; turns %v", d.Names, d.Turns)
	}
}
