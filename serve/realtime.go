package serve

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"verity/audio"
	"verity/internal/option"
	"verity/transcribe/live"
)

const (
	maxMessage        = 4 << 20 // bytes: 65 s of PCM at 24 kHz
	maxMessageSeconds = 60      // of sound
	maxIdle           = 5 * time.Minute
	defaultPingEvery  = 10 * time.Second
)

// A session is one realtime connection. One goroutine reads the client's messages; another transcribes, one utterance
// after the other.
type session struct {
	s      *Server
	conn   *websocket.Conn
	id     string
	cancel context.CancelCauseFunc
	sound  *live.Stream // its callbacks run with mu locked

	warnLate sync.Once
	speakers []string // labelled so far; only the goroutine that transcribes uses it

	mu       sync.Mutex // guards the fields below
	config   sessionConfig
	oddByte  []byte // the first half of a sample whose second half is in the next message
	feed     *audio.Feed
	current  *live.Utterance // the open one, or nil
	previous string          // id of the item before it
	ended    bool            // an utterance has ended since the client's last commit
	closed   bool            // further sound is discarded
	arrivals arrivals
	ignored  ignoredNames // of the last update that had some
}

// errClosed is the cause that ends a session normally.
var errClosed = errors.New("the session has ended")

// handleRealtime serves OpenAI's realtime transcription over a WebSocket.
func (s *Server) handleRealtime(w http.ResponseWriter, r *http.Request) {
	config, p := s.admit(r)
	if p != nil {
		s.writeError(w, r, p)
		return
	}
	leave, ok := s.sessions.enter(s.opt.Sessions)
	if !ok {
		s.writeError(w, r, rateLimited("rate_limit_exceeded",
			"There are %d realtime sessions already: try again later.", s.opt.Sessions))
		return
	}
	defer leave()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{"realtime"},
		InsecureSkipVerify: true, // checkOrigin has checked the origin
	})
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxMessage)
	x := &session{
		s: s, conn: conn, id: config.id, config: config,
		sound: live.NewStream(config.transcriber, config.detector()),
	}
	x.sound.OnBegin, x.sound.OnEnd = x.utteranceBegan, x.utteranceEnded
	x.resetFeed()
	addLogFields(r, "ended", x.serve(r))
}

// isWebSocketKey reports whether a key is one that websocket.Accept takes.
func isWebSocketKey(key string) bool {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(key))
	return err == nil && len(b) == 16
}

// admit returns the configuration that a session begins with, or why it cannot begin.
func (s *Server) admit(r *http.Request) (c sessionConfig, p *problem) {
	q := r.URL.Query()
	name := q.Get("model")
	if isConversational(name) { // a session of type realtime; its updates name the model of the transcription
		name = ""
	}
	switch intent := q.Get("intent"); {
	case s.draining.Err() != nil:
		return c, shuttingDown()
	case intent != "" && intent != transcriptionSession:
		return c, badRequest("intent", "intent: got %.80q, want transcription", intent)
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"), !strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Connection"), ",")), "upgrade"):
		return c, clientError(http.StatusUpgradeRequired, "", "upgrade_required",
			"This path is for WebSockets: the request asks for no upgrade.")
	case r.Header.Get("Sec-WebSocket-Version") != "13":
		return c, badRequest("", "Sec-WebSocket-Version: got %.80q, want 13", r.Header.Get("Sec-WebSocket-Version"))
	case !isWebSocketKey(r.Header.Get("Sec-WebSocket-Key")):
		return c, badRequest("", "Sec-WebSocket-Key: got %.80q, want 16 bytes in base64", r.Header.Get("Sec-WebSocket-Key"))
	case r.ContentLength != 0: // net/http would still read it when the connection is no longer its own
		return c, badRequest("", "The request for a WebSocket has a body.")
	}
	c, err := s.newConfig(s.newID("sess"))
	c.name = cmp.Or(name, c.name)
	if errors.As(err, &p) {
		return c, p
	}
	if err != nil {
		why := err.Error()
		if bad, ok := errors.AsType[*option.Error](err); ok {
			why = bad.Reason // without the name of the Go field
		}
		return c, serverError(http.StatusNotImplemented, "The model cannot transcribe live sound: %s", why)
	}
	return c, nil
}

// serve serves until either side ends the session, and returns the cause.
func (x *session) serve(r *http.Request) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	x.cancel = cancel
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(errClosed)
	context.AfterFunc(ctx, x.s.safely(x.id, cancel, func() { x.conn.CloseNow() })) // ends a blocked Read or Write
	defer context.AfterFunc(x.s.sessions.graceOver, x.s.safely(x.id, cancel, func() {
		cancel(errors.New("the grace period of the server is over"))
	}))()
	x.send("session.created", object{"session": x.config.object()})
	all.Go(x.s.safely(x.id, cancel, func() { x.transcribe(ctx) }))
	all.Go(x.s.safely(x.id, cancel, func() { x.watch(ctx) }))
	all.Go(x.s.safely(x.id, cancel, func() { x.ping(ctx) }))
	err := x.handleMessages(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	addLogFields(r, "model", x.s.opt.Name, "audio_seconds", float64(x.sound.Len())/audio.SampleRate)
	if x.ignored != nil {
		addLogFields(r, "ignored", strings.Join(x.ignored, ", "))
	}
	return err
}

