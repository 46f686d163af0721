package serve

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mewkiz/flac"
	"github.com/mewkiz/flac/frame"
	"github.com/mewkiz/flac/meta"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/goleak"

	"verity/audio"
	"verity/model"
	"verity/model/digits"
	"verity/transcribe"
	"verity/transcript"
)

const sound = "../model/digits/digits.wav"

func TestMain(m *testing.M) { goleak.VerifyTestMain(patient{m}) }

// patient waits longer than goleak, which gives goroutines half a second to end.
type patient struct{ *testing.M }

func (p patient) Run() int {
	code := p.M.Run()
	for i := 0; i < 200 && goleak.Find() != nil; i++ {
	}
	return code
}

// testFields are fields of a server in tests.
var testFields = []Field{
	{"hotwords", "Hotwords", func(o *transcribe.Options, value string) error { o.Hotwords = value; return nil }},
	{"beam_size", "BeamSize", func(o *transcribe.Options, value string) (err error) {
		if o.BeamSize, err = strconv.Atoi(value); err != nil || o.BeamSize < 0 || o.BeamSize > 16 {
			return errors.New("a whole number from 0 to 16")
		}
		return nil
	}},
}

// patience is longer than any delay on a busy machine.
const patience = 5 * time.Minute

// newServer starts a server of the demo model.
func newServer(t testing.TB, o Options) (*httptest.Server, *Server) {
	t.Helper()
	o.Fields = testFields
	s, err := New(loaded(t), o)
	if err != nil {
		t.Fatal(err)
	}
	uploads := t.TempDir()
	s.uploads.dir, s.stall, s.keepAlive = uploads, 2*patience, 2*patience
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		left, err := os.ReadDir(uploads)
		if err != nil || len(left) > 0 {
			t.Errorf("%d uploads are left over, %v", len(left), err)
		}
		if n := s.uploads.used.Load(); n != 0 {
			t.Errorf("the store counts %d bytes at the end", n)
		}
		if inside(s) != 0 || s.queue.working() != 0 || s.queue.waiting() != 0 || s.inProgress.Load() != 0 {
			t.Error("a request is still in progress")
		}
	})
	return h, s
}

// inside counts the requests in the queue.
func inside(s *Server) int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.tickets
}

