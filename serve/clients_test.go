package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"verity/transcribe"
)

// A recordedRequest has the path, the headers and the parts of a form of a program, in order. The part without a value
// is the file. Without a path it is that of transcriptions.
type recordedRequest struct {
	name    string
	headers []string
	parts   []part
	path    string
	want    string // in the answer; empty for the text in JSON
}

type part struct{ head, value string }

// clients are the forms of Open WebUI (from requests) and of Home Assistant's openai_stt (from aiohttp), recorded on
// 2026-11-22, and variants from their source.
var clients = []recordedRequest{
	{"Open WebUI, with the language and name of the user", []string{
		"Authorization", "Bearer none", "X-OpenWebUI-User-Name", "Jane%20Doe",
	}, []part{
		{`Content-Disposition: form-data; name="model"`, "whisper-1"},
		{`Content-Disposition: form-data; name="language"`, "en"},
		{`Content-Disposition: form-data; name="file"; filename="0b1d.mp3"`, ""},
	}, "", ""},
	{"openai_stt of Home Assistant", []string{
		"User-Agent", "Python/3.12 aiohttp/3.14.5", "Authorization", "Bearer none",
	}, []part{
		{"Content-Type: audio/wav\r\n" + `Content-Disposition: form-data; name="file"; filename="whisper_audio.wav"`, ""},
		{textPart + `Content-Disposition: form-data; name="model"`, "whisper-1"},
		{textPart + `Content-Disposition: form-data; name="language"`, "en"},
		{textPart + `Content-Disposition: form-data; name="prompt"`, "\x00"},
		{textPart + `Content-Disposition: form-data; name="temperature"`, "0"},
		{textPart + `Content-Disposition: form-data; name="response_format"`, "json"},
	}, "", ""},
	{"n8n's OpenAI node, with a slash at the end", []string{"Authorization", "Bearer none"}, []part{
		{`Content-Disposition: form-data; name="model"`, "whisper-1"},
		{"Content-Type: audio/wav\r\n" + `Content-Disposition: form-data; name="file"; filename="audio.wav"`, ""},
	}, "/v1/audio/transcriptions/", ""},
	{"a base URL without /v1", nil, []part{
		{`Content-Disposition: form-data; name="file"; filename="audio.wav"`, ""},
	}, "/audio/transcriptions", ""},
	{"Bazarr: subtitles", []string{"User-Agent", "Subliminal/2.2"}, []part{
		{`Content-Disposition: form-data; name="audio_file"; filename="audio_file"`, rawSound},
	}, "/asr?task=transcribe&language=en&output=srt&encode=false&video_file=", "1\n00:00:0"},
	{"Bazarr: which language", nil, []part{
		{`Content-Disposition: form-data; name="audio_file"; filename="audio_file"`, rawSound},
	}, "/detect-language?encode=false", `{"detected_language":"english","language_code":"en","confidence":1}`},
	{"curl to whisper-asr-webservice, a file", nil, []part{
		{"Content-Type: audio/wav\r\n" + `Content-Disposition: form-data; name="audio_file"; filename="a.wav"`, ""},
	}, "/asr?encode=true&task=transcribe&word_timestamps=true&output=json", `"word":" nine"`},
	{"curl to whisper.cpp's server", nil, []part{
		{"Content-Type: audio/wav\r\n" + `Content-Disposition: form-data; name="file"; filename="jfk.wav"`, ""},
		{`Content-Disposition: form-data; name="temperature"`, "0.0"},
		{`Content-Disposition: form-data; name="temperature_inc"`, "0.2"},
		{`Content-Disposition: form-data; name="response_format"`, "json"},
	}, "/inference", `{"text":" one`},
	{"Obsidian's Whisper to whisper.cpp's server", nil, []part{
		{"Content-Type: audio/wav\r\n" + `Content-Disposition: form-data; name="file"; filename="r.wav"`, ""},
		{`Content-Disposition: form-data; name="response_format"`, "verbose_json"},
		{`Content-Disposition: form-data; name="translate"`, "false"},
		{`Content-Disposition: form-data; name="logprob_thold"`, "-1.00"},
		{`Content-Disposition: form-data; name="entropy_thold"`, "2.40"},
	}, "/inference", `"segments":[`},
	{"whisper.cpp's max_len, and 0 for what Verity has anyway", nil, []part{
		{"Content-Type: audio/wav\r\n" + `Content-Disposition: form-data; name="file"; filename="r.wav"`, ""},
		{`Content-Disposition: form-data; name="response_format"`, "srt"},
		{`Content-Disposition: form-data; name="max_len"`, "1"},
		{`Content-Disposition: form-data; name="offset_t"`, "0"},
		{`Content-Disposition: form-data; name="duration"`, "600000"},
		{`Content-Disposition: form-data; name="max_context"`, "-1"},
	}, "/inference", "one\n\n2\n"},
}

