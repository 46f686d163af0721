package serve

import (
	"context"
	"encoding/json"
	"flag"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"pgregory.net/rapid"

	"verity/audio"
	"verity/audio/vad"
	"verity/decoder"
	"verity/model"
	"verity/model/base"
	"verity/model/digits"
	"verity/transcribe"
)

// defaultsDrawn are settings of a server: of one option, or of several that need each other.
var defaultsDrawn = map[string]func(*transcribe.Options){
	"words":         func(o *transcribe.Options) { o.WordTimestamps = true },
	"hallucination": func(o *transcribe.Options) { o.HallucinationSilence = 2 },
	"prompt":        func(o *transcribe.Options) { o.InitialPrompt = "one two" },
	"carry":         func(o *transcribe.Options) { o.CarryInitialPrompt = true },
	"language":      func(o *transcribe.Options) { o.Language = "en" },
	"multilingual":  func(o *transcribe.Options) { o.Multilingual = true },
	"translate":     func(o *transcribe.Options) { o.Task = transcribe.Translate },
	"chunked":       func(o *transcribe.Options) { o.Chunked = true },
	"spans":         func(o *transcribe.Options) { o.Spans = []transcribe.Span{{Start: 1, End: 4}} },
	"vad":           func(o *transcribe.Options) { o.VAD = &vad.Options{} },
	"prefix":        func(o *transcribe.Options) { o.Prefix = "one" },
	"hotwords":      func(o *transcribe.Options) { o.Hotwords = "seven" },
	"beam":          func(o *transcribe.Options) { o.BeamSize, o.Patience = 2, 1.5 },
	"best of":       func(o *transcribe.Options) { o.BestOf = 2 },
	"temperature":   func(o *transcribe.Options) { o.Temperatures = []float64{0.2, 0.6} },
	"expression":    func(o *transcribe.Options) { o.SuppressExpression = regexp.MustCompile(" ?[0-9]+") },
	"forget":        func(o *transcribe.Options) { o.ForgetPrevious = true },
	"no times":      func(o *transcribe.Options) { o.WithoutTimestamps = true },
	"repetition": func(o *transcribe.Options) {
		o.Repetition = decoder.Repetition{Penalty: 1.1, NoRepeat: 9, MinTokens: 1}
	},
	"top":           func(o *transcribe.Options) { o.TopK, o.TopP = 5, 0.9 },
	"whole windows": func(o *transcribe.Options) { o.AudioContext = transcribe.WholeWindows },
	"short context": func(o *transcribe.Options) { o.AudioContext = 700 },
	"pad":           func(o *transcribe.Options) { o.Pad = audio.PadMel },
	"first":         func(o *transcribe.Options) { o.MaxInitialTimestamp = math.Inf(1) },
	"gates":         func(o *transcribe.Options) { o.MaxCompressionRatio, o.MinLogProb, o.MaxNoSpeech = 1, -0.1, 0.1 },
}

// fieldsDrawn are form fields of a client.
var fieldsDrawn = []field{
	{"language", "en"}, {"language", "de"}, {"language", "en-GB"}, {"language", "auto"}, {"language", ""},
	{"prompt", "three four"}, {"prompt", ""}, {"temperature", "0"}, {"temperature", "0.4"}, {"temperature", "2"},
	{"timestamp_granularities[]", "word"}, {"timestamp_granularities[]", "segment"}, {"response_format", "verbose_json"},
	{"response_format", "srt"}, {"stream", "true"},
	{"include[]", withProgress}, {"include[]", "logprobs"},
	{"model", "whisper-1"}, {"chunking_strategy", "auto"}, {"chunking_strategy", `{"type":"server_vad","threshold":0.4}`},
	{"vad_filter", "true"}, {"vad_filter", "false"}, {"hotwords", "nine"},
}

// goNames matches names of Go fields: no client has sent them, so no error may contain one.
var goNames = func() *regexp.Regexp {
	var names []string
	for _, t := range []reflect.Type{
		reflect.TypeFor[transcribe.Options](), reflect.TypeFor[decoder.Repetition](), reflect.TypeFor[vad.Options](),
	} {
		for i := range t.NumField() {
			names = append(names, t.Field(i).Name)
		}
	}
	return regexp.MustCompile(`\b(` + strings.Join(names, "|") + `)\b|option |vad:|transcribe:`)
}()

// loaded returns the demo model.
func loaded(t testing.TB) *transcribe.Model {
	t.Helper()
	c := must(model.OpenFS(digits.Target(), "demo"))
	m := must(transcribe.Load(t.Context(), c, transcribe.LoadOptions{Threads: 1}))
	t.Cleanup(func() {
		m.Close()
		c.Close()
	})
	return m
}