// occupy uses a turn until free is called.
func occupy(t *testing.T, s *Server) (free func()) {
	t.Helper()
	p, err := s.queue.join(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.queue.begin(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return func() { s.queue.leave(p) }
}

// must returns v, or panics.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// want is the transcript of the sound, by the same model without a server.
var want = sync.OnceValue(func() *transcript.Transcript {
	ctx := context.Background()
	m := must(transcribe.Load(ctx, must(model.OpenFS(digits.Target(), "demo")), transcribe.LoadOptions{Threads: 1}))
	defer m.Close()
	clip := must(audio.Open(ctx, sound))
	defer clip.Close()
	return must(must(transcribe.New(m, transcribe.Options{})).Transcribe(ctx, clip, transcribe.Callbacks{}))
})

// A field is a part of a form; the file is one named file.
type field struct{ name, value string }

func form(t *testing.T, fields ...field) (body *bytes.Buffer, kind string) {
	t.Helper()
	body = new(bytes.Buffer)
	w := multipart.NewWriter(body)
	for _, f := range fields {
		if f.name != "file" {
			w.WriteField(f.name, f.value)
			continue
		}
		part, err := w.CreateFormFile("file", "talk.wav")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(part, f.value)
	}
	w.Close()
	return body, w.FormDataContentType()
}

func wav(t *testing.T) field {
	t.Helper()
	data, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	return field{"file", string(data)}
}

// post sends a form and returns the answer.
func post(t *testing.T, url string, fields ...field) (*http.Response, string) {
	t.Helper()
	body, kind := form(t, fields...)
	return ask(t, "POST", url, body, "Content-Type", kind)
}

// ask sends a request with headers, each a name and a value, and returns the answer. A header that is empty is not sent.
func ask(t *testing.T, method, url string, body io.Reader, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for h := range slices.Chunk(headers, 2) {
		if r.Header.Set(h[0], h[1]); h[1] == "" {
			r.Header.Del(h[0])
		}
	}
	r.Host = cmp.Or(r.Header.Get("Host"), r.Host)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got, string(text)
}

const transcriptions = "/v1/audio/transcriptions"

func TestFormats(t *testing.T) {
	h, _ := newServer(t, Options{})
	text := strings.TrimSpace(want().Text)
	var srt, vtt bytes.Buffer
	transcript.Write(&srt, transcript.SRT, want())
	transcript.Write(&vtt, transcript.VTT, want())
	for _, tt := range []struct{ format, kind, body string }{
		{"", "application/json", fmt.Sprintf(`{"text":%q,"languages":[{"code":"en"}],"usage":{"type":"duration","seconds":10}}`+"\n", text)},
		{"text", "text/plain; charset=utf-8", text + "\n"},
		{"srt", "text/plain; charset=utf-8", srt.String()},
		{"vtt", "text/vtt; charset=utf-8", vtt.String()},
	} {
		t.Run(tt.format, func(t *testing.T) {
			// Forms of browsers send empty fields.
			fields := []field{{"model", "whisper-1"}, {"temperature", ""}, {"language", ""}, {"prompt", ""}, wav(t)}
			if tt.format != "" {
				fields = append(fields, field{"response_format", tt.format}) // parts may have any order
			}
			r, body := post(t, h.URL+transcriptions, fields...)
			if r.StatusCode != 200 || r.Header.Get("Content-Type") != tt.kind || body != tt.body {
				t.Errorf("%s %s\n%s\nwant %s\n%s", r.Status, r.Header.Get("Content-Type"), body, tt.kind, tt.body)
			}
			if r.Header.Get(requestIDHeader) == "" {
				t.Error("the answer has no request id")
			}
		})
	}
}

func TestVerbose(t *testing.T) {
	h, _ := newServer(t, Options{})
	for _, asked := range [][]string{nil, {"segment"}, {"word"}, {"word", "segment"}} {
		fields := []field{wav(t), {"response_format", "verbose_json"}}
		for _, g := range asked {
			fields = append(fields, field{"timestamp_granularities[]", g})
		}
		r, body := post(t, h.URL+transcriptions, fields...)
		var v verboseTranscript
		if err := json.Unmarshal([]byte(body), &v); err != nil || r.StatusCode != 200 {
			t.Fatalf("%v: %s: %v\n%s", asked, r.Status, err, body)
		}
		if v.Language != "english" || v.Task != "transcribe" || v.Duration != want().Duration ||
			v.Text != strings.TrimSpace(want().Text) {
			t.Errorf("%v: %+v", asked, v)
		}
		segments, words := asked == nil || slices.Contains(asked, "segment"), slices.Contains(asked, "word")
		if (v.Segments != nil) != segments || (v.Words != nil) != words {
			t.Errorf("%v: %d segments and %d words", asked, len(v.Segments), len(v.Words))
		}
		if words && len(v.Words) != len(strings.Fields(want().Text)) {
			t.Errorf("%v: %d words: %+v, want those of %q", asked, len(v.Words), v.Words, want().Text)
		}
		// With words, segments begin where their words do.
		if segments && (len(v.Segments) != len(want().Segments) || !words && v.Segments[1].Start != want().Segments[1].Start) {
			t.Errorf("%v: segments %+v", asked, v.Segments)
		}
	}
}

// foreign returns the sound in a format of ffmpeg.
func foreign(t *testing.T, name string) field {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("ffmpeg", "-v", "error", "-i", sound, "-c:a", "aac", "-ar", "16000", file).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	return field{"file", string(must(os.ReadFile(file)))}
}

// TestCommonFormats: ffmpeg reads formats of phones and recorders, and no others.
func TestCommonFormats(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("needs ffmpeg: it is not installed")
	}
	h, _ := newServer(t, Options{Sound: audio.Input{FFmpeg: audio.FFmpegAuto, CommonFormatsOnly: true}})
	for name, status := range map[string]int{"x.m4a": 200, "x.mp4": 200, "x.mkv": 200, "x.avi": 400} {
		r, body := post(t, h.URL+transcriptions, foreign(t, name), field{"response_format", "text"})
		if r.StatusCode != status || status == 200 && len(strings.Fields(body)) < 5 {
			t.Errorf("%s: %s %s", name, r.Status, body)
		}
	}
}

func TestStream(t *testing.T) {
	h, _ := newServer(t, Options{})
	r, body := post(t, h.URL+transcriptions, wav(t), field{"stream", "true"},
		field{"timestamp_granularities[]", "segment"}, field{"include[]", "logprobs"})
	if r.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %s", r.Status, r.Header.Get("Content-Type"))
	}
	text, segments, done := "", 0, ""
	for _, line := range strings.Split(body, "\n") {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var e struct {
			Type, Delta, Text string
			LogProbs          []logProb
		}
		if err := json.Unmarshal([]byte("{"+data), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch e.Type {
		case "transcript.text.delta":
			text += e.Delta
			checkLogProbs(t, e.LogProbs, e.Delta)
		case "transcript.text.segment":
			segments++
			if !strings.Contains(data, `"speaker":""`) {
				t.Errorf("%s has no speaker, which OpenAI's description requires", data)
			}
		case "transcript.text.done":
			done = e.Text
			checkLogProbs(t, e.LogProbs, done)
		}
	}
	if w := strings.TrimSpace(want().Text); text != w || done != w || segments != len(want().Segments) {
		t.Errorf("deltas %q, done %q, %d segments, want %q and %d", text, done, segments, w, len(want().Segments))
	}
	if !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("the stream ends with %q", body[len(body)-40:])
	}
}

