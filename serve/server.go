package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"verity/audio"
	"verity/internal/show"
	"verity/transcribe"
)

// Options configures New. The zero value serves every client that can connect, four
// requests at a time.
type Options struct {
	// Name is the id of the model in /v1/models. Empty means "whisper".
	Name string

	// More are models that requests may name instead, and that are loaded on first use.
	More []Source

	// MaxMemory is the most bytes that those of More may take together. 0 means any.
	MaxMemory int64

	// Aliases are further names by which requests may call the first model; "*" is any. Its name
	// with or without "openai/whisper-" and the like, and OpenAI's names, need none.
	Aliases []string

	// Version is that of the program, for metrics.
	Version string

	// Turns is how many requests are transcribed at the same time. 0 means 4.
	Turns int

	// Waiting is how many more may wait for a turn. 0 means 64; negative none.
	Waiting int

	// Sessions is how many realtime sessions there may be. 0 means 16; negative none.
	Sessions int

	// MaxBytes is the most bytes of one upload. 0 means 512 MiB.
	MaxBytes int64

	// MaxAudio is the longest sound, and the longest realtime session. 0 means six hours.
	MaxAudio time.Duration

	// Timeout is the most time for a request, from its first byte to the answer. 0
	// means two hours.
	Timeout time.Duration

	// Keys returns the API keys that are accepted at present. Nil means that none is needed.
	Keys func() []string

	// Origins are the web origins whose pages may call the API, "*" for all. None
	// means only the page of this server.
	Origins []string

	// Sound says how to read uploads. Its zero value never starts ffmpeg, some of whose
	// formats can open other files.
	Sound audio.Input

	// Decoding holds the defaults of options that a request does not set. What is a matter of
	// one file is left out: task, spans, prefix, lanes and marks.
	Decoding transcribe.Options

	// Fields are form fields beyond OpenAI's. A field with the name of one of OpenAI's is not used.
	Fields []Field

	// Log gets a line for each request: no audio, no text. Nil discards them.
	Log *slog.Logger
}

// A Field is a form field that sets a decoding option of its request.
type Field struct {
	Name   string // with underscores: beam_size
	Option string // the field of transcribe.Options that it sets; errors about that name the form field

	// Set sets the option. Its error says what is wanted: "a whole number from 0 to 16".
	Set func(o *transcribe.Options, value string) error
}

func (o Options) defaults() Options {
	o.Name = cmp.Or(o.Name, "whisper")
	o.Turns = cmp.Or(o.Turns, 4)
	o.Waiting = max(cmp.Or(o.Waiting, 64), 0)
	o.Sessions = max(cmp.Or(o.Sessions, 16), 0)
	o.MaxBytes = cmp.Or(o.MaxBytes, 512<<20)
	o.MaxAudio = cmp.Or(o.MaxAudio, 6*time.Hour)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Hour)
	if o.Sound.FFmpeg == "" {
		o.Sound.FFmpeg = audio.FFmpegNever
	}
	o.Sound.Longest = o.MaxAudio
	d := &o.Decoding
	d.Task, d.Spans, d.Prefix, d.Chunked, d.MarkAccepted = "", nil, "", false, false
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Server is an http.Handler over one model, or several. It is safe for concurrent use.
type Server struct {
	opt       Options
	models    *modelPool
	queue     *queue
	spool     *spool
	clients   clientLimit
	metrics   *metrics
	handler   http.Handler
	sessions  sessionCount
	ids       atomic.Uint64
	closing   atomic.Bool
	inHand    atomic.Int64  // requests, uploads included
	uploading atomic.Int64  // requests whose upload is being read
	drained   chan struct{} // closed when closing
	created   time.Time

	stall     time.Duration // of a client; shorter in tests
	keepAlive time.Duration // of a stream
	pingEvery time.Duration // between two pings of a socket
}