// send sends an event and sets its type and id. Names and members of events are OpenAI's, except latency, language,
// words, the text of a tentative event, and ignored. A client that does not read is disconnected.
func (x *session) send(kind string, event object) {
	event["type"], event["event_id"] = kind, fmt.Sprintf("event_%x", x.s.ids.Add(1))
	ctx, cancel := context.WithTimeout(context.Background(), x.s.stall)
	defer cancel()
	if err := x.conn.Write(ctx, websocket.MessageText, marshal(event)); err != nil {
		x.cancel(err)
	}
}

// sendError sends an error event, with the id of the client's event that caused it. The session continues.
func (x *session) sendError(p *problem, cause string) {
	x.send("error", object{"error": p.event(cause)})
}

// event returns p in the form of events.
func (p *problem) event(cause string) object {
	return object{"type": p.Type, "code": p.Code, "message": p.Message, "param": p.Param, "event_id": nilIfEmpty(cause)}
}

// handleMessages handles the client's messages.
func (x *session) handleMessages(ctx context.Context) error {
	idle := time.AfterFunc(maxIdle, x.s.safely(x.id, x.cancel, func() {
		x.end(fmt.Errorf("no message came for %s", span(maxIdle)))
	}))
	defer idle.Stop()
	for {
		kind, data, err := x.conn.Read(ctx)
		if err != nil {
			return err
		}
		idle.Reset(maxIdle)
		if kind != websocket.MessageText {
			x.sendError(badRequest("", "Events are JSON in text messages, got a binary message."), "")
			continue
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			x.sendError(badJSON(err, ""), m.ID)
			continue
		}
		if err := x.waitForRoom(ctx, base64.StdEncoding.DecodedLen(len(m.Audio))); err != nil {
			return err
		}
		if p := x.handle(&m); p != nil {
			x.sendError(p, m.ID)
		}
	}
}

// waitForRoom blocks until the session has room for n more bytes of sound, so that TCP slows the client down.
func (x *session) waitForRoom(ctx context.Context, n int) error {
	x.mu.Lock()
	more := int64(float64(n/x.config.bytesPerSample()) * audio.SampleRate / float64(x.config.rate))
	x.mu.Unlock()
	return x.sound.WaitForRoom(ctx, more)
}

// watch ends the session when the server shuts down, and when the session has lasted too long.
func (x *session) watch(ctx context.Context) {
	longest := x.s.opt.MaxAudio
	select {
	case <-ctx.Done():
	case <-x.s.draining.Done():
		x.end(errors.New("the server is shutting down"))
	case <-time.After(longest):
		x.end(fmt.Errorf("the session is longer than %s: open another one, or ask the operator for more (max-audio)", span(longest)))
	}
}

// ping sends pings until ctx ends. While the session waits for room, it reads nothing, and only a failing ping shows
// that the client has gone: the second one fails. A late pong is not an error. Pings also keep proxies from closing
// the connection.
func (x *session) ping(ctx context.Context) {
	tick := time.NewTicker(x.s.pingEvery)
	defer tick.Stop()
	var pings sync.WaitGroup
	defer pings.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			pings.Go(x.s.safely(x.id, x.cancel, func() { // Ping waits for the pong
				soon, cancel := context.WithTimeout(ctx, x.s.stall)
				defer cancel()
				if err := x.conn.Ping(soon); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					x.cancel(err)
				}
			}))
		}
	}
}

// end stops accepting sound. The sound so far is transcribed, then the connection is closed.
func (x *session) end(why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	x.sendError(serverError(http.StatusServiceUnavailable, "The session ends: %v.", why), "")
	x.commit()
	x.closed = true
	x.sound.Close()
}

// A sessionCount limits the realtime sessions and ends them with the server.
type sessionCount struct {
	count     atomic.Int64
	active    sync.WaitGroup
	graceOver context.Context // done at the end of the grace period
	endAll    func()
}

// enter counts a session, which ends with leave, if there are fewer than limit.
func (c *sessionCount) enter(limit int) (leave func(), ok bool) {
	if c.count.Add(1) > int64(limit) {
		c.count.Add(-1)
		return nil, false
	}
	c.active.Add(1)
	return func() {
		c.count.Add(-1)
		c.active.Done()
	}, true
}

func (c *sessionCount) open() int { return int(c.count.Load()) }