// checkLogProbs checks that tokens spell a text and that their bytes do.
func checkLogProbs(t *testing.T, list []logProb, want string) {
	t.Helper()
	text, spelled := "", ""
	for _, p := range list {
		text += p.Token
		for _, b := range p.Bytes {
			spelled += string(rune(b)) // the demo model writes ASCII
		}
		if !(p.LogProb <= 0 && p.LogProb > -20) {
			t.Errorf("%q has the log-probability %v", p.Token, p.LogProb)
		}
	}
	if text != want || spelled != want {
		t.Errorf("tokens spell %q, bytes %q, want %q", text, spelled, want)
	}
}

func TestRefused(t *testing.T) {
	h, _ := newServer(t, Options{MaxBytes: 1 << 20})
	many := make([]field, maxParts+1)
	for i := range many {
		many[i] = field{"x", "y"}
	}
	tests := []struct {
		why    string
		fields []field
		status int
		param  string
		text   string
	}{
		{"no file", []field{{"model", "whisper-1"}}, 400, "file", "part named file is missing"},
		{"a file of another name", []field{{"fle", "x"}}, 400, "file", "There is no field fle."},
		{"a long file of another name", []field{{"fle", strings.Repeat("x", maxField+1)}}, 400, "fle", "There is no field fle."},
		{"two languages", []field{{"language", "en"}, wav(t), {"language", "en"}, {"language", "de"}}, 400, "language", `got "de", want one value: the form also has "en"`},
		{"two files", []field{wav(t), wav(t)}, 400, "file", "two parts named file"},
		{"no format", []field{wav(t), {"response_format", "docx"}}, 400, "response_format", "one of json, text"},
		{"not a number", []field{wav(t), {"temperature", "NaN"}}, 400, "temperature", "from 0 to 1"},
		{"not a boolean", []field{wav(t), {"stream", "perhaps"}}, 400, "stream", "true or false"},
		{"granularity", []field{wav(t), {"timestamp_granularities[]", "letter"}}, 400, "timestamp_granularities[]",
			"word or segment"},
		{"a stream of srt", []field{wav(t), {"stream", "true"}, {"response_format", "srt"}}, 400, "response_format", "json, text or"},
		{"words as text", []field{wav(t), {"timestamp_granularities[]", "word"}}, 400, "timestamp_granularities[]",
			"verbose_json"},
		{"log-probabilities of srt", []field{wav(t), {"include[]", "logprobs"}, {"response_format", "srt"}}, 400, "include[]",
			"logprobs needs response_format json, got srt"},
		{"progress without a stream", []field{wav(t), {"include[]", withProgress}}, 400, "include[]", "stream=true"},
		{"a language among several", []field{wav(t), {"languages[]", "en"}, {"languages[]", "klingon"}}, 400, "languages[]",
			"codes of languages"},
		{"keywords without end", []field{wav(t), {"keywords[]", strings.Repeat("x", maxField)}, {"keywords[]", "y"}}, 400,
			"keywords[]", "want at most 200"},
		{"a language it does not know", []field{wav(t), {"language", "klingon"}}, 400, "language", "does not know it"},
		{"not sound", []field{{"file", "this is text, and no sound at all"}}, 400, "file", "cannot be read as sound"},
		{"an unsupported format", []field{{"file", "\x00\x00\x00\x20ftypM4A "}}, 400, "file", "cannot be read as sound"},
		{"nothing", []field{{"file", ""}}, 400, "file", "cannot be read as sound"},
		{"damaged", []field{{"file", wav(t).value[:30]}}, 400, "file", "cannot be read as sound"},
		{"too large", []field{{"file", strings.Repeat("x", 1<<20+1)}}, 413, "file", "more than 1 MiB"},
		{"a long field", []field{{"prompt", strings.Repeat("x", maxField+1)}, wav(t)}, 400, "prompt", "more than"},
		{"a long draft", []field{{"draft", strings.Repeat("x", maxDraft+1)}, wav(t)}, 400, "draft", "more than"},
		{"a text of another recording", []field{{"align", "every measure pursued by the commons and still more"}, wav(t)}, 400, "align", "not that of the recording"},
		{"a text without words", []field{{"align", " \n"}, wav(t)}, 400, "align", "empty"},
		{"many parts", many, 400, "", "more than 4000 parts"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			r, body := post(t, h.URL+transcriptions, tt.fields...)
			checkProblem(t, r, body, tt.status, tt.param, tt.text)
		})
	}
	for kind, want := range map[string]string{"application/json": "multipart", "multipart/form-data": "has no boundary"} {
		r, body := ask(t, "POST", h.URL+transcriptions, strings.NewReader("{}"), "Content-Type", kind)
		checkProblem(t, r, body, 400, "", want)
	}
}

