package serve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"verity/audio"
	"verity/transcribe"
	"verity/transcribe/live"
)

const (
	maxMessage        = 4 << 20         // bytes: 65 s of PCM at 24 kHz
	maxMessageSeconds = 60              // most seconds of sound of a message
	maxIdle           = 5 * time.Minute // the most between two messages
	defaultPingEvery  = 10 * time.Second
)

// A session is one realtime connection. One goroutine reads the client's messages;
// another transcribes, one utterance after the other.
type session struct {
	s      *Server
	conn   *websocket.Conn
	id     string
	beta   bool // use the names of the beta interface
	cancel context.CancelCauseFunc
	leases leases // of the goroutine that reads

	warnLate sync.Once

	mu       sync.Mutex // the fields below
	config   sessionConfig
	oddByte  []byte // of a sample whose other half is in the next message
	feed     *audio.Feed
	sound    *live.Stream
	current  *live.Utterance // the open one, or nil
	previous string          // id of the item before it
	fresh    bool            // an utterance has ended since the client's last commit
	closed   bool            // further sound is discarded
	arrivals arrivals
	delays   wordDelays   // delays in the whole session
	ignored  ignoredNames // of the client's updates, by the last that had some
}

// errClosed is the cause that ends a session normally.
var errClosed = errors.New("the session has ended")

// realtime serves OpenAI's realtime transcription over a WebSocket.
func (s *Server) handleRealtime(w http.ResponseWriter, r *http.Request) {
	k := leases{}
	defer k.release()
	config, p := s.admit(r, k)
	if p != nil {
		addLogFields(r, "error", p.Message)
		writeProblem(w, p)
		return
	}
	leave, ok := s.sessions.enter(s.opt.Sessions)
	if !ok {
		writeProblem(w, rateLimited("rate_limit_exceeded", time.Minute, "There are %d realtime sessions already: try again later.", s.opt.Sessions))
		return
	}
	defer leave()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{"realtime"},
		InsecureSkipVerify: true, // shared has looked at the origin
	})
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxMessage)
	x := &session{
		s: s, conn: conn, id: config.id, config: config, leases: k, sound: live.NewStream(config.transcriber, config.detector()),
		beta: strings.Contains(r.Header.Get("OpenAI-Beta"), "realtime=v1") || slices.Contains(protocols(r), "openai-beta.realtime-v1"),
	}
	x.sound.Begun, x.sound.Ended = x.utteranceBegan, x.utteranceEnded
	x.resetFeed()
	addLogFields(r, "ended", x.run(r))
}

// welcome returns the configuration that a session begins with, or why it cannot begin.
func (s *Server) admit(r *http.Request, k leases) (c sessionConfig, p *problem) {
	q := r.URL.Query()
	h := s.models.find(q.Get("model"))
	switch intent := q.Get("intent"); {
	case s.closing.Load():
		return c, shuttingDown()
	case intent != "" && intent != "transcription":
		return c, badRequest("intent", "intent: got %.80q, want transcription", intent)
	case h == nil:
		return c, s.models.notFound(q.Get("model"))
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return c, clientError(http.StatusUpgradeRequired, "", "", "This path is for WebSockets: the request asks for no upgrade.")
	case r.ContentLength != 0: // which net/http would still read when the connection is no longer its own
		return c, badRequest("", "The request for a WebSocket has a body.")
	}
	c, err := s.newConfig(r.Context(), fmt.Sprintf("sess_%x_%x", s.created.UnixNano(), s.ids.Add(1)), h, k)
	if errors.As(err, &p) {
		return c, p
	}
	if err != nil {
		why := err.Error()
		if option, ok := errors.AsType[*transcribe.OptionError](err); ok {
			why = option.Reason // without its name in Go
		}
		return c, serverError(http.StatusNotImplemented, "The model cannot transcribe live sound: %s", why)
	}
	return c, nil
}

// run serves until either side ends the session, and returns the cause.
func (x *session) run(r *http.Request) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	x.cancel = cancel
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(errClosed)
	context.AfterFunc(ctx, x.s.safely(x.id, cancel, func() { x.conn.CloseNow() })) // ends a Read, and a Write that nobody reads
	defer context.AfterFunc(x.s.sessions.graceOver, x.s.safely(x.id, cancel, func() { cancel(errors.New("the grace period of the server is over")) }))()
	x.send(x.eventName("session.created"), object{"session": x.config.object(x.beta)})
	all.Go(x.s.safely(x.id, cancel, func() { x.transcribe(ctx) }))
	all.Go(x.s.safely(x.id, cancel, func() { x.watchLimits(ctx) }))
	all.Go(x.s.safely(x.id, cancel, func() { x.sendPings(ctx) }))
	err := x.read(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	addLogFields(r, "audio_seconds", float64(x.sound.Len())/audio.SampleRate, "words", x.delays.words,
		"delay_median", x.delays.quantile(0.5), "delay_p95", x.delays.quantile(0.95))
	if x.ignored != nil {
		addLogFields(r, "ignored", strings.Join(x.ignored, ", "))
	}
	return err
}

