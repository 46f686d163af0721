package serve

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"verity/audio"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// wyomingVersion is the version of the protocol.
const wyomingVersion = "1.10.0"

// Limits of what a Wyoming client sends at once, in bytes.
const (
	maxWyomingLine    = 64 << 10
	maxWyomingData    = 1 << 20
	maxWyomingPayload = 4 << 20
)

// A wyomingEvent is a message of the Wyoming protocol, which Home Assistant speaks: a line of JSON, then data_length
// bytes of more JSON for Data, then payload_length bytes of Payload.
//
// Source: github.com/OHF-Voice/wyoming, README.md and wyoming/event.py.
type wyomingEvent struct {
	Type    string          `json:"type"`
	Version string          `json:"version,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`

	DataLength    int    `json:"data_length,omitempty"`
	PayloadLength int    `json:"payload_length,omitempty"`
	Payload       []byte `json:"-"`
}

// readWyoming reads an event.
func readWyoming(r *bufio.Reader) (e wyomingEvent, err error) {
	line, err := r.ReadSlice('\n') // at most the buffer, maxWyomingLine
	if errors.Is(err, bufio.ErrBufferFull) {
		return e, badRequest("", "The header of an event has more than %d bytes.", maxWyomingLine)
	}
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return e, badJSON(err, "")
	}
	if e.DataLength < 0 || e.DataLength > maxWyomingData || e.PayloadLength < 0 || e.PayloadLength > maxWyomingPayload {
		return e, badRequest("", "An event has %d bytes of data and %d of payload, want at most %d and %d.",
			e.DataLength, e.PayloadLength, maxWyomingData, maxWyomingPayload)
	}
	if e.DataLength > 0 {
		e.Data = make([]byte, e.DataLength)
		if _, err := io.ReadFull(r, e.Data); err != nil {
			return e, err
		}
	}
	e.Payload = make([]byte, e.PayloadLength)
	_, err = io.ReadFull(r, e.Payload)
	return e, err
}

// A wyomingConn is a connection of a Wyoming client.
type wyomingConn struct {
	s       *Server
	conn    net.Conn
	id      string
	in      *bufio.Reader
	request wyomingRequest
	sound   *upload       // of the utterance that is arriving; nil without
	format  wyomingFormat // of sound
	heard   bool          // sound has samples

	mu      sync.Mutex
	working bool // transcribing: a shutdown waits for it
}

// A wyomingRequest is the data of a transcribe event.
type wyomingRequest struct {
	Name     string   `json:"name"`
	Language string   `json:"language"`
	Names    []string `json:"transcript_names"`
	Terms    []string `json:"transcript_terms"`
}

// A wyomingFormat is the data of the events with sound.
type wyomingFormat struct {
	Rate     int `json:"rate"`
	Width    int `json:"width"` // bytes of a sample
	Channels int `json:"channels"`
}

// ServeWyoming serves the Wyoming protocol, by which Home Assistant uses a server for its voice assistants, until
// Drain. It closes l. The protocol has no keys: whoever reaches l may use the server.
func (s *Server) ServeWyoming(l net.Listener) error {
	ignore := func(error) {}
	defer context.AfterFunc(s.draining, s.safely("wyoming", ignore, func() { l.Close() }))()
	var all sync.WaitGroup
	defer all.Wait()
	for {
		conn, err := l.Accept()
		switch {
		case s.draining.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case err != nil:
			return err
		}
		id := s.newID("wyoming")
		all.Go(s.safely(id, ignore, func() { s.serveWyoming(conn, id) }))
	}
}

// serveWyoming serves a connection.
func (s *Server) serveWyoming(conn net.Conn, id string) {
	defer conn.Close()
	x := &wyomingConn{s: s, conn: conn, id: id, in: bufio.NewReaderSize(conn, maxWyomingLine)}
	defer x.discard()
	leave, ok := s.sessions.enter(s.opt.Sessions)
	if !ok {
		x.sendError(rateLimited("rate_limit_exceeded",
			"There are %d live sessions already: try again later.", s.opt.Sessions))
		return
	}
	defer leave()
	closeConn := func(error) { conn.Close() }
	defer context.AfterFunc(s.sessions.graceOver, s.safely(id, closeConn, func() { conn.Close() }))()
	defer context.AfterFunc(s.draining, s.safely(id, closeConn, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if !x.working {
			conn.Close()
		}
	}))()
	for s.draining.Err() == nil {
		conn.SetReadDeadline(time.Now().Add(maxIdle))
		e, err := readWyoming(x.in)
		if err == nil {
			err = x.handle(e)
		}
		if err != nil {
			if p, ok := errors.AsType[*problem](err); ok { // others are errors of the connection
				x.sendError(p)
			}
			return
		}
	}
}

