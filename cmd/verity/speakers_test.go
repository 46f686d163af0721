package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/audio"
	"verity/internal/kernel"
)

// TestSpeakersNobody: where nobody speaks, or only a moment, no speaker is invented, and warnings say who is missing.
func TestSpeakersNobody(t *testing.T) {
	onBase(t)
	if kernel.Implementations()[0] == "ref" {
		t.Skip("needs assembly: minutes in plain Go")
	}
	dir := t.TempDir()
	voice := soundOf(t, "jfk.flac")
	list := filepath.Join(dir, "names.txt")
	for name, data := range map[string][]byte{
		list: []byte("Reader: reader.wav"), filepath.Join(dir, "reader.wav"): waveOf(soundOf(t, "librispeech/84-121123-0003.flac")[8000 : 8000+3*audio.SampleRate]),
	} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		pcm  []float32
		most int
	}{
		{"silence", make([]float32, 2*audio.SampleRate), 0},
		{"a moment", voice[8000:12800], 1},
		{"a word", slices.Concat(make([]float32, 8000), voice[4800:14400], make([]float32, 8000)), 1},
	} {
		path := filepath.Join(dir, tt.name+".wav")
		if err := os.WriteFile(path, waveOf(tt.pcm), 0o600); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := program(t, nil, "transcribe", "--speakers", "4", "--speaker-names", list, "-f", "json", path)
		var doc struct {
			Turns  []struct{ Speaker, Text string }    `json:"turns"`
			MadeBy struct{ Options map[string]string } `json:"made_by"`
		}
		if err := json.Unmarshal([]byte(stdout), &doc); code != 0 || err != nil {
			t.Fatalf("%s: status %d, %v, %s", tt.name, code, err, stderr)
		}
		voices := map[string]bool{}
		for _, turn := range doc.Turns {
			voices[turn.Speaker] = true
		}
		if len(voices) > tt.most {
			t.Errorf("%s: %d speakers, want at most %d; turns %v", tt.name, len(voices), tt.most, doc.Turns)
		}
		wants := []string{"no speech was found"}
		if len(doc.Turns) > 0 {
			wants = []string{fmt.Sprintf("only %d of 4 speakers found", len(voices)), "no voice here is like that of Reader"}
		}
		if lines := strings.Count(stderr, "\n"); lines != len(wants) || slices.ContainsFunc(doc.Turns, func(t struct{ Speaker, Text string }) bool { return t.Text == "" }) {
			t.Errorf("%s: turns %v, warnings %s; want turns with text, %d warnings", tt.name, doc.Turns, stderr, len(wants))
		}
		if o := doc.MadeBy.Options; o["speakers"] != "4" || !strings.HasPrefix(o["speaker-names"], list+" ") {
			t.Errorf("%s: made by %v, want --speakers and --speaker-names", tt.name, o)
		}
		for _, want := range wants {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: warnings %s, want %q", tt.name, stderr, want)
			}
		}
	}
}

// TestConversation: the example has two speakers, in a file and live, and eval finds them right.
func TestConversation(t *testing.T) {
	onBase(t)
	if kernel.Implementations()[0] == "ref" {
		t.Skip("needs assembly: minutes in plain Go")
	}
	const sound = "../../examples/conversation.opus"
	code, stdout, stderr := program(t, nil, "transcribe", "--speakers", "voice", sound)
	if code != 0 || strings.Count(stdout, "Speaker 1: ") != 2 || strings.Count(stdout, "Speaker 2: ") != 2 ||
		strings.Contains(stdout, "Speaker 3") {
		t.Errorf("status %d, %s; want four turns of two speakers; %s", code, stdout, stderr)
	}
	if testing.Short() {
		return
	}
	raw, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "talk.rttm")
	code, _, stderr = program(t, bytes.NewReader(raw), "listen", "--speakers", "voice", "-o", file, "-")
	turns, err := os.ReadFile(file)
	stdout = string(turns)
	if err != nil || code != 0 || !strings.Contains(stdout, "Speaker_1") || !strings.Contains(stdout, "Speaker_2") {
		t.Errorf("live: status %d, %s; want two speakers; %s", code, stdout, stderr)
	}
}

// soundOf returns a recording of model/base.
func soundOf(t *testing.T, name string) []float32 {
	t.Helper()
	clip, err := audio.Open(t.Context(), filepath.Join("../../model/base", name))
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	pcm, n := make([]float32, 30*audio.SampleRate), 0
	for {
		m, err := clip.Read(pcm[n:])
		if n += m; err != nil {
			return pcm[:n]
		}
	}
}

// waveOf returns a sound file of samples.
func waveOf(pcm []float32) []byte {
	b := wav((float64(len(pcm)) + 0.5) / audio.SampleRate)[:44]
	for _, v := range pcm {
		b = binary.LittleEndian.AppendUint16(b, uint16(int16(v*32767)))
	}
	return b
}
