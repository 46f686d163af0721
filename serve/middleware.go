package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"verity/internal/option"
)

const (
	requestIDHeader  = "X-Request-Id"
	statusClientGone = 499 // nginx's
)

// A statusWriter records the status and the size of an answer.
type statusWriter struct {
	http.ResponseWriter
	code    int
	bytes   int64
	problem string // what the answer says went wrong
}

func (w *statusWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// withField returns log with a field in every line, which tells the lines of concurrent requests apart; nil if log is
// nil.
func withField(log *slog.Logger, key, value string) *slog.Logger {
	if log == nil {
		return nil
	}
	return log.With(key, value)
}

// logFields are what a handler adds to the log line of its request.
type logFields struct {
	fields     []any
	clientGone bool // nobody reads the answer
}

type logFieldsKey struct{}

func logFieldsOf(r *http.Request) *logFields { return r.Context().Value(logFieldsKey{}).(*logFields) }

// addLogFields adds fields to the log line of a request.
func addLogFields(r *http.Request, fields ...any) {
	f := logFieldsOf(r)
	f.fields = append(f.fields, fields...)
}

// logRequests gives every request an id, a log line and a count in the metrics. A panic ends one request,
// not the server.
func (s *Server) logRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, fields, id := time.Now(), new(logFields), s.requestID(r)
		out := &statusWriter{ResponseWriter: w}
		end := answerFirst(w, r, s.stall)
		defer func() {
			if fields.clientGone && out.code == 0 { // net/http would write an empty answer with status 200
				panic(http.ErrAbortHandler)
			}
			end()
		}()
		out.Header().Set(requestIDHeader, id)
		r = r.WithContext(context.WithValue(r.Context(), logFieldsKey{}, fields))
		defer func() {
			if p := recover(); p != nil {
				s.logPanic(id, p)
				if out.code == 0 {
					writeProblem(out, serverError(http.StatusInternalServerError,
						"The server failed. Its log has the reason, with the request id."))
				}
			}
			s.finishRequest(r, out, id, time.Since(began))
		}()
		next.ServeHTTP(out, r)
	})
}

// requestID returns the id that a proxy has set, or else a new one.
func (s *Server) requestID(r *http.Request) string {
	if id := r.Header.Get(requestIDHeader); isPlainID(id) {
		return id
	}
	return s.newID("req")
}

// newID returns an id that no other request has, also after a restart.
func (s *Server) newID(kind string) string {
	return fmt.Sprintf("%s_%x_%x", kind, s.created.UnixNano(), s.ids.Add(1))
}

// finishRequest counts and logs a request that has been answered, or whose client has gone.
func (s *Server) finishRequest(r *http.Request, out *statusWriter, id string, took time.Duration) {
	fields, code := logFieldsOf(r), out.code
	fields.clientGone = fields.clientGone || r.Context().Err() != nil
	if fields.clientGone && code != http.StatusRequestTimeout { // a timeout also ends the context
		code = statusClientGone
	}
	s.metrics.countRequest(r, code, took)
	level := slog.LevelInfo
	switch {
	case code == http.StatusUnauthorized && keyOf(r) != "":
		level = slog.LevelWarn // a wrong key
	case !strings.HasPrefix(r.URL.Path, "/v1/"):
		level = slog.LevelDebug // probes and pages
	}
	line := []any{
		"id", id, "client", loggedClient(r), "method", r.Method, "path", r.URL.Path, "status", code, "bytes", out.bytes,
		"took", took,
	}
	if theirs := r.Header.Get("X-Client-Request-Id"); isPlainID(theirs) {
		line = append(line, "client_request_id", theirs)
	}
	if trace := traceParent.FindStringSubmatch(r.Header.Get("Traceparent")); trace != nil {
		line = append(line, "trace", trace[1])
	}
	if out.problem != "" {
		line = append(line, "error", out.problem)
	}
	s.opt.Log.Log(r.Context(), level, "request", append(line, fields.fields...)...)
}