// rawSound stands for the sound without a header.
const rawSound = "raw"

const textPart = "Content-Type: " + plainText + "\r\n"

// TestClients replays the requests of programs, byte by byte.
func TestClients(t *testing.T) {
	h, _ := newServer(t, Options{})
	for _, c := range clients {
		const boundary = "54dde1137a484072810ca285403e8175"
		var body bytes.Buffer
		for _, p := range c.parts {
			value := strings.Trim(p.value, "\x00")
			switch p.value {
			case "":
				value = wav(t).value
			case rawSound:
				value = wav(t).value[44:]
			}
			fmt.Fprintf(&body, "--%s\r\n%s\r\n\r\n%s\r\n", boundary, p.head, value)
		}
		fmt.Fprintf(&body, "--%s--\r\n", boundary)
		got, answer := ask(t, "POST", h.URL+cmp.Or(c.path, transcriptions), &body,
			append(c.headers, "Content-Type", "multipart/form-data; boundary="+boundary)...)
		if got.StatusCode != 200 || !strings.Contains(answer, cmp.Or(c.want, `{"text":"one`)) {
			t.Errorf("%s: %s\n%s, want %s", c.name, got.Status, answer, c.want)
		}
	}
}

// TestLists: a list is a field for each element, a JSON array, or has commas.
func TestLists(t *testing.T) {
	_, s := newServer(t, Options{Decoding: transcribe.Options{Hotwords: "Verity", Terms: []transcribe.Term{{Text: "Bonn"}}}})
	for _, fields := range [][]field{
		{{"timestamp_granularities[]", "word"}, {"timestamp_granularities[]", "segment"}},
		{{"timestamp_granularities[0]", "word"}, {"timestamp_granularities[1]", "segment"}},
		{{"timestamp_granularities", "word"}, {"timestamp_granularities", "segment"}},
		{{"timestamp_granularities", "word,segment"}},
		{{"timestamp_granularities[]", "word, segment"}},
		{{"timestamp_granularities", `["word","segment"]`}},
		{{"timestamp_granularities[]", `["word", "segment"]`}},
	} {
		q := request{api: openAI}
		for _, f := range fields {
			if err := s.setField(&q, f.name, f.value); err != nil {
				t.Errorf("%s=%s: %v", f.name, f.value, err)
			}
		}
		if !slices.Equal(q.granularities, []string{"word", "segment"}) || !q.words {
			t.Errorf("%v: %q", fields, q.granularities)
		}
	}
	for _, tt := range []struct {
		fields                      []field
		language, hotwords, ignored string
		terms                       []transcribe.Term // added to the server's
	}{
		{[]field{{"languages[]", "en"}, {"languages[]", "de-DE"}}, "en,de-DE", "Verity", "", nil},
		{[]field{{"languages", `["en","German"]`}}, "en,German", "Verity", "", nil},
		{[]field{{"languages[0]", "en"}, {"languages[1]", "auto"}}, "", "Verity", "", nil},
		{[]field{{"languages[]", "en"}, {"language", "de"}}, "de", "Verity", "languages", nil},
		{[]field{{"language", "None"}, {"languages", "null"}}, "", "Verity", "", nil},
		{[]field{{"language", "auto"}, {"languages[]", "en"}}, "en", "Verity", "", nil},
		{[]field{{"keywords[]", "Ann Lee"}, {"keywords[]", "Kiev => Kyiv:2"}}, "", "Verity", "",
			[]transcribe.Term{{Text: "Ann Lee"}, {Text: "Kyiv", SoundsLike: "Kiev", Weight: 2}}},
		{[]field{{"hotwords", "Bob"}, {"keywords", "Kyiv, #MeToo"}}, "", "Bob", "", []transcribe.Term{{Text: "Kyiv"}, {Text: "#MeToo"}}},
	} {
		q := request{api: openAI, decoding: s.opt.Decoding}
		for _, f := range tt.fields {
			if err := s.setField(&q, f.name, f.value); err != nil {
				t.Errorf("%s=%s: %v", f.name, f.value, err)
			}
		}
		q.settle()
		got := strings.Join(q.ignored, ", ")
		if want := append([]transcribe.Term{{Text: "Bonn"}}, tt.terms...); !slices.Equal(q.decoding.Terms, want) {
			t.Errorf("%v: terms %v, want %v", tt.fields, q.decoding.Terms, want)
		}
		if q.decoding.Language != tt.language || q.decoding.Hotwords != tt.hotwords || got != tt.ignored {
			t.Errorf("%v: language %q, hotwords %q, ignored %q, want %q, %q, %q",
				tt.fields, q.decoding.Language, q.decoding.Hotwords, got, tt.language, tt.hotwords, tt.ignored)
		}
	}
}

