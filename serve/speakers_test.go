package serve

import (
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"verity/audio"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/model/base"
	"verity/transcribe"
	"verity/transcript"
)

// twoSpeakers is a conversation of a man and a woman: Kennedy, a reader, Kennedy.
func twoSpeakers(t *testing.T) []byte {
	t.Helper()
	var pcm []float32
	for _, part := range []struct {
		name     string
		from, to float64
	}{
		{"../model/base/jfk.flac", 0, 3.2}, {"../model/base/librispeech/" + otherReader, 0, 30}, {"../model/base/jfk.flac", 7.5, 10.6},
	} {
		pcm = append(pcm, samplesOf(t, part.name, part.from, part.to)...)
	}
	return wavOf(pcm)
}

// otherReader is a recording of a woman.
const otherReader = "84-121123-0003.flac"

// samplesOf returns a part of a file, in seconds.
func samplesOf(t *testing.T, name string, from, to float64) []float32 {
	t.Helper()
	pcm := soundOf(t, name)
	return pcm[int(from*audio.SampleRate):min(int(to*audio.SampleRate), len(pcm))]
}

// baseServer starts a server of the model inside.
func baseServer(t *testing.T) *httptest.Server {
	t.Helper()
	if base.Base() == nil {
		t.Skip("needs the model inside: built with -tags nomodel")
	}
	c := must(model.OpenFS(base.Base(), "base"))
	m := must(transcribe.Load(t.Context(), c, transcribe.LoadOptions{}))
	s := must(New(m, Options{}))
	s.uploads.dir = t.TempDir()
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		m.Close()
		c.Close()
	})
	return h
}

// TestSpeakers: a conversation of two has both in every format that names speakers.
func TestSpeakers(t *testing.T) {
	testmodel.Serial(t)
	h, sound := baseServer(t), field{"file", string(twoSpeakers(t))}
	ask := func(fields ...field) string {
		t.Helper()
		r, body := post(t, h.URL+transcriptions, append(fields, field{"language", "en"}, sound)...)
		if r.StatusCode != 200 {
			t.Fatalf("%v: %s %s", fields, r.Status, body)
		}
		return body
	}
	var whole diarizedTranscript
	body := ask(field{"model", "gpt-4o-transcribe-diarize"}, field{"response_format", diarizedJSON}, field{"chunking_strategy", "auto"})
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		t.Fatal(err)
	}
	var order []string
	all := ""
	for _, s := range whole.Segments {
		order, all = append(order, s.Speaker), strings.TrimSpace(all+" "+s.Text)
		if s.Type != "transcript.text.segment" || !strings.HasPrefix(s.ID, "seg_") || !(s.Start < s.End) {
			t.Errorf("a segment of %+v", s)
		}
	}
	if order = slices.Compact(order); !slices.Equal(order, []string{"A", "B", "A"}) || whole.Task != "transcribe" || all != whole.Text {
		t.Errorf("speakers %v, want A, B, A: %s", order, body)
	}
	if !strings.Contains(body, `"usage":{"type":"tokens"`) {
		t.Errorf("the usage is not in tokens: %s", body)
	}

	var segments []diarizedSegment
	deltas, ids := "", []string{}
	early := ""
	for line := range strings.Lines(ask(field{"response_format", diarizedJSON}, field{"stream", "true"}, field{"include[]", withEarly})) {
		line, isData := strings.CutPrefix(line, "data: ")
		var e struct {
			diarizedSegment
			Delta     string `json:"delta"`
			SegmentID string `json:"segment_id"`
		}
		if !isData || json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		switch e.Type {
		case "verity.segment":
			if early += e.Text; len(segments) > 0 {
				t.Errorf("%q comes after segments with speakers", e.Text)
			}
		case "transcript.text.segment":
			segments = append(segments, e.diarizedSegment)
		case "transcript.text.delta":
			deltas, ids = deltas+e.Delta, append(ids, e.SegmentID)
		}
	}
	if strings.TrimSpace(early) != whole.Text {
		t.Errorf("early, the text is %q, want %q", early, whole.Text)
	}
	if !slices.Equal(segments, whole.Segments) || deltas != whole.Text {
		t.Errorf("a stream has %+v, %q, want %+v, %q", segments, deltas, whole.Segments, whole.Text)
	}
	for i, s := range segments {
		if i >= len(ids) || ids[i] != s.ID {
			t.Errorf("text %d has no segment_id %s: %v", i, s.ID, ids)
		}
	}

	var verbose verboseTranscript
	body = ask(field{"response_format", "verbose_json"}, field{"speakers", "1-2"},
		field{"timestamp_granularities[]", "word"}, field{"timestamp_granularities[]", "segment"})
	if err := json.Unmarshal([]byte(body), &verbose); err != nil {
		t.Fatal(err)
	}
	if len(verbose.Turns) < 3 || len(verbose.Words) == 0 || verbose.Words[0].Speaker != "Speaker 1" ||
		!slices.ContainsFunc(verbose.Segments, func(s transcript.Segment) bool { return s.Speaker == "Speaker 2" }) {
		t.Errorf("verbose_json: %s", body)
	}
	// A voice that is known, of another recording, and one that nobody in this recording has.
	reference := func(name string, from, to float64) string {
		return "data:audio/wav;base64," + base64.StdEncoding.EncodeToString(wavOf(samplesOf(t, name, from, to)))
	}
	body = ask(field{"response_format", diarizedJSON}, field{"known_speaker_names[]", "Kennedy"}, field{"known_speaker_names[]", "Reader, 1089"},
		field{"known_speaker_references[]", reference("../model/base/jfk.flac", 3.2, 7.5)},
		field{"known_speaker_references[]", reference("../model/base/librispeech/1089-134691-0001.flac", 0, 5)})
	if !strings.Contains(body, `"speaker":"Kennedy"`) || !strings.Contains(body, `"speaker":"A"`) || strings.Contains(body, "1089") {
		t.Errorf("known speakers: %s", body)
	}
	if body := ask(field{"response_format", "text"}, field{"speakers", "2"}); !strings.Contains(body, "\nSpeaker 2: ") {
		t.Errorf("text: %s, want names", body)
	}
}

