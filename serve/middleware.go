package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

const (
	requestIDHeader  = "X-Request-Id"
	statusClientGone = 499 // nginx's, of a request whose client has gone
)

// A status records the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	code  int
	bytes int64
}

func (s *statusWriter) WriteHeader(code int) {
	if s.code == 0 {
		s.code = code
	}
	s.ResponseWriter.WriteHeader(code)
}

func (s *statusWriter) Write(b []byte) (int, error) {
	if s.code == 0 {
		s.code = http.StatusOK
	}
	n, err := s.ResponseWriter.Write(b)
	s.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// logged adds a field to every line of a log, which may be nil: decisions of requests that
// are transcribed at the same time stand among each other.
func withField(log *slog.Logger, key, value string) *slog.Logger {
	if log == nil {
		return nil
	}
	return log.With(key, value)
}

// notes are the fields that handlers add to a request's log line.
type logFields struct {
	fields []any
	gone   bool // nobody reads the answer
}

type logFieldsKey struct{}

func logFieldsOf(r *http.Request) *logFields { return r.Context().Value(logFieldsKey{}).(*logFields) }

// note adds fields to the log line of a request.
func addLogFields(r *http.Request, fields ...any) {
	n := logFieldsOf(r)
	n.fields = append(n.fields, fields...)
}

// watched gives every request an id, a log line and its place in the metrics. A panic
// ends one request, not the server.
func (s *Server) logRequests(next http.Handler) http.Handler {
	boot := s.created.UnixNano()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, n := time.Now(), new(logFields)
		id := fmt.Sprintf("req_%x_%x", boot, s.ids.Add(1))
		out := &statusWriter{ResponseWriter: w}
		r, end := withDeadlines(w, r, s.stall)
		defer func() {
			if n.gone && out.code == 0 { // net/http would say 200, with no text
				panic(http.ErrAbortHandler)
			}
			end()
		}()
		out.Header().Set(requestIDHeader, id)
		r = r.WithContext(context.WithValue(r.Context(), logFieldsKey{}, n))
		defer func() {
			if p := recover(); p != nil {
				s.panicked(id, p)
				if out.code == 0 {
					writeProblem(out, serverError(http.StatusInternalServerError, "The server failed. Its log has the reason, with the request id."))
				}
			}
			took := time.Since(began)
			code := out.code
			if n.gone = n.gone || r.Context().Err() != nil; n.gone && code != http.StatusRequestTimeout { // the end of its time is that of the context
				code = statusClientGone // whatever was written
			}
			s.metrics.answered(r, code, took)
			level := slog.LevelInfo
			if !strings.HasPrefix(r.URL.Path, "/v1/") {
				level = slog.LevelDebug // probes and pages
			}
			s.opt.Log.Log(r.Context(), level, "request", append([]any{
				"id", id, "method", r.Method, "path", r.URL.Path, "status", code, "bytes", out.bytes, "took", took,
			}, n.fields...)...)
		}()
		next.ServeHTTP(out, r)
	})
}

// mostUnwanted is the most bytes that are read of a body that nobody wants.
const maxDiscarded = 1 << 30

// bound gives a client ten times a stall to read its answer, which does not wait for the rest of
// the body, and a stall, from the call of end on, to send that: without it, clients that send
// before they read would find the connection reset, and not the answer. Handlers that take longer
// set other times.
func withDeadlines(w http.ResponseWriter, r *http.Request, stall time.Duration) (bounded *http.Request, end func()) {
	c := http.NewResponseController(w)
	c.EnableFullDuplex()
	c.SetWriteDeadline(time.Now().Add(10 * stall))
	rest := &trackedBody{ReadCloser: r.Body, ended: r.Body == http.NoBody, started: r.Header.Get("Expect") == ""}
	bounded = r.WithContext(r.Context())
	bounded.Body = rest
	return bounded, func() {
		c.SetReadDeadline(time.Now().Add(stall))
		if rest.ended || !rest.started || r.ProtoMajor > 1 || c.Flush() != nil {
			return
		}
		if io.CopyN(io.Discard, rest, maxDiscarded); !rest.ended {
			panic(http.ErrAbortHandler) // closes the connection: what follows is no request
		}
	}
}