// TestOptions: with any settings and any fields, either the server does not start, or the client gets its text or an
// error about a field that it has sent.
func TestOptions(t *testing.T) {
	checks := "150"
	if testing.Short() {
		checks = "25"
	}
	flag.Set("rapid.checks", checks)
	m, uploadDir, names := loaded(t), t.TempDir(), []string{}
	for name := range defaultsDrawn {
		names = append(names, name)
	}
	slices.Sort(names)
	file := field{"file", string(wavOf(digitsPCM(t)[:4*audio.SampleRate]))}
	pcm := digitsPCM(t)[:4*audio.SampleRate]
	rapid.Check(t, func(r *rapid.T) {
		var o transcribe.Options
		drawn := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID).Draw(r, "server")
		for _, name := range drawn {
			defaultsDrawn[name](&o)
		}
		s, err := New(m, Options{Decoding: o, Fields: testFields})
		if err != nil {
			return
		}
		s.uploads.dir = uploadDir
		h := httptest.NewServer(s)
		defer h.Close()
		if rapid.IntRange(0, 3).Draw(r, "live") == 0 {
			speak(r, t, h, pcm)
			return
		}
		nameOf := func(f field) string { return f.name }
		sent := rapid.SliceOfNDistinct(rapid.SampledFrom(fieldsDrawn), 0, 3, nameOf).Draw(r, "fields")
		path := rapid.SampledFrom([]string{transcriptions, "/v1/audio/translations"}).Draw(r, "path")
		got, body := post(t, h.URL+path, append(sent, file)...)
		var e struct{ Error *problem }
		json.Unmarshal([]byte(body), &e)
		switch {
		case got.StatusCode >= 500, strings.Contains(body, `"error"`) && got.StatusCode == 200,
			e.Error != nil && goNames.MatchString(e.Error.Message):
			r.Fatalf("%s %s", got.Status, body)
		case got.StatusCode == 200:
		case e.Error.Param == nil:
			r.Fatalf("%s: an error about nothing: %s", got.Status, body)
		case *e.Error.Param == "model" && strings.Contains(path, "translations"): // an English model
		case !slices.ContainsFunc(sent, func(f field) bool { return f.name == *e.Error.Param }):
			r.Fatalf("%s: an error about %s, which was not sent: %s", got.Status, *e.Error.Param, body)
		}
	})
}

// speak transcribes one utterance in a session, with or without a language.
func speak(r *rapid.T, t *testing.T, h *httptest.Server, pcm []float32) {
	c := call(t, h, "", nil)
	defer c.conn.Close(websocket.StatusNormalClosure, "")
	update := rapid.SampledFrom([]string{"", `,"transcription":{"language":"en"}`,
		`,"transcription":{"language":"","prompt":"five"}`}).Draw(r, "session")
	c.send(strings.Replace(manual, `,"turn_detection"`, update+`,"turn_detection"`, 1))
	c.until("session.updated")
	for len(pcm) > 0 { // in pieces, for more than one pass
		n := min(len(pcm), 20000)
		c.send(appending(pcm[:n]))
		pcm = pcm[n:]
		time.Sleep(10 * time.Millisecond)
	}
	c.send(`{"type":"input_audio_buffer.commit"}`)
	c.until(done)
	for _, e := range c.seen {
		if strings.HasSuffix(e.Type, ".failed") {
			r.Fatalf("an utterance failed: %+v", e)
		}
	}
}

// TestMultilingualLive: with windows of any language a live session continues after its first confirmed words, and
// accepts a language from the client.
func TestMultilingualLive(t *testing.T) {
	fsys := base.Base()
	if testing.Short() {
		t.Skip("needs make test-all: loads the model inside the program")
	}
	if fsys == nil {
		t.Skip("needs the model inside: built with -tags nomodel")
	}
	c := must(model.OpenFS(fsys, "base"))
	defer c.Close()
	m := must(transcribe.Load(t.Context(), c, transcribe.LoadOptions{}))
	defer m.Close()
	s := must(New(m, Options{Decoding: transcribe.Options{Multilingual: true, AudioContext: 700}}))
	h := httptest.NewServer(s)
	defer h.Close()
	pcm := soundOf(t, "../model/base/jfk.flac")
	for _, language := range []string{"", `,"transcription":{"language":"en"}`} {
		x := begin(t, h, strings.Replace(manual, `,"turn_detection"`, language+`,"turn_detection"`, 1))
		for i := 0; i < len(pcm); i += 2 * audio.SampleRate {
			x.send(appending(pcm[i:min(i+2*audio.SampleRate, len(pcm))]))
			time.Sleep(300 * time.Millisecond)
		}
		x.send(`{"type":"input_audio_buffer.commit"}`)
		if e := x.until(done); !strings.Contains(e.Transcript, "what you can do for your country") {
			t.Errorf("%s: %q", language, e.Transcript)
		}
		x.conn.Close(websocket.StatusNormalClosure, "")
	}
	s.sessions.active.Wait()
}

// TestPanic: a panic in a goroutine of a session ends the session, one in a handler ends the request. Others
// continue.
func TestPanic(t *testing.T) {
	h, s := newServer(t, Options{})
	s.metrics.delay = nil // causes a panic at the first confirmed word
	c := begin(t, h, manual)
	c.send(appending(digitsPCM(t)))
	c.send(`{"type":"input_audio_buffer.commit"}`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		if _, _, err := c.conn.Read(ctx); err != nil {
			break
		}
	}
	settle(t, s)
	if r, _ := post(t, h.URL+transcriptions, wav(t)); r.StatusCode != 200 {
		t.Errorf("afterwards: %s", r.Status)
	}
	s.metrics.audio = nil
	r, body := post(t, h.URL+transcriptions, wav(t))
	checkProblem(t, r, body, http.StatusInternalServerError, "", "The server failed")
	if r, _ := ask(t, "GET", h.URL+"/healthz", nil); r.StatusCode != 200 {
		t.Error(r.Status)
	}
}