// TestSpeakerFields: fields that exclude each other, or make no sense, are named.
func TestSpeakerFields(t *testing.T) {
	h, _ := newServer(t, Options{})
	diarized := field{"response_format", diarizedJSON}
	quiet := func(seconds int) string {
		return "data:;base64," + base64.StdEncoding.EncodeToString(wavOf(make([]float32, seconds*audio.SampleRate)))
	}
	for _, tt := range []struct {
		param  string
		fields []field
	}{
		{"speakers", []field{{"speakers", "0"}}},
		{"speakers", []field{{"speakers", "1000"}}},
		{"speakers", []field{{"speakers", "channels"}}},
		{"speakers", []field{{"speakers", "3-2"}}},
		{"response_format", []field{{"response_format", "diarised_json"}}},
		{"known_speaker_references[]", []field{diarized, {"known_speaker_names[]", "Ann"}}},
		{"known_speaker_references[]", []field{diarized, {"known_speaker_names[]", "Ann"}, {"known_speaker_references[]", "https://example.org/a.wav"}}},
		{"known_speaker_references[]", []field{diarized, {"known_speaker_names[]", "Ann"}, {"known_speaker_references[]", "data:audio/wav;base64,~~~"}}},
		{"known_speaker_references[]", []field{diarized, {"known_speaker_names[]", "Ann"}, {"known_speaker_references[]", "data:audio/wav;base64,aGVsbG8="}}},
		{"known_speaker_references[]", []field{diarized, {"known_speaker_names[]", "Ann"}, {"known_speaker_references[]", quiet(3)}}},
		{"known_speaker_references[]", []field{diarized, {"known_speaker_names[]", "Ann"}, {"known_speaker_references[]", quiet(61)}}},
		{"known_speaker_names[]", []field{diarized, {"known_speaker_names[]", `["Ann","Ann"]`}, {"known_speaker_references[]", quiet(3)}, {"known_speaker_references[]", quiet(3)}}},
	} {
		r, body := post(t, h.URL+transcriptions, append(tt.fields, wav(t))...)
		if r.StatusCode != 400 || !strings.Contains(body, `"param":"`+tt.param+`"`) {
			t.Errorf("%v: %s %s, want an error of %s", tt.fields, r.Status, body, tt.param)
		}
	}
	if r, body := post(t, h.URL+"/v1/audio/translations", field{"response_format", diarizedJSON}, wav(t)); r.StatusCode != 400 {
		t.Errorf("a translation: %s %s", r.Status, body)
	}
	if r, body := post(t, h.URL+transcriptions, field{"model", "gpt-4o-transcribe-diarize"}, field{"response_format", "text"}, wav(t)); r.StatusCode != 200 || strings.Contains(body, "Speaker") {
		t.Errorf("text has speakers unasked: %s %s", r.Status, body)
	}
	// Silence has no speaker, and none is invented.
	r, body := post(t, h.URL+transcriptions, field{"response_format", diarizedJSON}, field{"file", string(wavOf(make([]float32, 5000)))})
	if r.StatusCode != 200 || strings.Contains(body, `"speaker":"A"`) {
		t.Errorf("silence: %s %s", r.Status, body)
	}
}

// TestLetters: labels go on after Z.
func TestLetters(t *testing.T) {
	var got, others, unknown []string
	for i := range 705 {
		got = append(got, label(strings.Repeat("x", i+1), nil, &others))
	}
	for i, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 51: "AZ", 52: "BA", 701: "ZZ", 702: "AAA"} {
		if got[i] != want {
			t.Errorf("speaker %d is %s, want %s", i, got[i], want)
		}
	}
	for _, want := range []string{"Speaker 1=B", "Ann=Ann", "Speaker 2=C", "Speaker 1=B"} {
		name, want, _ := strings.Cut(want, "=")
		if got := label(name, []string{"A", "Ann"}, &unknown); got != want {
			t.Errorf("with A and Ann known, %s is %s, want %s", name, got, want)
		}
	}
	if label("x", nil, &others) != "A" || label("", nil, &others) != "" {
		t.Error("a speaker has two labels")
	}
}