// TestUnusualForms: the name of a file matters for messages alone, a boundary needs no quotes, and each element of a list may be
// a part.
func TestUnusualForms(t *testing.T) {
	h, _ := newServer(t, Options{})
	for disposition, status := range map[string]int{
		`name="file"; filename="my "best" talk.wav"`: 200, `name="file"; filename="C:\rec\"`: 200,
		`name="file"; filename=my talk.wav`: 200, `name="file"; filename=café.wav`: 200, `name="file"; filename=\xff.wav`: 200,
		`name="file"; filename=Rec 23:21.webm`: 200, `name="file"; filename="x.wav"; filename="y.wav"`: 200, `filename=a b.wav`: 400,
	} {
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, "--a:b=c\r\nContent-Disposition: form-data; name=\"keywords[]\"\r\n\r\nName%d\r\n", i)
		}
		fmt.Fprintf(&b, "--a:b=c\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n--a:b=c--\r\n", disposition, wav(t).value)
		r, body := ask(t, "POST", h.URL+transcriptions, strings.NewReader(b.String()), "Content-Type", "multipart/form-data; boundary=a:b=c")
		if r.StatusCode != status || status == 400 && !strings.Contains(body, "a b.wav") {
			t.Errorf("%s: %s %s", disposition, r.Status, body)
		}
	}
}

// checkProblem checks an error in OpenAI's form.
func checkProblem(t *testing.T, r *http.Response, body string, status int, param, text string) {
	t.Helper()
	var e struct {
		Error struct {
			Message, Type, Code string
			Param               *string
		}
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatalf("%s is no error of OpenAI's: %v\n%s", r.Status, err, body)
	}
	got := ""
	if e.Error.Param != nil {
		got = *e.Error.Param
	}
	if r.StatusCode != status || got != param || !strings.Contains(e.Error.Message, text) || e.Error.Type == "" {
		t.Errorf("%s, %q: %s\nwant %d, %q, …%s…", r.Status, got, body, status, param, text)
	}
	if status < 500 && e.Error.Code == "" {
		t.Errorf("the error has no code: %s", body)
	}
	if strings.Contains(body, os.TempDir()) || strings.Contains(body, "ffmpeg") { // the client cannot install it
		t.Errorf("the answer names a file or a program of the server: %s", body)
	}
}

// TestBomb: a small file with days of silence is refused before it is transcribed.
func TestBomb(t *testing.T) {
	var b bytes.Buffer
	enc, err := flac.NewEncoder(&b, &meta.StreamInfo{
		BlockSizeMin: 65535, BlockSizeMax: 65535, SampleRate: 8000, NChannels: 1, BitsPerSample: 16,
	})
	if err != nil {
		t.Fatal(err)
	}
	head := b.Len()
	silence := make([]int32, 65535)
	if err := enc.WriteFrame(&frame.Frame{
		Header: frame.Header{HasFixedBlockSize: true, BlockSize: 65535, SampleRate: 8000, Channels: frame.ChannelsMono,
			BitsPerSample: 16},
		Subframes: []*frame.Subframe{{
			SubHeader: frame.SubHeader{Pred: frame.PredConstant}, Samples: silence, NSamples: len(silence),
		}},
	}); err != nil {
		t.Fatal(err)
	}
	one := b.String()[head:]
	bomb := b.String() + strings.Repeat(one, 40000)
	t.Logf("%d bytes hold %v", len(bomb), time.Duration(40001*65535/8000)*time.Second)
	h, _ := newServer(t, Options{MaxAudio: time.Minute})
	r, body := post(t, h.URL+transcriptions, field{"file", bomb})
	checkProblem(t, r, body, 413, "file", "longer than 1m: split it")
}

// TestQueueFull: a request that finds the queue full learns when to try again.
func TestQueueFull(t *testing.T) {
	h, s := newServer(t, Options{Turns: 1, Waiting: 1})
	var leave []func()
	for range 2 {
		p, err := s.queue.join(100)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, func() { s.queue.leave(p) })
	}
	r, body := post(t, h.URL+transcriptions, wav(t))
	checkProblem(t, r, body, 429, "", "try again later")
	if got := r.Header.Get("Retry-After"); got != retryAfter {
		t.Errorf("Retry-After %q, want %q", got, retryAfter)
	}
	for _, l := range leave {
		l()
	}
	if r, _ := post(t, h.URL+transcriptions, wav(t)); r.StatusCode != 200 {
		t.Errorf("afterwards: %s", r.Status)
	}
}

// keys returns the option for fixed keys.
func keys(list ...string) func() []Key {
	return func() (all []Key) {
		for _, secret := range list {
			all = append(all, Key{Secret: secret})
		}
		return all
	}
}

// TestClientGone: a client that disappears while it waits leaves the queue and counts as gone, even if its stream has
// begun with status 200.
func TestClientGone(t *testing.T) {
	for _, stream := range []string{"false", "true"} {
		h, s := newServer(t, Options{Turns: 1})
		hangUp(t, h, s, stream)
		h.Close() // the request is counted after its answer
		r := httptest.NewRecorder()
		s.ServeHTTP(r, httptest.NewRequest("GET", "http://localhost/metrics", nil))
		want := `verity_requests_total{code="499",method="POST",route="/v1/audio/transcriptions"} 1`
		if !strings.Contains(r.Body.String(), want) {
			t.Errorf("stream %s: /metrics has no %s", stream, want)
		}
	}
}

