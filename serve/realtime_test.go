package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"verity/audio"
	"verity/transcribe/live"
)

// A caller is a client of a realtime session.
type caller struct {
	t    *testing.T
	conn *websocket.Conn
	seen []event
}

// An event is an event of the server, of any type.
type event struct {
	Type       string
	ItemID     string `json:"item_id"`
	Previous   string `json:"previous_item_id"`
	Delta      string
	Text       string
	Speaker    string
	Transcript string
	Start      int64 `json:"audio_start_ms"`
	Stop       int64 `json:"audio_end_ms"`
	Latency    latencyReport
	Ignored    []string
	Languages  []languageCode
	Usage      struct {
		Type    string
		Seconds float64
		Input   int `json:"input_tokens"`
		Output  int `json:"output_tokens"`
		Total   int `json:"total_tokens"`
	}
	Session map[string]any
	Error   struct {
		Type, Code, Message, Param string
		EventID                    string `json:"event_id"`
	}
}

func call(t *testing.T, h *httptest.Server, query string, o *websocket.DialOptions) *caller {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), h.URL+"/v1/realtime"+query, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	return &caller{t: t, conn: conn}
}

// begin opens a session and sends its first update.
func begin(t *testing.T, h *httptest.Server, update string) *caller {
	t.Helper()
	c := call(t, h, "", nil)
	c.send(update)
	c.until("session.updated")
	return c
}

// end closes the session, and waits for the server to end all.
func (c *caller) end(s *Server) {
	c.conn.Close(websocket.StatusNormalClosure, "")
	settle(c.t, s)
}

// sendUtterance sends sound as one utterance and returns its last event.
func (c *caller) sendUtterance(pcm []float32) event {
	c.send(appending(pcm))
	c.send(`{"type":"input_audio_buffer.commit"}`)
	return c.until(done)
}

func (c *caller) send(json string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(json)); err != nil {
		c.t.Fatal(err)
	}
}

// until reads events up to one of a type.
func (c *caller) until(kind string) event {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for {
		_, data, err := c.conn.Read(ctx)
		if err != nil {
			c.t.Fatalf("waiting for %s: %v", kind, err)
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			c.t.Fatalf("%v: %s", err, data)
		}
		c.seen = append(c.seen, e)
		if e.Type == kind {
			return e
		}
		if e.Type == "error" {
			c.t.Fatalf("waiting for %s: %s", kind, data)
		}
	}
}

// text joins the deltas of an item.
func (c *caller) text(item string) (text string) {
	for _, e := range c.seen {
		if e.Type == "conversation.item.input_audio_transcription.delta" && e.ItemID == item {
			text += e.Delta
		}
	}
	return text
}

// appending returns an event that appends samples.
func appending(pcm []float32) string {
	raw := make([]byte, 2*len(pcm))
	for i, v := range pcm {
		binary.LittleEndian.PutUint16(raw[2*i:], uint16(int16(v*32767)))
	}
	return `{"type":"input_audio_buffer.append","audio":"` + base64.StdEncoding.EncodeToString(raw) + `"}`
}

// digitsPCM returns the sound of the tests at 16 kHz.
func digitsPCM(t *testing.T) []float32 { return soundOf(t, sound) }

// soundOf returns the first minute of a file.
func soundOf(t *testing.T, name string) []float32 {
	t.Helper()
	c, err := audio.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pcm := make([]float32, 60*audio.SampleRate)
	n, _ := c.Read(pcm)
	return pcm[:n]
}

const (
	at16k = `{"type":"session.update","session":{"type":"transcription","audio":{"input":{
		"format":{"type":"audio/pcm","rate":16000}}}}}`
	manual = `{"type":"session.update","session":{"type":"transcription","audio":{"input":{
		"format":{"type":"audio/pcm","rate":16000},"turn_detection":null}}}}`
	done = "conversation.item.input_audio_transcription.completed"
)

