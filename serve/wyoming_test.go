package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"verity/transcribe"
)

// wyomingServer serves Wyoming and returns its address.
func wyomingServer(t *testing.T, o Options) (*Server, string) {
	t.Helper()
	_, s := newServer(t, o)
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	ended := make(chan error, 1)
	go func() { ended <- s.ServeWyoming(l) }()
	t.Cleanup(func() {
		s.Drain()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, l.Addr().String()
}

// A satellite is a client of Home Assistant's protocol.
type satellite struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func newSatellite(t *testing.T, address string) *satellite {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return &satellite{t, conn, bufio.NewReaderSize(conn, maxWyomingLine)}
}

// send sends an event as the package wyoming 1.10.2 does.
func (x *satellite) send(kind, data, payload string) {
	head := fmt.Sprintf(`{"type": %q, "version": "1.10.2"`, kind)
	if data != "" {
		head += fmt.Sprintf(`, "data_length": %d`, len(data))
	}
	if payload != "" {
		head += fmt.Sprintf(`, "payload_length": %d`, len(payload))
	}
	io.WriteString(x.conn, head+"}\n"+data+payload)
}

// until returns the data of all events up to one of a kind.
func (x *satellite) until(kind string) (kinds []string, data map[string]map[string]any) {
	x.t.Helper()
	data = map[string]map[string]any{}
	for {
		e, err := readWyoming(x.in)
		if err != nil {
			x.t.Fatalf("waiting for %s after %v: %v", kind, kinds, err)
		}
		var one map[string]any
		if json.Unmarshal(e.Data, &one); e.Type == "transcript-chunk" && data[e.Type] != nil {
			one["text"] = data[e.Type]["text"].(string) + one["text"].(string)
		}
		kinds, data[e.Type] = append(kinds, e.Type), one
		if e.Type == kind {
			return kinds, data
		}
	}
}

// sendUtterance sends sound as a microphone of some channels does.
func (x *satellite) sendUtterance(pcm string, channels int) {
	format := fmt.Sprintf(`{"rate": 16000, "width": 2, "channels": %d, "timestamp": null}`, channels)
	x.send("audio-start", format, "")
	for at := 0; at < len(pcm); at += 2048 {
		x.send("audio-chunk", format, pcm[at:min(at+2048, len(pcm))])
	}
	x.send("audio-stop", "", "")
}

// TestWyoming: Home Assistant learns the models, and gets the text that verity transcribe writes, a segment at a time.
func TestWyoming(t *testing.T) {
	_, address := wyomingServer(t, Options{Turns: 1})
	x := newSatellite(t, address)
	x.send("describe", "", "")
	_, data := x.until("info")
	info, _ := json.Marshal(data["info"]["asr"])
	for _, part := range []string{
		`"supports_transcript_streaming":true`, `"languages":["en"]`, `"name":"whisper"`, `"attribution":{"name":`,
	} {
		if !strings.Contains(string(info), part) {
			t.Errorf("info has no %s: %s", part, info)
		}
	}
	x.send("ping", `{"text": "hello"}`, "")
	if _, data := x.until("pong"); data["pong"]["text"] != "hello" {
		t.Errorf("pong: %v", data)
	}
	x.send("select-program", `{"name": "verity"}`, "") // an event that is not known here
	mono := wav(t).value[44:]
	var stereo strings.Builder
	for at := 0; at+1 < len(mono); at += 2 {
		stereo.WriteString(mono[at:at+2] + mono[at:at+2])
	}
	for channels, pcm := range map[int]string{1: mono, 2: stereo.String()} {
		x.send("transcribe", `{"language": "en", "transcript_names": ["Kitchen"], "context": {}}`, "")
		x.sendUtterance(pcm, channels)
		kinds, data := x.until("transcript-stop")
		text := strings.TrimSpace(want().Text)
		if data["transcript"]["text"] != text && channels == 1 || data["transcript"]["language"] != "en" {
			t.Errorf("%d channels: %v, want %q", channels, data["transcript"], text)
		}
		if got := data["transcript-chunk"]["text"].(string); strings.TrimSpace(got) != data["transcript"]["text"] {
			t.Errorf("chunks %q, transcript %q", got, data["transcript"]["text"])
		}
		if kinds[0] != "transcript-start" || len(kinds) < 4 {
			t.Errorf("events %v", kinds)
		}
	}
	for _, start := range []string{"", `{"rate": 48000, "width": 2, "channels": 1}`} { // the chunks' own format counts
		x.send("transcribe", `{"language": "en"}`, "")
		if start != "" {
			x.send("audio-start", start, "")
		}
		x.send("audio-chunk", `{"rate": 16000, "width": 2, "channels": 1}`, mono[:2048])
		x.send("audio-chunk", "", mono[2048:])
		x.send("audio-stop", "", "")
		if _, data := x.until("transcript-stop"); data["transcript"]["text"] != strings.TrimSpace(want().Text) {
			t.Errorf("after audio-start %s: %v", start, data["transcript"])
		}
	}
	x.sendUtterance("", 1)
	if _, data := x.until("transcript-stop"); data["transcript"]["text"] != "" {
		t.Errorf("no sound: %v", data)
	}
}

// TestWyomingErrors: what is wrong gets one error, and the connection ends; the server continues.
func TestWyomingErrors(t *testing.T) {
	s, address := wyomingServer(t, Options{MaxBytes: 1 << 16})
	start := `{"type":"audio-start","data":{"rate":16000,"width":2,"channels":1}}` + "\n"
	for send, want := range map[string]string{
		"GET / HTTP/1.1\r\n":                  "not JSON",
		"[]\n":                                "want an object",
		strings.Repeat("x", maxWyomingLine+1): "more than 65536 bytes",
		`{"type":"audio-chunk","payload_length":999999999}` + "\n":                    "payload, want at most",
		`{"type":"transcribe","data_length":99999999}` + "\n":                         "of data",
		`{"type":"transcribe","data_length":3}` + "\n" + `{x}`:                        "transcribe: not JSON",
		`{"type":"transcribe","data":{"language":7}}` + "\n":                          "language: got JSON of type number",
		`{"type":"audio-chunk"}` + "\n":                                               "no audio-start",
		`{"type":"audio-start","data":{"rate":0,"width":2,"channels":1}}` + "\n":      "got 0 Hz",
		`{"type":"audio-start","data":{"rate":16000,"width":9,"channels":99}}` + "\n": "9 bytes and 99 channels",
		start + `{"type":"audio-chunk","payload_length":2}` + "\nxx" + `{"type":"audio-chunk","data":{"rate":8000,"width":2,"channels":1}}` + "\n": "the format changes",
		start + `{"type":"audio-chunk","payload_length":65500}` + "\n" + strings.Repeat("x", 65500):                                                "more than 65536 bytes",
		`{"type":"transcribe","data":{"language":"klingon"}}` + "\n" + start + `{"type":"audio-stop"}` + "\n":                                      "does not know it",
	} {
		x := newSatellite(t, address)
		go io.WriteString(x.conn, send)
		_, data := x.until("error")
		if text, _ := data["error"]["text"].(string); !strings.Contains(text, want) {
			t.Errorf("%.60q: %q, want %q", send, text, want)
		}
		if _, err := readWyoming(x.in); err == nil {
			t.Errorf("%.60q: the connection continues", send)
		}
	}
	x := newSatellite(t, address) // a client that goes at once
	x.send("ping", "", "")
	x.until("pong") // from here on the server waits for it
	x.conn.Close()
	x = newSatellite(t, address)
	x.send("ping", "", "")
	x.until("pong")
	io.WriteString(x.conn, start+`{"type":"audio-chunk","payload_length":9}`) // and one that goes in the middle
	x.conn.Close()
	settle(t, s)
}

// TestWyomingShutdown: a command that is being transcribed is answered; idle connections are closed. There is a limit of
// connections.
func TestWyomingShutdown(t *testing.T) {
	s, address := wyomingServer(t, Options{Sessions: 2, Turns: 1})
	idle, busy := newSatellite(t, address), newSatellite(t, address)
	idle.send("ping", "", "")
	idle.until("pong")
	free := occupy(t, s)
	busy.sendUtterance(wav(t).value[44:], 1)
	for s.queue.waiting() == 0 {
		time.Sleep(time.Millisecond)
	}
	third := newSatellite(t, address)
	if _, data := third.until("error"); !strings.Contains(fmt.Sprint(data), "live sessions already") {
		t.Errorf("one connection too many: %v", data)
	}
	s.Drain()
	if _, err := readWyoming(idle.in); err == nil {
		t.Error("an idle connection is not closed")
	}
	free()
	if _, data := busy.until("transcript-stop"); data["transcript"]["text"] == "" {
		t.Errorf("the command in progress: %v", data)
	}
	settle(t, s)
}

// FuzzWyoming: no bytes of a client cause a panic or leave anything over.
func FuzzWyoming(f *testing.F) {
	f.Add("{\"type\":\"describe\"}\n")
	f.Add("{\"type\":\"audio-start\",\"data\":{\"rate\":16000,\"width\":2,\"channels\":1}}\n{\"type\":\"audio-stop\"}\n")
	f.Add("{\"type\":\"transcribe\",\"data_length\":2}\n{}")
	_, s := newServer(f, Options{MaxBytes: 1 << 16, Decoding: transcribe.Options{Temperatures: []float64{0}}})
	f.Fuzz(func(t *testing.T, sent string) {
		client, server := net.Pipe()
		go io.Copy(io.Discard, client)
		go func() {
			io.WriteString(client, sent)
			client.Close()
		}()
		s.serveWyoming(server, "test")
		if s.uploads.used.Load() != 0 || inside(s) != 0 || s.sessions.open() != 0 {
			t.Fatal("something is left over")
		}
	})
}
