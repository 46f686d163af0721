package serve

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"verity/audio"
	"verity/transcribe"
	"verity/transcript"
)

// granularity records one of timestamp_granularities[]. The first replaces the default.
func (q *request) granularity(value string, bad func(string) error) error {
	switch value {
	case "word":
		q.words = true
	case "segment":
	default:
		return bad("word or segment")
	}
	q.asked = append(q.asked, value)
	return nil
}

// speech returns the handler of a task.
func (s *Server) speech(task transcribe.Task) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.opt.Timeout)
		defer cancel()
		if err := s.answer(ctx, w, r, task); err != nil {
			s.refuse(w, r, err)
		}
	}
}

// answer serves one request. If it returns an error, nothing has been written.
func (s *Server) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, task transcribe.Task) error {
	leave, err := s.line.enter() // before the upload is read, so that a refusal costs nothing
	if err != nil {
		return err
	}
	defer leave()
	q, err := s.read(w, r, task)
	if err != nil {
		return err
	}
	defer q.done()
	if err := q.check(s.model.Assisted()); err != nil {
		return err
	}
	clip, err := s.opt.Sound.OpenFile(ctx, q.String(), q.file)
	if err != nil {
		return err
	}
	q.decoding.Log = logged(q.decoding.Log, "id", w.Header().Get(idHeader))
	t, err := transcribe.New(s.model, q.decoding)
	if err != nil {
		return err
	}
	if err := s.line.begin(ctx); err != nil {
		return err
	}
	turn := &turn{line: s.line}
	defer turn.end()
	out := s.newAnswer(w, q)
	tr, err := turn.run(ctx, t, clip, out)
	if err != nil {
		return out.failed(err)
	}
	s.metrics.heard(tr)
	note(r, "audio_seconds", tr.Duration, "language", tr.Language, "tokens", tr.Stats.Tokens)
	return out.finish(tr)
}

// A turn is the right of a request to work.
type turn struct {
	line *line
	lost bool
}

// run transcribes clip. Between two windows it yields to other requests.
func (t *turn) run(ctx context.Context, by *transcribe.Transcriber, clip *audio.Clip, out *answer) (*transcript.Transcript, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	tr, err := by.Transcribe(ctx, clip, transcribe.Watch{
		Segment: out.segment,
		Progress: func(done, total float64) {
			out.progress(done, total)
			if err := t.line.yield(ctx); err != nil {
				t.lost = true
				stop(err)
			}
		},
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return tr, err
}

func (t *turn) end() {
	if !t.lost {
		t.line.end()
	}
}

// check reports contradictions within the form.
func (q *request) check(assisted bool) error {
	if q.decoding.MarkAccepted && !assisted {
		return wrong(http.StatusBadRequest, "include[]", "", "%s needs an assistant: this server was started without one.", withAccepted)
	}
	if q.decoding.MarkAccepted && q.format != "verbose_json" && !q.stream {
		return wrong(http.StatusBadRequest, "include[]", "", "%s needs response_format verbose_json, or stream=true; got %s.", withAccepted, q.format)
	}
	if q.progress && !q.stream {
		return wrong(http.StatusBadRequest, "include[]", "", "%s needs stream=true.", withProgress)
	}
	if q.words && q.format != "verbose_json" && !q.stream {
		return wrong(http.StatusBadRequest, "timestamp_granularities[]", "", "Word timestamps need response_format verbose_json, or stream=true; got %s.", q.format)
	}
	if q.stream && q.format != "json" && q.format != "text" {
		return wrong(http.StatusBadRequest, "stream", "", "stream=true needs response_format json or text, got %s.", q.format)
	}
	q.decoding.WordTimestamps = q.words
	return nil
}

// refuse answers with an error.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var p *problem
	var option *transcribe.OptionError
	switch {
	case errors.As(err, &p):
	case errors.Is(err, errFull):
		p = wrong(http.StatusTooManyRequests, "", "rate_limit_exceeded", "Too many requests are waiting: try again later.")
		p.Type, p.Retry = "rate_limit_error", s.line.retryAfter()
	case errors.Is(err, audio.ErrTooLong):
		p = wrong(http.StatusRequestEntityTooLarge, "file", "", "The audio is longer than %s, which is the limit of this server.", span(s.opt.MaxAudio))
	case errors.As(err, &option):
		p = asProblem(err, "")
	case errors.Is(err, context.DeadlineExceeded):
		p = failed(http.StatusServiceUnavailable, "The request took longer than %s, which is the limit of this server.", span(s.opt.Timeout))
	case errors.Is(err, context.Canceled):
		note(r, "gone", true) // no answer, since nobody reads it
		return
	case badAudio(err):
		s.tellOfFFmpeg(err)
		p = wrong(http.StatusBadRequest, "file", "invalid_audio", "The file cannot be read as sound: %v", err)
	default:
		s.opt.Log.Error("request failed", "id", w.Header().Get(idHeader), "error", err)
		p = failed(http.StatusInternalServerError, "The server failed to transcribe the file. Its log has the reason, with the request id.")
	}
	note(r, "error", p.Message)
	writeProblem(w, p)
}

// tellOfFFmpeg logs once that a client sent sound that ffmpeg may read: the operator can
// allow that, the client cannot.
func (s *Server) tellOfFFmpeg(err error) {
	var format *audio.FormatError
	if !errors.As(err, &format) || format.Err != audio.ErrUnsupported || s.opt.Sound.FFmpeg != audio.FFmpegNever {
		return
	}
	if format.Got == "a text file" || strings.HasPrefix(format.Got, "a file that begins with") {
		return
	}
	s.foreign.Do(func() {
		s.opt.Log.Warn("a client sent sound that is not read here; with --ffmpeg auto the installed ffmpeg reads what it can "+
			"(for trusted clients: ffmpeg knows formats that name other files)", "got", format.Got)
	})
}

// badAudio reports whether err is the file's fault.
func badAudio(err error) bool {
	var format *audio.FormatError
	return errors.Is(err, audio.ErrMalformed) || errors.As(err, &format) || errors.Is(err, fs.ErrInvalid)
}

// parameter returns the form field of an option.
func parameter(option string) string {
	switch option {
	case "Language":
		return "language"
	case "InitialPrompt":
		return "prompt"
	case "Temperatures":
		return "temperature"
	case "Task":
		return "model"
	case "WordTimestamps":
		return "timestamp_granularities[]"
	}
	return option
}

// audioSeconds rounds up, as OpenAI bills.
func audioSeconds(tr *transcript.Transcript) int {
	return int((time.Duration(tr.Duration*float64(time.Second)) + time.Second - 1) / time.Second)
}