// handle executes an event. Unknown ones have no effect, as the protocol wants it.
func (x *wyomingConn) handle(e wyomingEvent) error {
	switch e.Type {
	case "describe":
		return x.send("info", x.s.wyomingInfo())
	case "ping":
		if len(e.Data) == 0 {
			return x.send("pong", nil)
		}
		return x.send("pong", e.Data)
	case "transcribe":
		x.request = wyomingRequest{}
		return decodeData(e, &x.request)
	case "audio-start":
		var f wyomingFormat
		if err := decodeData(e, &f); err != nil {
			return err
		}
		return x.startSound(f)
	case "audio-chunk":
		var f wyomingFormat // each chunk may state its own
		if err := decodeData(e, &f); err != nil {
			return err
		}
		stated := f != wyomingFormat{}
		switch {
		case x.sound == nil && !stated:
			return badRequest("", "audio-chunk: there was no audio-start.")
		case x.sound == nil, stated && f != x.format && !x.heard:
			if err := x.startSound(f); err != nil {
				return err
			}
		case stated && f != x.format:
			return badRequest("", "audio-chunk: the format changes from %+v to %+v: send audio-stop before.", x.format, f)
		}
		x.heard = x.heard || len(e.Payload) > 0
		_, err := x.sound.Write(e.Payload)
		return err
	case "audio-stop":
		if x.sound == nil {
			return badRequest("", "audio-stop: there was no audio-start.")
		}
		defer x.discard()
		return x.transcribe()
	}
	return nil
}

func decodeData(e wyomingEvent, to any) error {
	if len(e.Data) == 0 {
		return nil
	}
	if err := json.Unmarshal(e.Data, to); err != nil {
		return badJSON(err, e.Type)
	}
	return nil
}

// startSound begins a new file for the sound, with the header of a WAV file of unknown length.
func (x *wyomingConn) startSound(f wyomingFormat) (err error) {
	x.discard()
	if f.Rate < minSampleRate || f.Rate > maxSampleRate || f.Width < 1 || f.Width > 4 || f.Channels < 1 || f.Channels > 8 {
		return badRequest("", "sound: got %d Hz, %d bytes and %d channels, want %d to %d, 1 to 4 and 1 to 8",
			f.Rate, f.Width, f.Channels, minSampleRate, maxSampleRate)
	}
	x.format, x.heard = f, false
	if x.sound, err = x.s.uploads.create(x.s.opt.MaxBytes); err != nil {
		return err
	}
	_, err = x.sound.Write(audio.WAVHeader(f.Rate, f.Channels, f.Width, math.MaxUint32))
	return err
}

// discard removes the sound.
func (x *wyomingConn) discard() {
	if x.sound != nil {
		x.sound.remove()
		x.sound = nil
	}
}

// setWorking records whether the connection transcribes.
func (x *wyomingConn) setWorking(working bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.working = working
}

// transcribe answers the sound so far: each segment at once, then the whole text.
func (x *wyomingConn) transcribe() error {
	s, began := x.s, time.Now()
	x.setWorking(true)
	defer x.setWorking(false)
	s.inProgress.Add(1)
	defer s.inProgress.Add(-1)
	ctx, cancel := context.WithTimeout(context.Background(), s.opt.Timeout)
	defer cancel()
	defer context.AfterFunc(s.sessions.graceOver, s.safely(x.id, func(error) { cancel() }, cancel))()
	tr, waited, err := x.transcribeSound(ctx)
	fields := []any{"id", x.id, "client", clientAddress(x.conn.RemoteAddr().String()), "waited", waited, "took", time.Since(began)}
	if err != nil {
		p := s.problemOf(err)
		if p == nil {
			s.opt.Log.Error("request failed", "id", x.id, "error", err)
			p = serverError(http.StatusInternalServerError, "The server failed to transcribe the sound. Its log has the reason.")
		}
		s.opt.Log.Info("wyoming", append(fields, "error", p.Message)...)
		return p
	}
	s.metrics.addTranscript(s.opt.Name, tr)
	s.metrics.waited.WithLabelValues(s.opt.Name).Observe(waited.Seconds())
	s.opt.Log.Info("wyoming", append(fields, "model", s.opt.Name, "audio_seconds", tr.Duration, "language", tr.Language)...)
	if err := x.send("transcript", object{"text": tokenizer.Strip(tr.Text), "language": tr.Language}); err != nil {
		return err
	}
	return x.send("transcript-stop", nil)
}

