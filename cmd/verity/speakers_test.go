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

// TestSpeakersUsage: what cannot be done is a line that says what is wanted, before anything is loaded.
func TestSpeakersUsage(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	samples := func(name string, parts ...[]float32) { write(name, string(waveOf(slices.Concat(parts...)))) }
	first := soundOf(t, "jfk.flac")[4800 : 4800+3*audio.SampleRate]
	second := soundOf(t, "librispeech/84-121123-0003.flac")[8000 : 8000+3*audio.SampleRate]
	samples("two.wav", first, make([]float32, 8000), second)
	samples("none.wav", make([]float32, 2*audio.SampleRate))
	samples("short.wav", first[:8000])
	lists := 0
	named := func(lines ...string) []string {
		lists++
		return []string{"--speakers", "voice", "--speaker-names", write(fmt.Sprint("names", lists), strings.Join(lines, "\n"))}
	}
	for _, tt := range []struct {
		args []string
		want string
		slow bool // it needs the networks
	}{
		{[]string{"--speakers", "0"}, "from 1 to 100", false},
		{[]string{"--speakers", "1000"}, "from 1 to 100", false},
		{[]string{"--speakers", "two"}, "as 3 or 2-4; channels, or one", false},
		{[]string{"--speakers", "3-2"}, "as 3 or 2-4", false},
		{[]string{"--speakers", "channels", "--speaker-names", "x"}, "needs --speakers voice", false},
		{[]string{"--speaker-names", "x"}, "--speaker-names x: there is no such file", false}, // --speakers voice is set
		{[]string{"--speakers", "voice", "--speaker-names", filepath.Join(dir, "nowhere")}, "nowhere", false},
		{named(""), "names nobody", false},
		{named("Ann"), "line 1: got Ann, want NAME: FILE", false},
		{named("# voices", ": two.wav"), "line 2: got : two.wav, want NAME: FILE", false},
		{named("Ann: nowhere.wav"), "nowhere.wav", false},
		{named("Ann: two.wav 0:09-0:05"), "ends before it begins", false},
		{named("Ann: two.wav 0:09-3:05"), "longer than 120 s", false},
		{named("A\x00nn: two.wav"), `line 1: got the name "A\x00nn", want UTF-8`, false},
		{named("\ufeff# x", "A\xffnn: two.wav"), `line 2: got the name "A\xffnn", want UTF-8`, false},
		{named("A:b: nowhere.wav"), "/nowhere.wav", false},
		{named("Ann: two.wav 1:00-1:10"), "the part from 60 s to 70 s begins after the end, at 6.5 s", false},
		{named("Ann: two.wav"), "line 1: " + filepath.Join(dir, "two.wav") + ": 2 speakers are heard", true},
		{named("Ann: none.wav"), "no speech is heard", true},
		{named("Ann: short.wav"), "want at least 1 s", true},
	} {
		if tt.slow && kernel.Implementations()[0] == "ref" {
			continue
		}
		code, stdout, stderr := program(t, nil, append([]string{"transcribe", filepath.Join(dir, "none.wav")}, tt.args...)...)
		if code == 0 || stdout != "" || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") > 2 {
			t.Errorf("%q: status %d, %q, %s; want %q", tt.args, code, stdout, stderr, tt.want)
		}
	}
}

// TestSpeakersNobody: where nobody speaks, or only a moment, no speaker is invented, and warnings say who is missing.
func TestSpeakersNobody(t *testing.T) {
	onBase(t)
	if kernel.Implementations()[0] == "ref" {
		t.Skip("minutes in plain Go")
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
		t.Skip("minutes in plain Go")
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
	code, stdout, stderr = program(t, bytes.NewReader(raw), "listen", "--speakers", "voice", "-f", "rttm", "-")
	if code != 0 || !strings.Contains(stdout, "Speaker_1") || !strings.Contains(stdout, "Speaker_2") {
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