func hangUp(t *testing.T, h *httptest.Server, s *Server, stream string) {
	free := occupy(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	body, kind := form(t, wav(t), field{"stream", stream})
	r, err := http.NewRequestWithContext(ctx, "POST", h.URL+transcriptions, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	ended := make(chan error)
	go func() {
		a, err := http.DefaultClient.Do(r)
		if err == nil { // a stream begins at once
			_, err = io.Copy(io.Discard, a.Body)
			a.Body.Close()
		}
		ended <- err
	}()
	for s.queue.waiting() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the request succeeded")
	}
	for inside(s) != 1 {
		time.Sleep(time.Millisecond)
	}
	free()
}

// TestMethods: a known path with another method is refused with its methods. An unknown path is not found, with any
// method.
func TestMethods(t *testing.T) {
	h, _ := newServer(t, Options{})
	for _, tt := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", transcriptions, 405, "POST"},
		{"DELETE", "/v1/models/whisper-1", 405, "GET, HEAD"},
		{"POST", "/", 405, "GET, HEAD"},
		{"GET", "/v1/audio/speech", 404, ""},
		{"PROPFIND", "/nothing", 404, ""},
	} {
		got, body := ask(t, tt.method, h.URL+tt.path, nil)
		if got.Header.Get("Allow") != tt.allow {
			t.Errorf("%s %s: Allow %q, want %q", tt.method, tt.path, got.Header.Get("Allow"), tt.allow)
		}
		text := "Unknown request URL: " + tt.method + " " + tt.path
		if tt.status == 405 {
			text = tt.path + " takes " + strings.Split(tt.allow, ",")[0]
		}
		checkProblem(t, got, body, tt.status, "", text)
	}
}

func TestKeys(t *testing.T) {
	h, _ := newServer(t, Options{Keys: keys("one", "two")})
	for key, want := range map[string]struct {
		status int
		text   string
	}{"": {401, "is missing"}, "three": {401, "does not know"}, "tw": {401, "does not know"}, "one": {200, ""}, "two": {200, ""}} {
		got, text := ask(t, "GET", h.URL+"/v1/models", nil, "Authorization", strings.TrimSuffix("Bearer "+key, "Bearer "))
		if got.StatusCode != want.status || !strings.Contains(text, want.text) {
			t.Errorf("key %q: %s %s, want %v", key, got.Status, text, want)
		}
	}
	if r, _ := ask(t, "GET", h.URL+"/healthz", nil); r.StatusCode != 200 {
		t.Error("/healthz asks for a key")
	}
}

func TestOrigins(t *testing.T) {
	h, _ := newServer(t, Options{Origins: []string{
		"https://example.org", "https://*.example.com", "http://*.example.net:8080", DesktopOrigins,
	}})
	for origin, allowed := range map[string]bool{
		"https://example.org": true, "https://elsewhere.org": false, "http://example.org": false, "null": false,
		"https://example.org:8443": false, "https://www.example.org": false,
		"https://www.example.com": true, "https://a.b.example.com": true, "https://example.com": false,
		"https://badexample.com": false, "http://www.example.com": false, "https://www.example.com.evil.org": false,
		"http://a.example.net:8080": true, "http://a.example.net": false,
		"app://obsidian.md": true, "tauri://localhost": true, "http://tauri.localhost": true,
		"https://tauri.localhost": true, "capacitor://localhost": true, "vscode-webview://0123": true,
		"https://app": false, "https://tauri.localhost.evil.org": false, "file://": false, "app": false,
	} {
		got, _ := ask(t, "GET", h.URL+"/v1/models", nil, "Origin", origin)
		status, header := 403, ""
		if allowed {
			status, header = 200, origin
		}
		if got.StatusCode != status || got.Header.Get("Access-Control-Allow-Origin") != header {
			t.Errorf("origin %q: %s, allowed %q, want %d", origin, got.Status, got.Header["Access-Control-Allow-Origin"], status)
		}
	}
	for _, origin := range []string{"", h.URL} {
		if got, _ := ask(t, "GET", h.URL+"/v1/models", nil, "Origin", origin); got.StatusCode != 200 {
			t.Errorf("origin %q: %s", origin, got.Status)
		}
	}
}