// name returns the name of a session event.
func (x *session) eventName(event string) string {
	if x.beta {
		return "transcription_" + event
	}
	return event
}

// say sends an event, of which it sets the type and the id. Names and members of events are
// OpenAI's, but for latency, language, words, text of a tentative event, and ignored. A client
// that does not read is disconnected.
func (x *session) send(kind string, event object) {
	event["type"], event["event_id"] = kind, fmt.Sprintf("event_%x", x.s.ids.Add(1))
	ctx, cancel := context.WithTimeout(context.Background(), x.s.stall)
	defer cancel()
	if err := x.conn.Write(ctx, websocket.MessageText, marshal(event)); err != nil {
		x.cancel(err)
	}
}

// complain sends an error event. The session continues.
func (x *session) sendError(p *problem, event string) {
	x.send("error", object{"error": p.event(event)})
}

// event returns p as events have it, with the id of the client's event that caused it.
func (p *problem) event(cause string) object {
	return object{"type": p.Type, "code": p.Code, "message": p.Message, "param": p.Param, "event_id": nilIfEmpty(cause)}
}

// read handles the client's messages.
func (x *session) read(ctx context.Context) error {
	lazy := time.AfterFunc(maxIdle, x.s.safely(x.id, x.cancel, func() { x.end(fmt.Errorf("no message came for %s", span(maxIdle))) }))
	defer lazy.Stop()
	for {
		kind, data, err := x.conn.Read(ctx)
		if err != nil {
			return err
		}
		lazy.Reset(maxIdle)
		if kind != websocket.MessageText {
			x.sendError(badRequest("", "Events are JSON in text messages, got a binary message."), "")
			continue
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			x.sendError(badJSON(err, ""), m.ID)
			continue
		}
		if err := x.waitForRoom(ctx, base64.StdEncoding.DecodedLen(len(m.Audio))/2); err != nil {
			return err
		}
		if p := x.handle(ctx, &m); p != nil {
			x.sendError(p, m.ID)
		}
	}
}

// breathe blocks while there is no room for so many more samples of the client, so that
// TCP slows the client down.
func (x *session) waitForRoom(ctx context.Context, samples int) error {
	x.mu.Lock()
	more := int64(float64(samples) * audio.SampleRate / float64(x.config.rate))
	x.mu.Unlock()
	return x.sound.Wait(ctx, more)
}

// watch ends the session with the server, or at its longest duration.
func (x *session) watchLimits(ctx context.Context) {
	most := time.NewTimer(x.s.opt.MaxAudio)
	defer most.Stop()
	draining := x.s.drained
	for {
		select {
		case <-ctx.Done():
			return
		case <-draining:
			draining = nil
			x.end(errors.New("the server is shutting down"))
		case <-most.C:
			x.end(fmt.Errorf("the session is longer than %s, which is the limit of this server", span(x.s.opt.MaxAudio)))
		}
	}
}

// ping writes to a client that may have gone, which nobody sees while there is no room and nothing
// is read: the second write fails. One that is late with reading, or with the pong, is no matter of
// ours. Proxies see that the connection is used.
func (x *session) sendPings(ctx context.Context) {
	tick := time.NewTicker(x.s.pingEvery)
	defer tick.Stop()
	var sent sync.WaitGroup
	defer sent.Wait()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			sent.Go(x.s.safely(x.id, x.cancel, func() { // it waits for the pong
				soon, cancel := context.WithTimeout(ctx, x.s.stall)
				defer cancel()
				if err := x.conn.Ping(soon); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					x.cancel(err)
				}
			}))
		}
	}
}

// end accepts no more sound. What was said is transcribed, then the connection is
// closed.
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

// sockets counts realtime sessions and ends them with the server.
type sessionCount struct {
	count     atomic.Int64
	active    sync.WaitGroup
	graceOver context.Context // done at the end of the grace period
	endAll    func()
}

// enter admits a session if there are fewer than most, and returns the function by which it leaves.
func (k *sessionCount) enter(most int) (leave func(), ok bool) {
	if k.count.Add(1) > int64(most) {
		k.count.Add(-1)
		return nil, false
	}
	k.active.Add(1)
	return func() {
		if k.count.Add(-1) == 0 {
			debug.FreeOSMemory() // what many sessions took is not wanted soon
		}
		k.active.Done()
	}, true
}

func (k *sessionCount) open() int { return int(k.count.Load()) }
