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
	"verity/wer"
)

// Defaults of Options.
const (
	DefaultTurns    = 4
	DefaultWaiting  = 64
	DefaultSessions = 16
	DefaultMaxBytes = 512 << 20
	DefaultMaxAudio = 6 * time.Hour
	DefaultTimeout  = 2 * time.Hour
)

// Options configures New. The zero value serves every client that can connect, four requests at a time.
type Options struct {
	// Name is the id of the model in /v1/models. Empty means "whisper".
	Name string

	// Version is the version of the program, for metrics.
	Version string

	// Address is the host and port by which this machine's browsers should open the page, which keep recordings by
	// address. Empty means any.
	Address string

	// Turns is the number of requests and live passes that are transcribed at the same time. 0 means DefaultTurns.
	Turns int

	// Waiting is the number of requests that may wait for a turn. 0 means DefaultWaiting; negative means none.
	Waiting int

	// Sessions is the number of realtime sessions at the same time. 0 means DefaultSessions; negative means none.
	Sessions int

	// MaxBytes is the size of the largest upload. 0 means DefaultMaxBytes.
	MaxBytes int64

	// MaxAudio is the longest sound of a file, and the longest realtime session. 0 means DefaultMaxAudio.
	MaxAudio time.Duration

	// Timeout is the longest time of a request, from its first byte to the answer. 0 means DefaultTimeout.
	Timeout time.Duration

	// Keys returns the API keys that are valid now. Nil means that no key is needed.
	Keys func() []Key

	// Origins are the web origins whose pages may call the API. https://*.example.org stands for all hosts of that
	// domain, [DesktopOrigins] for the pages of desktop programs, "*" for all. None means only the page of this server.
	Origins []string

	// Sound says how to read uploads. The zero value never starts ffmpeg, some of whose formats open other files.
	Sound audio.Input

	// Decoding holds the options that a request does not set. Those that belong to one file are ignored:
	// Task, Spans, Prefix, Chunked and TokenOrigins.
	Decoding transcribe.Options

	// Fields are form fields beyond OpenAI's. A field with the name of one of OpenAI's is not used.
	Fields []Field

	// NoMetrics leaves /metrics to the handler that Metrics returns.
	NoMetrics bool

	// Log gets a line for each request, without audio or text. Nil means no log.
	Log *slog.Logger
}

// A Key is an API key.
type Key struct {
	Secret string // what clients send
	Name   string // in the log; empty means a part of the secret's hash
}

// logName returns the name of k for the log.
func (k Key) logName() string {
	return cmp.Or(k.Name, fmt.Sprintf("%x", sha256.Sum256([]byte(k.Secret)))[:8])
}

// A Field is a form field that sets a decoding option of its request.
type Field struct {
	Name   string // with underscores: beam_size
	Option string // the field of transcribe.Options that it sets; an error about that option names the form field

	// Set sets the option. Its error says what is wanted: "a whole number from 0 to 16".
	Set func(o *transcribe.Options, value string) error
}

func (o Options) defaults() Options {
	o.Name = cmp.Or(o.Name, "whisper")
	o.Turns = cmp.Or(o.Turns, DefaultTurns)
	o.Waiting = max(cmp.Or(o.Waiting, DefaultWaiting), 0)
	o.Sessions = max(cmp.Or(o.Sessions, DefaultSessions), 0)
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	o.MaxAudio = cmp.Or(o.MaxAudio, DefaultMaxAudio)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Sound.FFmpeg == "" {
		o.Sound.FFmpeg = audio.FFmpegNever
	}
	o.Sound.MaxDuration = o.MaxAudio
	d := &o.Decoding
	d.Task, d.Spans, d.Prefix, d.Chunked, d.TokenOrigins = "", nil, "", false, false
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Check reports the first option that cannot be used, as far as that is known without the model. New checks, too.
func (o Options) Check() error { return checkOrigins(o.Origins) }

// A Server is an http.Handler over a model. It is safe for concurrent use.
type Server struct {
	opt      Options
	handler  http.Handler
	patterns []string // that handler knows
	created  time.Time

	model    *transcribe.Model
	queue    *queue
	uploads  *uploadStore
	sessions sessionCount
	metrics  *metrics

	ids        atomic.Uint64   // of requests, sessions and events
	inProgress atomic.Int64    // requests, uploads included
	draining   context.Context // done after Drain
	drain      func()

	// Changed only by tests.
	stall     time.Duration // the longest pause of a client
	keepAlive time.Duration // the longest silence of a stream
	pingEvery time.Duration // between two pings of a realtime session
}

// New returns a server of m. The caller closes m after the server's last request.
func New(m *transcribe.Model, o Options) (*Server, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	o = o.defaults()
	if _, err := transcribe.New(m, withDefaults(o.Decoding, false)); err != nil {
		return nil, err
	}
	s := &Server{
		opt: o, model: m, created: time.Now(), queue: newQueue(o.Turns, o.Waiting), uploads: &uploadStore{limit: max(maxUploads, o.MaxBytes)},
		stall: readTime, keepAlive: defaultKeepAlive, pingEvery: defaultPingEvery,
	}
	s.draining, s.drain = context.WithCancel(context.Background())
	s.sessions.graceOver, s.sessions.endAll = context.WithCancel(context.Background())
	s.metrics = newMetrics(s)
	m.Batch.OnPass(func(sequences, _ int) { s.metrics.batch.Observe(float64(sequences)) })
	s.handler = s.routes()
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.handler.ServeHTTP(w, withKnownPath(r))
}

// withKnownPath returns r with the path that the client means: base URLs end with a slash, or lack /v1.
func withKnownPath(r *http.Request) *http.Request {
	path := strings.TrimRight(r.URL.Path, "/")
	switch {
	case path == "/audio/transcriptions", path == "/audio/translations", path == "/models", path == "/realtime",
		strings.HasPrefix(path, "/models/"):
		path = "/v1" + path
	case path == "", path == r.URL.Path, path == "/docs":
		return r
	}
	known, url := *r, *r.URL
	url.Path, url.RawPath = path, ""
	known.URL = &url
	return &known
}

// Drain makes the server refuse new requests; /readyz reports it. Realtime sessions end: their sound so far is
// transcribed, later sound is discarded.
func (s *Server) Drain() { s.drain() }

// Metrics returns the handler of /metrics, for an address of its own. /openapi.json says there, too, that it is Verity's.
func (s *Server) Metrics() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.handler)
	mux.Handle("GET /openapi.json", embedded("openapi.json"))
	return mux
}

