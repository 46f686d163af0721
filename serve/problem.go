package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"verity/audio"
	"verity/internal/option"
	"verity/transcribe"
)

// A problem is an error in the form of OpenAI's API.
type problem struct {
	Status  int     `json:"-"`
	Retry   bool    `json:"-"` // the same request may succeed soon
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (p *problem) Error() string { return p.Message }

// withParam sets the parameter of p and returns p.
func (p *problem) withParam(param string) *problem {
	p.Param = &param
	return p
}

// nilIfEmpty returns a pointer to text, or nil, which JSON writes as null, if text is empty.
func nilIfEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// clientError returns a problem with a request: with one of its parameters, unless param is empty.
func clientError(status int, param, code, format string, args ...any) *problem {
	return &problem{
		Status: status, Message: fmt.Sprintf(format, args...), Type: "invalid_request_error",
		Param: nilIfEmpty(param), Code: nilIfEmpty(code),
	}
}

// badRequest returns a problem of status 400: with the value of a parameter, unless param is empty.
func badRequest(param, format string, args ...any) *problem {
	code := "invalid_value"
	if param == "" {
		code = "invalid_request"
	}
	return clientError(http.StatusBadRequest, param, code, format, args...)
}

// serverError returns a problem of the server.
func serverError(status int, format string, args ...any) *problem {
	return &problem{Status: status, Message: fmt.Sprintf(format, args...), Type: "server_error"}
}

// rateLimited returns the problem that the server is too busy.
func rateLimited(code, format string, args ...any) *problem {
	p := clientError(http.StatusTooManyRequests, "", code, format, args...)
	p.Type, p.Retry = "rate_limit_error", true
	return p
}

func shuttingDown() *problem {
	p := serverError(http.StatusServiceUnavailable, "The server is shutting down.")
	p.Retry = true
	return p
}

// retryAfter is the header Retry-After of a problem that may soon be over, in seconds.
const retryAfter = "10"

// writeProblem answers with p, and puts it into the log.
func writeProblem(w http.ResponseWriter, p *problem) {
	if out, ok := w.(*statusWriter); ok {
		out.problem = p.Message
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if p.Retry {
		h.Set("Retry-After", retryAfter)
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	data := append(marshal(map[string]*problem{"error": p}), '\n')
	h.Set("Content-Length", strconv.Itoa(len(data))) // the answer is complete although the client still sends
	w.WriteHeader(p.Status)
	w.Write(data)
}

// An object is a JSON object.
type object map[string]any

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(marshal(v), '\n'))
}

const plainText = "text/plain; charset=utf-8"

func writeText(w http.ResponseWriter, text string) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", plainText)
	}
	fmt.Fprint(w, text)
}

// badJSON returns the problem with a client's JSON that cannot be read; at is its path. Errors of encoding/json name Go
// types, so they are reworded.
func badJSON(err error, at string) *problem {
	kind, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return clientError(http.StatusBadRequest, at, "invalid_json", "%s: not JSON: %v", cmp.Or(at, "The event"), err)
	}
	if kind.Field != "" && at != "" {
		at += "."
	}
	at += kind.Field
	got, _, _ := strings.Cut(kind.Value, " ") // the digits of a number follow
	return clientError(http.StatusBadRequest, at, "invalid_type",
		"%s: got JSON of type %s, want %s", cmp.Or(at, "The event"), got, jsonTypeOf(kind.Type))
}

// jsonTypeOf names the JSON type that a Go type is read from.
func jsonTypeOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Int: "a whole number", reflect.Float64: "a number", reflect.Slice: "an array",
	}
	return cmp.Or(want[t.Kind()], "an object")
}