// TestRealtime: the text of speech arrives while the speech continues, and does not change.
func TestRealtime(t *testing.T) {
	h, s := newServer(t, Options{})
	c := call(t, h, "?intent=transcription", nil)
	// What is not set is missing, since OpenAI's description makes it strings and objects.
	text, _ := json.Marshal(c.until("session.created").Session)
	for _, part := range []string{`"type":"transcription"`, `"include":[]`, `"expires_at":`, `"turn_detection":{`} {
		if !strings.Contains(string(text), part) || strings.Contains(string(text), "null") {
			t.Errorf("session.created: %s, want %s", text, part)
		}
	}
	c.send(`{"type":"session.update","session":{"type":"transcription",
		"include":["item.input_audio_transcription.tentative"],"audio":{"input":{
		"format":{"type":"audio/pcm","rate":16000},
		"turn_detection":{"type":"server_vad","silence_duration_ms":1500}}}}}`)
	c.until("session.updated")
	pcm := append(digitsPCM(t), make([]float32, 3*audio.SampleRate)...)
	for i, piece := range slices.Collect(slices.Chunk(pcm, 3200)) {
		if c.send(appending(piece)); i == 25 || i == 35 { // after 5 s and 7 s
			c.until("conversation.item.input_audio_transcription.tentative")
		}
	}
	e := c.until(done)
	if e.Transcript == "" || c.text(e.ItemID) != e.Transcript {
		t.Errorf("deltas %q, completed %q", c.text(e.ItemID), e.Transcript)
	}
	if e.Latency.Words != len(strings.Fields(e.Transcript)) || e.Latency.P95 < e.Latency.Median || e.Usage.Seconds < 5 {
		t.Errorf("%+v, %v s", e.Latency, e.Usage.Seconds)
	}
	var kinds []string
	for _, e := range c.seen {
		if len(kinds) == 0 || kinds[len(kinds)-1] != e.Type {
			kinds = append(kinds, e.Type)
		}
	}
	for _, kind := range []string{
		"input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped", "input_audio_buffer.committed",
		"conversation.item.added", "conversation.item.input_audio_transcription.tentative",
	} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("no %s: %v", kind, kinds)
		}
	}
	c.end(s)
	_, body := ask(t, "GET", h.URL+"/metrics", nil)
	for _, line := range []string{"verity_live_delay_seconds_count", "verity_live_sessions 0"} {
		if !strings.Contains(body, line) {
			t.Errorf("/metrics has no %s", line)
		}
	}
}

// settle waits until all sessions have ended.
func settle(t *testing.T, s *Server) {
	t.Helper()
	s.sessions.active.Wait()
	if n := s.queue.waiting(); n != 0 {
		t.Errorf("%d passes are in the queue", n)
	}
}

// TestCommit: without turn detection, the client ends utterances.
func TestCommit(t *testing.T) {
	h, s := newServer(t, Options{})
	c := call(t, h, "", nil)
	c.send(manual)
	e := c.until("session.updated")
	if e.Session["audio"].(map[string]any)["input"].(map[string]any)["turn_detection"] != nil {
		t.Errorf("turn_detection: %v", e.Session)
	}
	pcm := digitsPCM(t)
	var items []string
	for _, part := range [][]float32{pcm[:5*audio.SampleRate], pcm[5*audio.SampleRate:]} {
		e := c.sendUtterance(part)
		items = append(items, e.ItemID)
		if e.Transcript == "" || c.text(e.ItemID) != e.Transcript {
			t.Errorf("deltas %q, completed %q", c.text(e.ItemID), e.Transcript)
		}
	}
	for _, e := range c.seen {
		if e.Type == "input_audio_buffer.committed" && e.ItemID == items[1] && e.Previous != items[0] {
			t.Errorf("the item before the second is %q, want %q", e.Previous, items[0])
		}
	}
	c.end(s)
}

// TestClear: cleared sound has no text.
func TestClear(t *testing.T) {
	h, s := newServer(t, Options{Turns: 1})
	c := begin(t, h, manual)
	free := occupy(t, s) // no pass may begin
	c.send(appending(digitsPCM(t)[:2*audio.SampleRate]))
	c.send(`{"type":"input_audio_buffer.clear"}`)
	c.until("input_audio_buffer.cleared")
	free()
	e := c.sendUtterance(digitsPCM(t))
	if e.Usage.Seconds < 9 || e.Usage.Seconds > 11 {
		t.Errorf("%v s, want those after the clear", e.Usage.Seconds)
	}
	c.end(s)
}