// TestPreflight: OpenAI's client in a page of another origin may send its headers and read ours.
func TestPreflight(t *testing.T) {
	h, _ := newServer(t, Options{Origins: []string{"https://example.org"}, Keys: keys("k")})
	const header, asked = "Access-Control-Request-Headers", "authorization,content-type,x-stainless-arch,x-stainless-os,x-stainless-retry-count"
	got, _ := ask(t, "OPTIONS", h.URL+transcriptions, nil, "Origin", "https://example.org", header, asked)
	if got.StatusCode != 204 || got.Header.Get("Access-Control-Allow-Headers") != asked ||
		got.Header.Get("Access-Control-Max-Age") == "" || got.Header.Get("Access-Control-Allow-Methods") != "GET, POST" {
		t.Errorf("the question is answered with %s, %v", got.Status, got.Header)
	}
	if got, _ := ask(t, "OPTIONS", h.URL+transcriptions, nil, "Origin", "https://evil.org", header, asked); got.StatusCode != 403 {
		t.Errorf("the question of another origin: %s", got.Status)
	}
	got, _ = ask(t, "GET", h.URL+"/v1/models", nil, "Origin", "https://example.org")
	for _, name := range []string{"X-Request-Id", "Retry-After", "X-Verity-Ignored", "X-Verity-Warning"} {
		if !strings.Contains(got.Header.Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("pages may not read %s", name)
		}
	}
}

// TestRebound: a page whose host name was made to point at this machine is refused.
func TestRebound(t *testing.T) {
	for _, keys := range []func() []Key{nil, keys("k")} {
		h, _ := newServer(t, Options{Keys: keys, Origins: []string{"https://named.example"}})
		for host, status := range map[string]int{
			"localhost:8000": 200, "127.0.0.1:8000": 200, "[::1]:8000": 200, "verity.localhost": 200, "localhost": 200,
			"evil.example": 403, "evil.example:8000": 403, "localhost.evil.example": 403, "named.example": 200,
			must(os.Hostname()): 200, must(os.Hostname()) + ":8000": 200, must(os.Hostname()) + ".evil.example": 403,
		} {
			if keys != nil {
				status = 200 // a stranger has no key
			}
			for _, origin := range []string{"https://" + host, ""} { // a page's GET of its own origin has none
				got, _ := ask(t, "GET", h.URL+"/v1/models", nil, "Host", host, "Authorization", "Bearer k", "Origin", origin)
				if got.StatusCode != status {
					t.Errorf("%s, origin %q, keys %t: %s, want %d", host, origin, keys != nil, got.Status, status)
				}
			}
		}
	}
}

// TestNoHost: a request without a host is allowed, since probes of HTTP/1.0 send none and no page does.
func TestNoHost(t *testing.T) {
	h, _ := newServer(t, Options{})
	for text, status := range map[string]string{
		"GET /healthz HTTP/1.0\r\n\r\n": "200", "GET /healthz HTTP/1.0\r\nHost: evil.example\r\n\r\n": "403",
		"GET /v1/models HTTP/1.0\r\nOrigin: http://evil.example\r\n\r\n": "403",
	} {
		if why := raw(strings.TrimPrefix(h.URL, "http://"), text, false, status); why != "" {
			t.Errorf("%q: %s", text, why)
		}
	}
}

// TestLog: every line about a request has its id, and no line has its text or prompt.
func TestLog(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h, _ := newServer(t, Options{Log: log, Decoding: transcribe.Options{Log: log}})
	r, body := post(t, h.URL+"/v1/audio/transcriptions", wav(t), field{"prompt", "seven thousand"})
	if r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, body)
	}
	h.Close() // the line of the request is written after its answer
	lines, seen := b.String(), 0
	for line := range strings.Lines(lines) {
		if !strings.Contains(line, " id="+r.Header.Get("X-Request-Id")+" ") {
			t.Errorf("a line without the id of its request: %s", line)
		}
		seen++
	}
	if seen < 3 || !strings.Contains(lines, "msg=decoded") || !strings.Contains(lines, "msg=request") {
		t.Errorf("want the language, the decisions and the request, got %s", lines)
	}
	words := append(strings.Fields(want().Text), "thousand")
	if len(words) < 5 {
		t.Errorf("%d words to look for, want more", len(words))
	}
	for _, word := range words {
		if strings.Contains(lines, word) {
			t.Errorf("the log holds %q: %s", word, lines)
		}
	}
}