// TestUsage: OpenAI's typed clients expect tokens from models whose name begins with gpt, and in streams. Every answer in
// JSON has the languages.
func TestUsage(t *testing.T) {
	h, _ := newServer(t, Options{})
	type answer struct {
		Languages []languageCode
		Usage     struct {
			Type                                      string
			Seconds                                   int
			Input_tokens, Output_tokens, Total_tokens int
		}
	}
	for _, tt := range []struct {
		model, stream, kind string
	}{
		{"whisper-1", "false", "duration"}, {"", "false", "duration"}, {"gpt-transcribe", "false", "tokens"},
		{"whisper-1", "true", "tokens"},
	} {
		r, body := post(t, h.URL+transcriptions, wav(t), field{"model", tt.model}, field{"stream", tt.stream})
		if _, done, ok := strings.Cut(body, `data: {"duration"`); ok { // the members of an event are sorted
			done, _, _ = strings.Cut(done, "\n")
			body = `{"duration"` + done
		}
		var got answer
		if err := json.Unmarshal([]byte(body), &got); err != nil || r.StatusCode != 200 {
			t.Fatalf("%s: %v: %s", r.Status, err, body)
		}
		u := got.Usage
		right := tt.kind == "duration" && u.Seconds == 10 && u.Total_tokens == 0 || tt.kind == "tokens" &&
			u.Input_tokens == 500 && u.Output_tokens > 5 && u.Total_tokens == u.Input_tokens+u.Output_tokens
		if u.Type != tt.kind || !right || !slices.Equal(got.Languages, []languageCode{{"en"}}) {
			t.Errorf("model %q, stream %s: %+v, want %s", tt.model, tt.stream, got, tt.kind)
		}
	}
}

// TestWhisperCPP: /health is what clients of whisper.cpp's server wait for, and temperature_inc gives its temperatures.
func TestWhisperCPP(t *testing.T) {
	h, s := newServer(t, Options{})
	for _, status := range []int{200, 503} {
		r, _ := ask(t, "GET", h.URL+"/health/", nil)
		if r.StatusCode != status || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("/health: %s %s, want %d", r.Status, r.Header.Get("Content-Type"), status)
		}
		s.Drain()
	}
	for _, names := range [][]string{{"offset_t", "duration"}, {"duration", "offset_t", "offset_t"}} {
		q := new(request)
		for _, name := range names {
			if err := whisperCPP.fields[name](q, formField{name, "1500"}); err != nil {
				t.Fatal(err)
			}
		}
		if got := *q.span(); got != (transcribe.Span{Start: 1.5, End: 3}) {
			t.Errorf("%v: %v", names, got)
		}
	}
}

// TestDialectErrors: fields of other programs are checked as OpenAI's are.
func TestDialectErrors(t *testing.T) {
	h, _ := newServer(t, Options{})
	sound := field{"audio_file", wav(t).value}
	for _, tt := range []struct {
		path   string
		fields []field
		param  string
		text   string
	}{
		{"/asr?output=docx", []field{sound}, "output", "txt, vtt, srt, tsv, json"},
		{"/asr?task=summarize", []field{sound}, "task", "transcribe or translate"},
		{"/asr?encode=perhaps", []field{sound}, "encode", "true or false"},
		{"/asr", []field{{"file", "x"}}, "audio_file", "part named audio_file is missing"},
		{"/detect-language", nil, "audio_file", "part named audio_file is missing"},
		{"/inference", []field{{"audio_file", "x"}}, "file", "part named file is missing"},
		{"/inference", []field{wav(t), {"temperature_inc", "7"}}, "temperature_inc", "from 0 to 1"},
		{"/inference", []field{wav(t), {"offset_t", "99000"}}, "clip_timestamps", "the part begins at 99 s, after the end"},
		{"/inference", []field{wav(t), {"offset_t", "1.5"}}, "offset_t", "a whole number of milliseconds"},
		{"/inference", []field{wav(t), {"max_context", "9"}}, "max_context", "0 or -1"},
	} {
		r, body := post(t, h.URL+tt.path, tt.fields...)
		checkProblem(t, r, body, 400, tt.param, tt.text)
	}
}