// TestBadEvents: each bad event gets one error, and the session continues.
func TestBadEvents(t *testing.T) {
	h, s := newServer(t, Options{})
	c := call(t, h, "", nil)
	input := func(json string) string {
		return `{"type":"session.update","event_id":"mine","session":{"audio":{"input":{` + json + `}}}}`
	}
	tests := []struct{ send, param, text string }{
		{`{`, "", "The event: not JSON: unexpected end"},
		{`[]`, "", "The event: got JSON of type array, want an object"},
		{`{"type":7}`, "type", "type: got JSON of type number, want a string"},
		{`{"type":"response.create"}`, "type", "response.create"},
		{`{"type":"input_audio_buffer.append","audio":"AA*A"}`, "audio", "audio: want base64, got something else at byte 2"},
		{`{"type":"input_audio_buffer.commit"}`, "", "nothing to commit"},
		{`{"type":"session.update"}`, "session", "session: it is missing"},
		{`{"type":"session.update","session":{"audio":{"input":{"format":{"type":"audio/pcm","rate":16000.5}}}}}`,
			"session.audio.input.format.rate", "got JSON of type number, want a whole number"},
		{`{"type":"session.update","session":{"type":"response"}}`, "session.type", "want transcription or realtime"},
		{input(`"format":{"type":"audio/opus"}`), "session.audio.input.format.type", "want audio/pcm, audio/pcmu or audio/pcma"},
		{input(`"format":{"type":"audio/pcm","rate":7999}`), "session.audio.input.format.rate",
			"got 7999, want 8000 to 96000"},
		{input(`"transcription":{"delay":"none"}`), "session.audio.input.transcription.delay", "want minimal, low"},
		{input(`"transcription":{"languages":["en","klingon"]}`), "session.audio.input.transcription.languages",
			"codes of languages"},
		{input(`"transcription":{"keywords":["` + strings.Repeat("x", maxField+1) + `"]}`),
			"session.audio.input.transcription.keywords", "want at most 200"},
		{input(`"transcription":{"language":"klingon"}`), "session.audio.input.transcription.language", "does not know it"},
		{input(`"turn_detection":{"type":"wake_word"}`), "session.audio.input.turn_detection.type", "want server_vad"},
		{input(`"turn_detection":{"type":"server_vad","threshold":7}`), "session.audio.input.turn_detection.threshold",
			"session.audio.input.turn_detection.threshold: got 7"},
		{input(`"turn_detection":{"type":"server_vad","silence_duration_ms":0}`), "session.audio.input.turn_detection.silence_duration_ms",
			"got 0: want 32 to 30000"},
		{input(`"turn_detection":{"type":"server_vad","prefix_padding_ms":-1}`), "session.audio.input.turn_detection.prefix_padding_ms",
			"padding_ms: got -1"},
		{input(`"transcription":{"prompt":"` + strings.Repeat("x", maxField+1) + `"}`),
			"session.audio.input.transcription.prompt", "at most 65536"},
		{appending(make([]float32, 24000*maxMessageSeconds+1)), "audio", "got 2880002 bytes, want at most 2880000"},
		{input(`"turn_detection":{"type":"server_vad","threshold":"high"}`),
			"session.audio.input.turn_detection.threshold", "got JSON of type string, want a number"},
	}
	c.until("session.created")
	for _, tt := range tests {
		c.send(tt.send)
		_, data, err := c.conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != "error" || e.Error.Param != tt.param || !strings.Contains(e.Error.Message, tt.text) ||
			e.Error.Type == "" {
			t.Errorf("%s\n%s\nwant %q, …%s…", tt.send, data, tt.param, tt.text)
		}
		if strings.Contains(tt.send, "mine") && e.Error.EventID != "mine" {
			t.Errorf("the error is about event %q", e.Error.EventID)
		}
	}
	c.send(at16k)
	c.until("session.updated")
	t.Run("too large a message", func(t *testing.T) {
		c.conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"`+strings.Repeat("x", maxMessage)+`"}`))
		for {
			if _, _, err := c.conn.Read(t.Context()); err != nil {
				if code := websocket.CloseStatus(err); code != websocket.StatusMessageTooBig && code != -1 {
					t.Error(err)
				}
				break
			}
		}
	})
	settle(t, s)
}

// TestAppendPieces: the text does not depend on how samples are cut into messages, or base64 into lines.
func TestAppendPieces(t *testing.T) {
	h, s := newServer(t, Options{Turns: 1})
	pcm := digitsPCM(t)[:4*audio.SampleRate]
	raw := make([]byte, 0, 2*len(pcm))
	for _, v := range pcm {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(int16(v*32767)))
	}
	var want string
	for _, sizes := range [][]int{{len(raw)}, {1, 0, 999}, {3, 2, 4097}, {len(raw) - 1, 1}, {1, len(raw) - 1}} {
		c := begin(t, h, manual)
		free := occupy(t, s) // so that there is only one pass
		for rest, i := raw, 0; len(rest) > 0; i++ {
			n := min(sizes[i%len(sizes)], len(rest))
			text := base64.StdEncoding.EncodeToString(rest[:n])
			for at := 76; at < len(text); at += 78 {
				text = text[:at] + `\n` + text[at:]
			}
			c.send(`{"type":"input_audio_buffer.append","audio":"` + text + `"}`)
			rest = rest[n:]
		}
		c.send(`{"type":"input_audio_buffer.append","audio":"AA=="}`) // half a sample without the other half
		c.send(`{"type":"input_audio_buffer.commit"}`)
		c.until("conversation.item.done")
		free()
		e := c.until(done)
		if want == "" {
			want = e.Transcript
		}
		if e.Transcript != want || want == "" || e.Usage.Seconds != 4 {
			t.Errorf("pieces of %v: %q of %v s, want %q", sizes, e.Transcript, e.Usage.Seconds, want)
		}
		c.send(`{"type":"input_audio_buffer.append","audio":"AAAA\\nAA"}`)
		if _, data, err := c.conn.Read(t.Context()); err != nil || !strings.Contains(string(data), "want base64") {
			t.Errorf("%s, %v", data, err)
		}
		c.conn.Close(websocket.StatusNormalClosure, "")
	}
	settle(t, s)
}

// FuzzUpdate: every configuration that a session.update may set is usable.
func FuzzUpdate(f *testing.F) {
	for _, seed := range []string{
		`{"type":"transcription","audio":{"input":{"format":{"type":"audio/pcm","rate":16000},"turn_detection":null}}}`,
		`{"audio":{"input":{"turn_detection":{"threshold":0.1,"prefix_padding_ms":0,"silence_duration_ms":32}}}}`,
		`{"audio":{"input":{"transcription":{"language":"en","prompt":"a"}}},"include":["x"]}`, `null`, `7`,
		`{"audio":{"input":{"turn_detection":{"type":"server_vad","threshold":1e-300}}}}`,
		"{\"audio\":{\"input\":{\"noise_reduction\":\"\xff\"}}}",
	} {
		f.Add([]byte(seed))
	}
	m := loaded(f)
	s := must(New(m, Options{}))
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := s.newConfig("sess_x")
		if err != nil {
			t.Fatal(err)
		}
		config, p := s.applyUpdate(config, data)
		if p != nil {
			if p.Message == "" || p.Status == 0 {
				t.Fatalf("an empty problem: %+v", p)
			}
			return
		}
		x := &session{s: s, config: config}
		x.resetFeed() // panics at a bad rate
		if _, err := live.New(m, config.decoding(s)); err != nil {
			t.Fatal(err)
		}
		if data, err := json.Marshal(config.object()); err != nil || !utf8.Valid(data) {
			t.Fatalf("%q, %v", data, err)
		}
	})
}

// TestSessionRefused: a client that may not begin a session gets the reason over HTTP.
func TestSessionRefused(t *testing.T) {
	h, s := newServer(t, Options{Keys: keys("right"), Sessions: 1})
	key := func(k string) *websocket.DialOptions {
		return &websocket.DialOptions{Subprotocols: []string{"realtime", keyProtocol + k}}
	}
	c := call(t, h, "?intent=transcription", key("right"))
	if c.conn.Subprotocol() != "realtime" {
		t.Errorf("subprotocol %q", c.conn.Subprotocol())
	}
	c.until("session.created")
	evil := key("right")
	evil.HTTPHeader = http.Header{"Origin": {"https://elsewhere.org"}}
	tests := []struct {
		why    string
		query  string
		o      *websocket.DialOptions
		status int
	}{
		{"no key", "", nil, 401},
		{"a wrong key", "", key("wrong"), 401},
		{"a page from elsewhere", "", evil, 403},
		{"another intent", "?intent=conversation", key("right"), 400},
		{"one session too many", "?intent=transcription", key("right"), 429},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			conn, r, err := websocket.Dial(t.Context(), h.URL+"/v1/realtime"+tt.query, tt.o)
			if err == nil {
				conn.CloseNow()
				t.Fatal("the session begins")
			}
			if r == nil || r.StatusCode != tt.status {
				t.Errorf("%v, want %d", err, tt.status)
			}
		})
	}
	if plain, _ := ask(t, "GET", h.URL+"/v1/realtime", nil, "Authorization", "Bearer right"); plain.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("without an upgrade: %v", plain)
	}
	const upgrade = "GET /v1/realtime HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer right\r\n" +
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
	for _, body := range []string{ // net/http would panic
		"Content-Length: 5\r\n\r\n12345", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		if why := raw(strings.TrimPrefix(h.URL, "http://"), upgrade+body, false, "400"); why != "" {
			t.Errorf("%q: %s", body, why)
		}
	}
	c.end(s)
}

// TestSessionClientGone: a client that disappears during speech leaves nothing over, whether a pass runs, waits for a
// turn, or the session waits for room.
func TestSessionClientGone(t *testing.T) {
	h, s := newServer(t, Options{Turns: 1})
	s.pingEvery = 20 * time.Millisecond
	for _, busy := range []bool{false, true} {
		free := func() {}
		if busy {
			free = occupy(t, s)
		}
		c := begin(t, h, manual)
		c.send(appending(digitsPCM(t)))
		written := func() {}
		if busy {
			written = c.flood(appending(make([]float32, (maxMessageSeconds-1)*audio.SampleRate)))
		}
		if n := s.sessions.open(); n != 1 {
			t.Errorf("%d sessions", n)
		}
		c.conn.CloseNow()
		written()
		settle(t, s)
		free()
	}
}

// flood sends a message until the server reads no more. Calling ended waits for the end of the connection.
func (c *caller) flood(message string) (ended func()) {
	var written atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c.conn.Write(c.t.Context(), websocket.MessageText, []byte(message)) == nil {
			written.Add(1)
		}
	}()
	for n := int64(-1); n != written.Load(); time.Sleep(300 * time.Millisecond) {
		n = written.Load()
	}
	return func() { <-done }
}

// TestSessionMemory: the memory of a session is bounded, at any rate and however much the client sends, and is freed
// at its end.
func TestSessionMemory(t *testing.T) {
	h, s := newServer(t, Options{Turns: 1})
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	message := appending(make([]float32, 8000*(maxMessageSeconds-1)))
	before := heap()
	free := occupy(t, s)
	c := begin(t, h, strings.Replace(manual, "16000", "8000", 1))
	written := make(chan struct{})
	go func() {
		defer close(written)
		for range 10 {
			if c.conn.Write(t.Context(), websocket.MessageText, []byte(message)) != nil {
				return
			}
		}
	}()
	time.Sleep(time.Second)
	const most = 25 << 20
	if now := heap(); now-before > most {
		t.Errorf("a session takes %d MB", (now-before)>>20)
	}
	c.conn.CloseNow()
	<-written
	s.sessions.endAll()
	free()
	settle(t, s)
	message = ""
	began := time.Now()
	for heap()-before > 8<<20 && time.Since(began) < patience { // goroutines may end after they are counted
		time.Sleep(50 * time.Millisecond)
	}
	if now := heap(); now-before > 8<<20 {
		t.Errorf("%d MB are in use at the end", (now-before)>>20)
	}
}

// TestSessionIgnored: the answer and the log name members of an update that have no effect.
func TestSessionIgnored(t *testing.T) {
	log, w := io.Pipe()
	h, _ := newServer(t, Options{Log: slog.New(slog.NewTextHandler(w, nil))})
	c := call(t, h, "", nil)
	c.send(`{"type":"session.update","session":{"type":"transcription",
		"include":["item.input_audio_transcription.logprobs","item.input_audio_transcription.words"],"audio":{"input":{
		"noise_reduction":{"type":"near_field"},"transcription":{"language":"en","speed":"low","languages":["en"]},
		"turn_detection":{"type":"semantic_vad","eagerness":"low","idle_timeout_ms":5000}},"output":{"voice":"alloy"}}}}`)
	want := []string{"session.audio.input.noise_reduction", "session.audio.input.transcription.languages",
		"session.audio.input.transcription.speed", "session.audio.input.turn_detection.eagerness", "session.audio.input.turn_detection.idle_timeout_ms",
		"session.audio.input.turn_detection.type=semantic_vad", "session.audio.output", "session.include=item.input_audio_transcription.logprobs"}
	if e := c.until("session.updated"); !slices.Equal(e.Ignored, want) {
		t.Errorf("got %q, want %q", e.Ignored, want)
	}
	c.send(manual)
	if e := c.until("session.updated"); e.Ignored != nil {
		t.Errorf("%s: %q", manual, e.Ignored)
	}
	c.conn.CloseNow()
	if line, err := bufio.NewReader(log).ReadString('\n'); err != nil ||
		!strings.Contains(line, "session.audio.output, session.include=") {
		t.Errorf("the log: %s, %v", line, err)
	}
}

// TestSessionShutdown: on shutdown, the sound so far is transcribed and the client gets an error event.
func TestSessionShutdown(t *testing.T) {
	_, s := newServer(t, Options{})
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runLoaded(ctx, s, func(h *http.Server) error { return h.Serve(l) }, time.Minute) }()
	c := call(t, &httptest.Server{URL: "http://" + l.Addr().String()}, "", nil)
	c.send(manual)
	c.until("session.updated")
	c.send(appending(digitsPCM(t)))
	c.send(manual) // its answer shows that the sound has been read
	c.until("session.updated")
	c.send(appending(digitsPCM(t)))
	c.send(`{"type":"no"}`)
	if e := c.until("error"); !strings.Contains(e.Error.Message, "no") {
		t.Errorf("%+v", e)
	}
	stop()
	for {
		_, data, err := c.conn.Read(t.Context())
		if err != nil {
			if websocket.CloseStatus(err) != websocket.StatusGoingAway {
				t.Error(err)
			}
			break
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		c.seen = append(c.seen, e)
	}
	texts := 0
	for _, e := range c.seen {
		if e.Type == done && e.Transcript != "" {
			texts++
		}
	}
	if texts != 2 {
		t.Errorf("%d texts, want 2", texts)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestGraceUnread: a client that does not read does not delay the end of the grace period.
func TestGraceUnread(t *testing.T) {
	_, s := newServer(t, Options{})
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- runLoaded(ctx, s, func(h *http.Server) error { return h.Serve(l) }, 50*time.Millisecond)
	}()
	c := call(t, &httptest.Server{URL: "http://" + l.Addr().String()}, "", nil)
	update := fmt.Sprintf(`{"type":"session.update","session":{"include":[%q]}}`, strings.Repeat("x", 500_000))
	gone := c.flood(update)
	stop()
	select {
	case err := <-ended:
		if err == nil || errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the end of grace: %v", err)
		}
	case <-time.After(patience):
		t.Error("the server waits for a client that does not read")
	}
	c.conn.CloseNow()
	gone()
}

// wavOf returns a sound file of samples at 16 kHz.
func wavOf(pcm []float32) []byte {
	var b bytes.Buffer
	write := func(v any) { binary.Write(&b, binary.LittleEndian, v) }
	write([]byte("RIFF"))
	write(uint32(36 + 2*len(pcm)))
	write([]byte("WAVEfmt "))
	write(struct {
		Size                    uint32
		Code, Channels          uint16
		Rate, BytesPerSecond    uint32
		BytesPerFrame, BitDepth uint16
	}{16, 1, 1, audio.SampleRate, 2 * audio.SampleRate, 2, 16})
	write([]byte("data"))
	write(uint32(2 * len(pcm)))
	for _, v := range pcm {
		write(int16(v * 32767))
	}
	return b.Bytes()
}