// TestRequestLine: the log line of a request says who sent it, with which key, for which model, and how long it waited.
func TestRequestLine(t *testing.T) {
	log, w := io.Pipe()
	lines := make(chan string, 8)
	go func() {
		for in := bufio.NewScanner(log); in.Scan(); {
			lines <- in.Text()
		}
	}()
	t.Cleanup(func() { w.Close() })
	two := func() []Key { return []Key{{"first-secret", "kitchen"}, {"second-secret", ""}} }
	h, _ := newServer(t, Options{Log: slog.New(slog.NewJSONHandler(w, nil)), Keys: two})
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, tt := range []struct {
		headers []string
		want    map[string]string
	}{
		{[]string{"Authorization", "Bearer first-secret"}, map[string]string{
			"client": "127.0.0.1", "key": "kitchen", "model": "whisper", "status": "200", "waited": "", "took": "",
			"audio_seconds": "",
		}},
		{[]string{
			"Authorization", "Bearer second-secret", "X-Request-Id", "from-a-proxy", "X-Client-Request-Id", "mine",
			"Traceparent", "00-" + trace + "-00f067aa0ba902b7-01", "X-Forwarded-For", "10.9.9.9, 192.0.2.7",
		}, map[string]string{
			"id": "from-a-proxy", "client_request_id": "mine", "trace": trace, "client": "192.0.2.7",
			"key": Key{Secret: "second-secret"}.logName(),
		}},
		{[]string{
			"Authorization", "Bearer second-secret", "X-Request-Id", strings.Repeat("x", 129), "X-Client-Request-Id", "a b",
			"Traceparent", "00-" + trace, "X-Forwarded-For", "nobody",
		}, map[string]string{"client": "127.0.0.1"}},
		{[]string{"Authorization", "Bearer wrong"}, map[string]string{"status": "401", "client": "127.0.0.1"}},
	} {
		body, kind := form(t, wav(t))
		a, _ := ask(t, "POST", h.URL+transcriptions, body, append(tt.headers, "Content-Type", kind)...)
		text := <-lines
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for name, want := range tt.want {
			if got := fmt.Sprint(line[name]); line[name] == nil || want != "" && got != want {
				t.Errorf("%v: %s is %s, want %s: %s", tt.headers, name, got, want, text)
			}
		}
		if line["id"] != a.Header.Get(requestIDHeader) || strings.Contains(text, "secret") {
			t.Errorf("the answer has the id %s: %s", a.Header.Get(requestIDHeader), text)
		}
		if slices.Contains(tt.headers, "00-"+trace) && (line["trace"] != nil || line["client_request_id"] != nil) {
			t.Errorf("what is not valid is kept: %s", text)
		}
	}
}

func TestMetrics(t *testing.T) {
	h, _ := newServer(t, Options{Version: "v0"})
	post(t, h.URL+transcriptions, wav(t))
	post(t, h.URL+"/v1/nothing")
	ask(t, "ODD", h.URL+transcriptions, nil)
	_, body := ask(t, "GET", h.URL+"/metrics", nil)
	if problems, err := promlint.New(strings.NewReader(body)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("names: %v, %v", problems, err)
	}
	for _, line := range []string{
		`verity_requests_total{code="200",method="POST",route="/v1/audio/transcriptions"} 1`,
		`verity_requests_total{code="404",method="POST",route="other"} 1`,
		`verity_requests_total{code="405",method="other",route="/v1/audio/transcriptions"} 1`,
		`model="whisper",version="v0"} 1`, "verity_turns_limit 4", "verity_waiting_limit 64", "go_goroutines", "process_",
		"verity_uploads_bytes 0", "verity_uploads_limit_bytes", `verity_audio_seconds_total{model="whisper"} 9.98`, "verity_working 0",
		`verity_waiting_seconds_count{model="whisper"} 1`, `verity_stage_seconds_total{model="whisper",stage="decode"}`,
		"verity_waiting 0",
	} {
		if !strings.Contains(body, line) {
			t.Errorf("/metrics has no %s", line)
		}
	}
	if !strings.Contains(body, "verity_batch_size_count ") ||
		strings.Contains(body, "verity_batch_size_count 0\n") {
		t.Error("/metrics counts no pass of the model")
	}
	h, s := newServer(t, Options{NoMetrics: true})
	for status, handler := range map[int]http.Handler{404: h.Config.Handler, 200: s.Metrics()} {
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/metrics", nil)); w.Code != status {
			t.Errorf("with an address of its own: %d, want %d", w.Code, status)
		}
	}
}

// TestDraft: the answer does not depend on the draft.
func TestDraft(t *testing.T) {
	h, _ := newServer(t, Options{})
	ask := func(draft string) string {
		r, body := post(t, h.URL+transcriptions, wav(t), field{"response_format", "srt"}, field{"draft", draft})
		if r.StatusCode != 200 {
			t.Fatalf("draft %.40q: status %d: %s", draft, r.StatusCode, body)
		}
		return body
	}
	want := ask("")
	for _, draft := range []string{want, "one two three", "{", "\x00\xff<|endoftext|>", strings.Repeat("four ", 1e5)} {
		if got := ask(draft); got != want {
			t.Errorf("draft %.40q: got %s, want %s", draft, got, want)
		}
	}
}