// routes returns the handler of all paths. A request passes through these parts:
//
//	logRequests → checkOrigin → requireKey
//	      │
//	      ├─ a file: parseForm → uploadStore → queue → transcribe.Transcriber → answer
//	      │
//	      └─ live sound: sessionCount → session → live.Stream → queue.liveTurn for each pass
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h http.Handler) {
		mux.Handle(pattern, h)
		s.patterns = append(s.patterns, pattern)
	}
	open := func(pattern string, h http.HandlerFunc) { handle(pattern, h) } // without a key
	api := func(pattern string, h http.HandlerFunc) { handle(pattern, s.requireKey(h)) }
	api("POST /v1/audio/transcriptions", s.handleSpeech(openAI, transcribe.Transcribe))
	api("POST /v1/audio/translations", s.handleSpeech(openAI, transcribe.Translate))
	api("GET /v1/realtime", s.handleRealtime)
	api("GET /v1/models", s.handleModels)
	api("GET /v1/models/{id...}", s.handleModels)
	api("POST /asr", s.handleSpeech(whisperASR, transcribe.Transcribe))
	api("POST /detect-language", s.handleDetection)
	api("POST /inference", s.handleSpeech(whisperCPP, transcribe.Transcribe))
	api("POST /page/write", handleWrite)
	api("POST /page/read", handleRead)
	open("GET /health", s.handleHealth)
	open("GET /docs", embedded("page/docs.html"))
	mux.Handle("GET /docs/{$}", http.RedirectHandler("/docs", http.StatusPermanentRedirect)) // for its relative links
	open("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, "ok\n") })
	open("GET /readyz", s.handleReady)
	if !s.opt.NoMetrics {
		handle("GET /metrics", s.metrics.handler)
	}
	open("GET /page/address", func(w http.ResponseWriter, _ *http.Request) { writeText(w, s.opt.Address) })
	open("GET /openapi.json", embedded("openapi.json"))
	open("GET /{$}", embedded("page/index.html"))
	for _, kind := range []string{"*.css", "*.js", "*.mp3", "lib/*.js"} {
		names, _ := fs.Glob(files, "page/"+kind)
		for _, name := range names {
			open("GET /"+name, embedded(name))
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { // also for a known path with another method
		if allowed, route := allowedMethods(mux, r); allowed != nil {
			r.Pattern = route // for the metrics
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			writeProblem(w, clientError(http.StatusMethodNotAllowed, "", "method_not_supported",
				"%.200s takes %s, got %.20s.", r.URL.Path, show.JoinOr(allowed), r.Method))
			return
		}
		near := ""
		for _, pattern := range s.patterns {
			if _, path, _ := strings.Cut(pattern, " "); len(wer.Nearest(r.URL.Path, []string{path})) > 0 {
				near = " Did you mean " + path + "?"
				break
			}
		}
		writeProblem(w, clientError(http.StatusNotFound, "", "unknown_url",
			"Unknown request URL: %.20s %.200s. See /openapi.json.%s", r.Method, r.URL.Path, near))
	})
	return s.logRequests(s.checkOrigin(mux))
}

// allowedMethods returns the methods of the path of a request, and the pattern of one; nil for an unknown path.
func allowedMethods(mux *http.ServeMux, r *http.Request) (allowed []string, route string) {
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		other := *r
		other.Method = m
		if _, pattern := mux.Handler(&other); pattern != "/" {
			allowed, route = append(allowed, m), pattern
		}
	}
	return allowed, route
}

// handleHealth answers /health as whisper.cpp's server does.
func (s *Server) handleHealth(w http.ResponseWriter, _ *http.Request) {
	if s.draining.Err() != nil {
		writeUnready(w, "application/json", `{"status":"shutting down"}`)
		return
	}
	writeJSON(w, object{"status": "ok"})
}

// handleReady answers /readyz. With ?queue=1 it also reports a full queue as not ready.
func (s *Server) handleReady(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.draining.Err() != nil:
		writeUnready(w, plainText, "shutting down")
	case r.URL.Query().Has("queue") && s.queue.full():
		writeUnready(w, plainText, "the queue is full")
	default:
		writeText(w, "ready\n")
	}
}

func writeUnready(w http.ResponseWriter, kind, why string) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(http.StatusServiceUnavailable)
	writeText(w, why+"\n")
}

//go:embed page openapi.json
var files embed.FS

// contentTypes are the media types of the embedded files.
var contentTypes = map[string]string{
	".json": "application/json", ".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".mp3": "audio/mpeg",
}

// embedded returns the handler of an embedded file. The page may load nothing from elsewhere. Browsers cache the
// file and ask whether it has changed.
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