// terms returns the names and terms of the request that can be used. They are names of rooms and devices, not lines of
// a file of terms, so one that cannot be used is left out, and the log has how many were.
func (x *wyomingConn) terms() (terms []transcribe.Term) {
	unused := 0
	for _, name := range slices.Concat(x.request.Names, x.request.Terms) {
		if term, err := transcribe.ParseTerm(name); err == nil && len(terms) < maxKeywords {
			terms = append(terms, term)
		} else if strings.TrimSpace(name) != "" {
			unused++
		}
	}
	if unused > 0 {
		x.s.opt.Log.Warn("names and terms of a request are left out", "id", x.id, "number", unused)
	}
	return terms
}

// transcribeSound transcribes the sound so far.
func (x *wyomingConn) transcribeSound(ctx context.Context) (
	tr *transcript.Transcript, waited time.Duration, err error,
) {
	s, q := x.s, x.request
	decoding := s.opt.Decoding
	decoding.Language = cmp.Or(languageOf(q.Language), decoding.Language)
	decoding.Terms = slices.Concat(decoding.Terms, x.terms())
	decoding.Log = withField(decoding.Log, "id", x.id)
	t, err := transcribe.New(s.model, withDefaults(decoding, false))
	if err != nil {
		return nil, 0, err
	}
	clip, err := s.opt.Sound.OpenFile(ctx, "the sound", x.sound.file.File)
	if err != nil {
		return nil, 0, err
	}
	defer clip.Close()
	if err := x.send("transcript-start", object{"language": nilIfEmpty(decoding.Language)}); err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	joined := func(*ticket, bool, context.CancelCauseFunc) {}
	return s.transcribeInTurn(ctx, t, clip, x.sound.size, joined, transcribe.Callbacks{Segment: func(g transcript.Segment) {
		if g.Text == "" {
			return
		}
		if err := x.send("transcript-chunk", object{"text": g.Text}); err != nil {
			cancel(err)
		}
	}})
}

// send sends an event. A client that does not read is disconnected.
func (x *wyomingConn) send(kind string, data any) error {
	e := wyomingEvent{Type: kind, Version: wyomingVersion}
	var body []byte
	if data != nil {
		body = marshal(data)
		e.DataLength = len(body)
	}
	x.conn.SetWriteDeadline(time.Now().Add(x.s.stall))
	_, err := x.conn.Write(slices.Concat(marshal(e), []byte("\n"), body))
	return err
}

// sendError sends an error, after which the connection is closed: clients expect no transcript then.
func (x *wyomingConn) sendError(p *problem) {
	data := object{"text": p.Message}
	if p.Code != nil {
		data["code"] = *p.Code
	}
	x.send("error", data)
}

// wyomingInfo describes the model of the server.
func (s *Server) wyomingInfo() object {
	by := object{"name": "OpenAI", "url": "https://github.com/openai/whisper"}
	artifact := func(name, description string) object {
		return object{"name": name, "description": description, "attribution": by, "installed": true,
			"version": nilIfEmpty(s.opt.Version)}
	}
	codes := []string{}
	for _, l := range languages(s.model) {
		codes = append(codes, l.Code)
	}
	model := artifact(s.opt.Name, s.opt.Name)
	model["languages"] = codes
	program := artifact("verity", "Speech to text with Whisper models")
	program["models"], program["supports_transcript_streaming"] = []object{model}, true
	return object{
		"asr": []object{program}, "tts": []any{}, "handle": []any{}, "intent": []any{}, "wake": []any{}, "mic": []any{},
		"snd": []any{},
	}
}