// TestAlign: the answer has the words of the text, in its lines, and says where they differ from the sound.
func TestAlign(t *testing.T) {
	h, _ := newServer(t, Options{})
	late := "1\n00:01:01,000 --> 00:01:02,000\nOne nine\nzero six.\n\n2\n00:01:03,000 --> 00:01:04,000\nHello, eight three five two seven four!\n"
	r, body := post(t, h.URL+transcriptions, wav(t), field{"align", late}, field{"response_format", "srt"})
	if !strings.Contains(body, "\nOne nine\nzero six.\n\n2\n00:00:0") || !strings.Contains(r.Header.Get(warningHeader), "not heard: Hello,") {
		t.Errorf("srt: %s %v, warning %s", body, r.Status, r.Header.Get(warningHeader))
	}
	_, body = post(t, h.URL+transcriptions, wav(t), field{"align", late}, field{"response_format", "verbose_json"}, field{"timestamp_granularities[]", "word"})
	if !strings.Contains(body, `"text":"Hello,"}`) || !strings.Contains(body, `"word":"four!"`) {
		t.Errorf("verbose_json: %s", body)
	}
	_, body = post(t, h.URL+transcriptions, wav(t), field{"align", late}, field{"stream", "true"})
	if !strings.Contains(body, `"differences":[{`) || !strings.Contains(body, `zero six."`) {
		t.Errorf("stream: %s", body)
	}
}

// TestOpenAPI: /openapi.json describes every path, and every field of every form. /docs shows it.
func TestOpenAPI(t *testing.T) {
	h, s := newServer(t, Options{})
	get := func(path string) (*http.Response, string) { return ask(t, "GET", h.URL+path, nil) }
	type answer struct {
		Ref         string `json:"$ref"`
		Description string
	}
	type fields struct{ Properties map[string]any }
	var d struct {
		Paths map[string]map[string]struct {
			Parameters  []struct{ Name string }
			RequestBody struct {
				Content map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					}
				}
			}
			Responses map[string]answer
		}
		Components struct {
			Schemas   map[string]fields
			Responses map[string]answer
		}
	}
	nameOf := func(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }
	_, text := get("/openapi.json")
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	page, html := get("/docs/")
	if page.Request.URL.Path != "/docs" || !strings.Contains(html, `src="page/docs.js"`) ||
		!strings.Contains(page.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("/docs/: %s %v\n%s", page.Request.URL, page.Header, html)
	}
	var routes []string
	for path, methods := range d.Paths {
		for method, o := range methods {
			routes = append(routes, strings.ToUpper(method)+" "+path)
			want := 200
			if path == "/v1/realtime" { // the test does not ask for an upgrade
				want = 426
			}
			if r, _ := get(strings.Replace(path, "{id}", "whisper-1", 1)); method == "get" && r.StatusCode != want {
				t.Errorf("%s: %s", path, r.Status)
			}
			for status, answer := range o.Responses {
				if d.Components.Responses[nameOf(answer.Ref)].Description == "" && answer.Description == "" {
					t.Errorf("%s %s: status %s has no description", method, path, status)
				}
			}
			if key := strings.HasPrefix(path, "/v1/") || method == "post"; key && o.Responses["401"].Ref == "" {
				t.Errorf("%s %s: the missing key is not described", method, path)
			}
		}
	}
	for _, route := range s.patterns {
		route = strings.NewReplacer("{$}", "", "{id...}", "{id}").Replace(route)
		if !strings.Contains(route, " /page/") && !slices.Contains(routes, route) {
			t.Errorf("%s is not described", route)
		}
	}
	for path, a := range map[string]*dialect{transcriptions: openAI, "/asr": whisperASR, "/inference": whisperCPP} {
		o := d.Paths[path]["post"]
		described := []string{a.file}
		for _, p := range o.Parameters {
			described = append(described, p.Name)
		}
		for name := range d.Components.Schemas[nameOf(o.RequestBody.Content["multipart/form-data"].Schema.Ref)].Properties {
			described = append(described, strings.TrimSuffix(name, "[]"))
		}
		wanted := slices.Concat(slices.Collect(maps.Keys(a.fields)), slices.Collect(maps.Keys(a.others)))
		if a == openAI {
			wanted = slices.Concat(slices.Collect(maps.Keys(formFields)), slices.Collect(maps.Keys(listFields)))
			for _, f := range testFields {
				wanted = append(wanted, f.Name)
			}
		}
		for _, name := range wanted {
			if !slices.Contains(described, name) {
				t.Errorf("%s: the field %s is not described", path, name)
			}
		}
	}
}

// FuzzForm: no form causes a panic or leaves anything over.
func FuzzForm(f *testing.F) {
	body, kind := new(bytes.Buffer), ""
	{
		w := multipart.NewWriter(body)
		w.SetBoundary("b")
		w.WriteField("temperature", "0.5")
		p, _ := w.CreateFormFile("file", "x.wav")
		io.WriteString(p, "RIFF\x04\x00\x00\x00WAVE")
		w.Close()
		kind = w.FormDataContentType()
	}
	f.Add(body.String(), kind)
	f.Add("--b\r\n\r\n--b--", "multipart/form-data; boundary=b")
	f.Add("", "multipart/form-data")
	s := must(New(loaded(f), Options{MaxBytes: 1 << 16}))
	f.Fuzz(func(t *testing.T, body, kind string) {
		r := httptest.NewRequest("POST", transcriptions, strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code < 200 || w.Code == 500 || w.Code > 507 {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		if s.uploads.used.Load() != 0 || inside(s) != 0 {
			t.Fatal("something is left over")
		}
	})
}