// rest is the body of a request, and whether there is more of it.
type trackedBody struct {
	io.ReadCloser
	ended, started bool // asked: the client sends it without a word of the server
}

func (r *trackedBody) Read(b []byte) (int, error) {
	r.started = true
	n, err := r.ReadCloser.Read(b)
	r.ended = r.ended || err == io.EOF
	return n, err
}

// panicked logs a panic of a request or a session.
func (s *Server) panicked(id string, p any) {
	s.opt.Log.Error("panic", "id", id, "panic", p, "stack", string(debug.Stack()))
}

// safely returns f with a panic of it ending one request or session, not the server.
// Every goroutine that does something with what clients send runs in it.
func (s *Server) safely(id string, cancel context.CancelCauseFunc, f func()) func() {
	return func() {
		defer func() {
			if p := recover(); p != nil {
				s.panicked(id, p)
				cancel(errors.New("the server failed"))
			}
		}()
		f()
	}
}

// authorised requires a key, if keys are configured.
func (s *Server) requireKey(next http.Handler) http.Handler {
	if s.opt.Keys == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, found := sha256.Sum256([]byte(keyOf(r))), 0
		for _, k := range s.opt.Keys() { // compare with all, so that timing reveals nothing about the keys
			known := sha256.Sum256([]byte(k))
			found |= subtle.ConstantTimeCompare(given[:], known[:])
		}
		if found == 0 {
			writeProblem(w, clientError(http.StatusUnauthorized, "", "invalid_api_key", "The API key is missing or wrong: send it as Authorization: Bearer KEY."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// keyProtocol precedes a key among the subprotocols of a WebSocket, since pages cannot
// set its headers. The name is OpenAI's.
const keyProtocol = "openai-insecure-api-key."

// keyOf returns the key of a request.
func keyOf(r *http.Request) string {
	if scheme, key, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	if r.Header.Get("Upgrade") != "" {
		for _, p := range protocols(r) {
			if key, ok := strings.CutPrefix(p, keyProtocol); ok {
				return key
			}
		}
	}
	return ""
}

// protocols returns the subprotocols that a socket offers.
func protocols(r *http.Request) (list []string) {
	for _, p := range strings.Split(strings.Join(r.Header.Values("Sec-WebSocket-Protocol"), ","), ",") {
		list = append(list, strings.TrimSpace(p))
	}
	return list
}

// shared lets pages of the configured origins call the API, and keeps pages of other
// origins from reaching a server on the user's own machine.
func (s *Server) checkOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		origin := r.Header.Get("Origin")
		given := slices.Contains(s.opt.Origins, origin) || slices.Contains(s.opt.Origins, "*")
		switch {
		case s.opt.Keys == nil && isRebound(r) && !given && !s.allowsHost(r.Host): // also without an origin, which a page's GET has not
			writeProblem(w, clientError(http.StatusForbidden, "", "host", "This server does not know the name %.80q: "+
				"call it localhost, or start it with --origin http://%.80[1]s or with an API key.", r.Host))
			return
		case origin == "" || sameOrigin(origin, r.Host):
		case given:
			h.Set("Access-Control-Allow-Origin", origin)
			h.Add("Vary", "Origin")
			if r.Method == http.MethodOptions {
				h.Set("Access-Control-Allow-Methods", "GET, POST")
				h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		default:
			writeProblem(w, clientError(http.StatusForbidden, "", "origin", "Pages of %.80s may not call this server: it was not started with --origin for them.", origin))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// named reports whether an origin of the options has a host, as a proxy on this machine
// that passes it on.
func (s *Server) allowsHost(host string) bool {
	return slices.ContainsFunc(s.opt.Origins, func(o string) bool { return sameOrigin(o, host) })
}

// rebound reports whether a page reached this machine's own address by a name that is
// not its own. The owner of the page may have made that name point here (DNS
// rebinding), so the origin proves nothing. Browsers always send a name; probes of HTTP/1.0 may not.
func isRebound(r *http.Request) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return false
	}
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	return name != "" && net.ParseIP(name) == nil && name != "localhost" && !strings.HasSuffix(name, ".localhost")
}

func sameOrigin(origin, host string) bool {
	_, at, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(at, host)
}