// traceParent is the header of W3C's Trace Context: version, trace, span and flags.
var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`)

// isPlainID reports whether a client's id may stand in the log and in an answer.
func isPlainID(id string) bool {
	isOdd := func(r rune) bool { return r <= ' ' || r > '~' }
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, isOdd)
}

// loggedClient returns the address of a client for the log. That of a proxy on this machine is replaced by the one that
// the proxy names.
func loggedClient(r *http.Request) string {
	host := clientAddress(r.RemoteAddr)
	if ip := net.ParseIP(host); ip != nil && !ip.IsLoopback() {
		return host
	}
	list := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	if ip := net.ParseIP(strings.TrimSpace(list[len(list)-1])); ip != nil {
		return ip.String()
	}
	return cmp.Or(host, "unix") // sockets have no address
}

// answerFirst makes an answer independent of the body of its request. The caller calls end after the answer: it reads
// the rest of the body, for at most a stall. Without that, a client that sends the whole body before it reads would find
// its connection reset, and miss the answer.
func answerFirst(w http.ResponseWriter, r *http.Request, stall time.Duration) (end func()) {
	c, body := http.NewResponseController(w), r.Body
	c.EnableFullDuplex()
	return func() {
		c.SetReadDeadline(time.Now().Add(stall))
		_, err := body.Read(nil)
		if err == io.EOF || r.Header.Get("Expect") != "" || r.ProtoMajor > 1 || c.Flush() != nil {
			return // there is no rest, or the client reads before it sends
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			panic(http.ErrAbortHandler) // closes the connection: the next bytes are not a request
		}
	}
}

// logPanic logs a panic of a request or a session.
func (s *Server) logPanic(id string, p any) {
	s.opt.Log.Error("panic", "id", id, "panic", p, "stack", string(debug.Stack()))
}

// safely returns f such that a panic in it ends one request or session, not the server. Every goroutine that works on
// what clients send runs in it.
func (s *Server) safely(id string, cancel context.CancelCauseFunc, f func()) func() {
	return func() {
		defer func() {
			if p := recover(); p != nil {
				s.logPanic(id, p)
				cancel(errors.New("the server failed"))
			}
		}()
		f()
	}
}

// requireKey refuses requests without a valid key, if keys are configured.
func (s *Server) requireKey(next http.Handler) http.Handler {
	if s.opt.Keys == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, keys, found := sha256.Sum256([]byte(keyOf(r))), s.opt.Keys(), -1
		for i, key := range keys { // compare with all, so that timing reveals nothing about the keys
			known := sha256.Sum256([]byte(key.Secret))
			found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(given[:], known[:]), i, found)
		}
		if found < 0 {
			text := "This server does not know the API key: ask its operator for a valid one."
			if keyOf(r) == "" {
				text = "The API key is missing: send it as Authorization: Bearer KEY."
			}
			writeProblem(w, clientError(http.StatusUnauthorized, "", "invalid_api_key", "%s", text))
			return
		}
		addLogFields(r, "key", keys[found].logName())
		next.ServeHTTP(w, r)
	})
}

// keyProtocol precedes a key among the subprotocols of a WebSocket: pages cannot set its headers. The name is OpenAI's.
const keyProtocol = "openai-insecure-api-key."

// keyOf returns the key of a request; empty if it has none.
func keyOf(r *http.Request) string {
	if scheme, key, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	if r.Header.Get("Upgrade") != "" {
		for p := range strings.SplitSeq(strings.Join(r.Header.Values("Sec-WebSocket-Protocol"), ","), ",") {
			if key, ok := strings.CutPrefix(strings.TrimSpace(p), keyProtocol); ok {
				return key
			}
		}
	}
	return cmp.Or(r.Header.Get("X-API-Key"), r.Header.Get("Api-Key")) // of Azure's clients and others
}

// exposedHeaders are the headers of answers that pages of other origins may read.
const exposedHeaders = requestIDHeader + ", Retry-After, " + ignoredHeader + ", " + warningHeader

// checkOrigin lets pages of the configured origins call the API, and keeps pages of other origins from reaching a
// server on the user's own machine.
func (s *Server) checkOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		origin := r.Header.Get("Origin")
		allowed := slices.ContainsFunc(s.opt.Origins, func(o string) bool { return allows(o, origin) })
		switch {
		case s.opt.Keys == nil && isRebound(r) && !allowed && !s.allowsHost(r.Host): // a page's GET has no origin
			writeProblem(w, clientError(http.StatusForbidden, "", "host", "This server does not know the name %.80q: "+
				"call it localhost, or let it allow the origin http://%.80[1]s or require an API key.", r.Host))
			return
		case origin == "" || sameHost(origin, r.Host):
		case allowed:
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", exposedHeaders)
			h.Add("Vary", "Origin")
			if r.Method == http.MethodOptions {
				allowCall(h, r)
				w.WriteHeader(http.StatusNoContent)
				return
			}
		default:
			writeProblem(w, clientError(http.StatusForbidden, "", "origin",
				"Pages of %.80s may not call this server: its option origin does not list them.", origin))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allowCall answers the question of a browser whether a page may send a request. The page may send any header: OpenAI's
// client has many of its own, and other headers have no effect.
func allowCall(h http.Header, r *http.Request) {
	headers := strings.Join(r.Header.Values("Access-Control-Request-Headers"), ", ")
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", cmp.Or(headers, "Authorization, Content-Type"))
	h.Set("Access-Control-Max-Age", "7200") // the longest time that Chromium remembers
	h.Add("Vary", "Access-Control-Request-Headers")
	if r.Header.Get("Access-Control-Request-Private-Network") != "" { // of Chromium, before version 150
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
}

// DesktopOrigins in [Options.Origins] stands for the pages of desktop programs, such as Obsidian's app://obsidian.md.
const DesktopOrigins = "desktop"

// isDesktop reports whether an origin is that of a desktop program: no page of a web site has such a scheme or host.
func isDesktop(origin string) bool {
	scheme, host, ok := strings.Cut(origin, "://")
	own := slices.Contains([]string{"app", "capacitor", "tauri", "vscode-webview"}, scheme)
	return ok && (own || host == "tauri.localhost")
}

// allows reports whether a configured origin stands for the origin of a page.
func allows(configured, origin string) bool {
	switch configured = strings.ToLower(configured); configured {
	case "*", origin:
		return true
	case DesktopOrigins:
		return isDesktop(origin)
	}
	scheme, domain, ok := strings.Cut(configured, "://*.")
	rest, within := strings.CutPrefix(origin, scheme+"://")
	return ok && within && strings.HasSuffix(rest, "."+domain)
}

// checkOrigins returns what is wrong with origins. They are compared as browsers send them.
func checkOrigins(origins []string) error {
	for _, o := range origins {
		u, err := url.Parse(o)
		isOrigin := err == nil && u.Scheme != "" && u.Host != "" && o == u.Scheme+"://"+u.Host &&
			u.Host != "*." && !strings.Contains(strings.TrimPrefix(u.Host, "*."), "*")
		if o != "*" && o != DesktopOrigins && !isOrigin {
			return option.New("Origins", nil, fmt.Sprintf("got %.200q, want scheme and host, as https://example.org, "+
				"https://*.example.org or http://localhost:3000, or %s or *", o, DesktopOrigins))
		}
	}
	return nil
}

// allowsHost reports whether a configured origin has a host, which a proxy on this machine passes on.
func (s *Server) allowsHost(host string) bool {
	return slices.ContainsFunc(s.opt.Origins, func(o string) bool {
		scheme, _, ok := strings.Cut(o, "://")
		return ok && allows(o, scheme+"://"+strings.ToLower(host))
	})
}

// isRebound reports whether a request reached this machine's own address by a name that is not the machine's own. The
// owner of a web page may have made that name point here (DNS rebinding), so the origin proves nothing. Browsers always
// send a name; probes of HTTP/1.0 may not.
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
	own, _ := os.Hostname()
	own = strings.ToLower(own)
	short, _, _ := strings.Cut(own, ".")
	known := slices.Contains([]string{"", "localhost", own, short, short + ".local"}, name)
	return !known && net.ParseIP(name) == nil && !strings.HasSuffix(name, ".localhost")
}

// sameHost reports whether the origin scheme://host has the given host.
func sameHost(origin, host string) bool {
	_, at, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(at, host)
}