// New returns a server of m, which must stay open while it serves, and of o.More.
func New(m *transcribe.Model, o Options) (*Server, error) {
	o = o.defaults()
	if _, err := transcribe.New(m, resolve(o.Decoding, false)); err != nil {
		return nil, err
	}
	s := &Server{
		opt: o, queue: newQueue(o.Turns, o.Waiting), created: time.Now(), stall: defaultStall, keepAlive: defaultKeepAlive, pingEvery: defaultPingEvery,
		spool: newSpool("", max(maxSpool, o.MaxBytes)), drained: make(chan struct{}),
	}
	s.clients.count, s.clients.most = map[string]int{}, max((o.Turns+o.Waiting)/2, 1)
	s.sessions.graceOver, s.sessions.endAll = context.WithCancel(context.Background())
	s.metrics = newMetrics(s)
	s.models = newModelPool(s, m)
	if err := s.models.check(); err != nil {
		return nil, err
	}
	s.handler = s.routes()
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Drain makes /readyz report that no more requests should be sent. Those that arrive
// nevertheless are refused. Realtime sessions end: what was said is transcribed,
// further sound is discarded.
func (s *Server) Drain() {
	if !s.closing.Swap(true) {
		close(s.drained)
	}
}

// routes returns the handler of all paths.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	api := func(pattern string, h http.HandlerFunc) { mux.Handle(pattern, s.requireKey(h)) }
	api("POST /v1/audio/transcriptions", s.handleSpeech(transcribe.Transcribe))
	api("POST /v1/audio/translations", s.handleSpeech(transcribe.Translate))
	api("GET /v1/realtime", s.handleRealtime)
	api("GET /v1/models", s.models.handle)
	api("GET /v1/models/{id...}", s.models.handle)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, "ok\n") })
	mux.HandleFunc("GET /readyz", s.handleReady)
	mux.Handle("GET /metrics", s.metrics.handler)
	mux.HandleFunc("GET /openapi.json", embedded("openapi.json"))
	mux.HandleFunc("GET /{$}", embedded("page/index.html"))
	for _, kind := range []string{"css", "js"} {
		names, _ := fs.Glob(files, "page/*."+kind)
		for _, name := range names {
			mux.HandleFunc("GET /"+name, embedded(name))
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { // also for a known path with another method
		if allowed := allowedMethods(mux, r); allowed != nil {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			writeProblem(w, clientError(http.StatusMethodNotAllowed, "", "method_not_supported", "%.200s takes %s, got %.20s.", r.URL.Path, show.JoinOr(allowed), r.Method))
			return
		}
		writeProblem(w, unknownPath(r))
	})
	return s.logRequests(s.checkOrigin(mux))
}

// methods returns those that the path of a request takes; nil for an unknown path.
func allowedMethods(mux *http.ServeMux, r *http.Request) (allowed []string) {
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		other := *r
		other.Method = m
		if _, pattern := mux.Handler(&other); pattern != "/" {
			allowed = append(allowed, m)
		}
	}
	return allowed
}

// ready answers /readyz. With ?queue=1 a full queue is not ready either.
func (s *Server) handleReady(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.closing.Load():
		unready(w, "shutting down")
	case r.URL.Query().Has("queue") && s.queue.full():
		unready(w, "the queue is full")
	default:
		writeText(w, "ready\n")
	}
}

func unready(w http.ResponseWriter, why string) {
	w.WriteHeader(http.StatusServiceUnavailable)
	writeText(w, why+"\n")
}

//go:embed page openapi.json
var files embed.FS

// kinds are the types of the files of this package.
var contentTypes = map[string]string{
	".json": "application/json", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
}

// embedded returns the handler of a file of this package. The page may load nothing
// from elsewhere. Browsers keep files, and ask whether they have changed.
func embedded(name string) http.HandlerFunc {
	data, err := files.ReadFile(name)
	if err != nil {
		panic("serve: a file is not embedded")
	}
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(data))[:20] + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", contentTypes[path.Ext(name)])
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "+
			"connect-src 'self'; media-src blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	}
}