// span spells a duration without units that are 0: 5m, not 5m0s.
func span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// mebibytes spells a limit of bytes.
func mebibytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// fieldOfOption are OpenAI's form fields, by the option that they set.
var fieldOfOption = map[string]string{
	"Language": "language", "InitialPrompt": "prompt", "Temperatures": "temperature", "Task": "model",
	"WordTimestamps": "timestamp_granularities[]", "VAD": "chunking_strategy",
	"Speakers": "speakers", "Terms": "keywords[]",
	"Threshold": "threshold", "PaddingMS": "prefix_padding_ms", "SilenceMS": "silence_duration_ms", // of turn detection
}

// requestProblem returns the problem that err is or wraps. For an error about an option it names the parameter that
// sets the option, with prefix before it. Nil means that the client is not at fault.
func (s *Server) requestProblem(err error, prefix string) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	return optionProblem(err, prefix, s.opt.Fields)
}

// optionProblem returns the problem of an error about an option; nil for another error.
func optionProblem(err error, prefix string, fields []Field) *problem {
	bad, ok := errors.AsType[*option.Error](err)
	if !ok {
		return nil
	}
	name := fieldOfOption[bad.Option]
	for _, f := range fields {
		if name == "" && f.Option == bad.Option {
			name = f.Name
		}
	}
	if name == "" {
		return nil
	}
	name = prefix + name
	switch {
	case bad.Option == "Task":
		return badRequest(name, "This model knows English only and cannot translate.")
	case bad.Option == "WordTimestamps":
		return badRequest(name, "This model cannot give the times of words.")
	case bad.Value == nil:
		return badRequest(name, "%s: %s", name, bad.Reason)
	}
	format := "%s: got %v: %s"
	if _, isText := bad.Value.(string); isText {
		format = "%s: got %.80q: %s"
	}
	return badRequest(name, format, name, bad.Value, bad.Reason)
}

// writeError answers with an error, unless the client has gone.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	if p := s.explain(w, r, err); p != nil {
		if p.Status == http.StatusTooManyRequests && p.Code != nil {
			s.metrics.rejected.WithLabelValues(*p.Code).Inc()
		}
		writeProblem(w, p)
	}
}

// explain returns the problem that reports err to the client; nil if the client has gone.
func (s *Server) explain(w http.ResponseWriter, r *http.Request, err error) (p *problem) {
	if p = s.problemOf(err); p != nil {
		return p
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, errUnread) {
		logFieldsOf(r).clientGone = true
		return nil
	}
	s.opt.Log.Error("request failed", "id", w.Header().Get(requestIDHeader), "error", err)
	return serverError(http.StatusInternalServerError,
		"The server failed to transcribe the file. Its log has the reason, with the request id.")
}

// problemOf returns the problem that err is, or that a limit or the sound is the cause of; nil for another error.
func (s *Server) problemOf(err error) *problem {
	format, otherFormat := errors.AsType[*audio.FormatError](err)
	otherText, isOtherText := errors.AsType[*transcribe.TextError](err)
	_, otherTrack := errors.AsType[*audio.TrackError](err)
	p := s.requestProblem(err, "")
	switch {
	case p != nil:
		return p
	case errors.Is(err, audio.ErrTooLong):
		return clientError(http.StatusRequestEntityTooLarge, "file", "audio_too_long",
			"The audio is longer than %s: split it, or ask the operator for more (max-audio).", span(s.opt.MaxAudio))
	case errors.Is(err, context.DeadlineExceeded):
		return serverError(http.StatusServiceUnavailable,
			"The request took longer than %s: send a shorter file, or ask the operator for more (timeout).", span(s.opt.Timeout))
	case isOtherText:
		return badRequest("align", "align: %v", otherText)
	case otherTrack:
		return badRequest("track", "%v", err)
	case errors.Is(err, audio.ErrNoSound), errors.Is(err, audio.ErrMalformed), errors.Is(err, fs.ErrInvalid), otherFormat:
		hint := ""
		if otherFormat && format.File == unnamed {
			hint = ". With curl, a file needs an @: file=@talk.mp3"
		}
		return clientError(http.StatusBadRequest, "file", "invalid_audio", "The file cannot be read as sound: %v%s", err, hint)
	}
	return nil
}
