package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"verity/audio"
	"verity/transcribe"
	"verity/transcript"
)

// handleSpeech returns the handler of a task in a dialect.
func (s *Server) handleSpeech(d *dialect, task transcribe.Task) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.handleSound(w, r, d, task, func(ctx context.Context, q *request, clip *audio.Clip) error {
			return s.transcribe(ctx, w, r, q, clip)
		})
	}
}

// A soundHandler answers a request for a sound. If it returns an error, it must not have written anything.
type soundHandler func(context.Context, *request, *audio.Clip) error

// handleSound reads a form and calls handle with the sound.
func (s *Server) handleSound(w http.ResponseWriter, r *http.Request, d *dialect, task transcribe.Task, handle soundHandler) {
	ctx, cancel := context.WithTimeout(r.Context(), s.opt.Timeout)
	defer cancel()
	if err := s.openSound(ctx, w, r, d, task, handle); err != nil {
		s.writeError(w, r, err)
	}
}

func (s *Server) openSound(
	ctx context.Context, w http.ResponseWriter, r *http.Request, d *dialect, task transcribe.Task, handle soundHandler,
) error {
	s.inProgress.Add(1)
	defer s.inProgress.Add(-1)
	if s.draining.Err() != nil {
		return shuttingDown()
	}
	if s.queue.full() { // before the upload is read, so that a refusal costs nothing
		return queueFull()
	}
	end, _ := ctx.Deadline()
	q, err := s.parseForm(w, r, d, task, end)
	defer q.close()
	if err != nil {
		return err
	}
	if err := q.checkCombinations(); err != nil {
		return err
	}
	q.reportIgnored(w, r)
	addLogFields(r, "model", s.opt.Name)
	sound := s.opt.Sound
	sound.Raw, sound.Track = q.rawRate, q.track
	clip, err := sound.OpenFile(ctx, q.String(), q.file.file.File)
	if err != nil {
		return err
	}
	defer clip.Close()
	q.decoding.Log = withField(q.decoding.Log, "id", w.Header().Get(requestIDHeader))
	return handle(ctx, q, clip)
}

// transcribe answers one request. If it returns an error, nothing has been written.
func (s *Server) transcribe(ctx context.Context, w http.ResponseWriter, r *http.Request, q *request, clip *audio.Clip) error {
	if err := s.findKnown(ctx, q); err != nil {
		return err
	}
	t, err := transcribe.New(s.model, q.decoding)
	if err != nil {
		return err
	}
	if t = t.WithDraft(q.draft); q.text != nil {
		if t, err = t.WithText(q.text); err != nil {
			return badRequest("align", "align: %v", err)
		}
	}
	var found []string
	if choice := clip.TrackChoice(); choice != "" {
		found = append(found, choice)
		w.Header().Set(warningHeader, ascii(choice)) // a stream begins before the rest is known
		addLogFields(r, "track", choice)
	}
	out := &answer{w: w, q: q, model: s.model}
	defer out.close()
	calls := transcribe.Callbacks{Segment: out.streamSegment}
	if q.early { // segments whose speakers are not yet known
		calls.Early = func(g transcript.Segment) { out.stream.event("verity.segment", out.segment(g, g.Text)) }
	}
	joined := func(ticket *ticket, waits bool, stop context.CancelCauseFunc) {
		if !q.stream {
			return
		}
		out.stream = s.newStream(w, stop, func() string { return s.queue.position(ticket) })
		if waits || q.progress {
			out.stream.start() // from now on the status is 200, even if the stream ends with an error
		}
	}
	if q.progress {
		sent, last, stage := 0.0, "", "speech"
		calls.Begin = func(string, float64, float64) { stage = "text" }
		calls.Estimate = func(done, total float64) {
			if q.decoding.Speakers != nil && done >= (1-transcribe.SpeakersShare)*total {
				stage = "speakers"
			}
			if done == total || stage != last || done-sent > total/200 {
				sent, last = done, stage
				out.stream.event(withProgress, object{"done": done, "total": total, "stage": stage})
			}
		}
	}
	tr, waited, err := s.transcribeInTurn(ctx, t, clip, q.file.size, joined, calls)
	s.metrics.waited.WithLabelValues(s.opt.Name).Observe(waited.Seconds())
	addLogFields(r, "waited", waited)
	if spans := q.decoding.Spans; err == nil && transcribe.Beyond(spans, tr.Duration) {
		err = badRequest("clip_timestamps", "clip_timestamps: the part begins at %g s, after the end of the sound, at %.4g s.", spans[0].Start, tr.Duration)
	}
	if err != nil {
		return s.endWithError(w, r, out, err)
	}
	s.metrics.addTranscript(s.opt.Name, tr)
	addLogFields(r, "audio_seconds", tr.Duration, "language", tr.Language, "tokens", tr.Stats.Tokens)
	if found = append(found, clip.Warnings()...); strings.TrimSpace(tr.Text) == "" {
		found = append(found, "no speech was found")
	}
	for _, g := range tr.Gaps {
		found = append(found, fmt.Sprintf("speech from %.1f to %.1f s has no words", g.Start, g.End))
	}
	for _, d := range tr.Differences {
		found = append(found, d.Line())
	}
	warnings := strings.Join(found[:min(len(found), maxWarnings)], "; ")
	if warnings != "" && !q.stream { // text and subtitles have no other place for them
		w.Header().Set(warningHeader, ascii(warnings))
	}
	return out.finish(tr)
}

// maxWarnings is how many warnings a header holds.
const maxWarnings = 20

// bytesPerSecond is a guess for files that do not contain their duration.
const bytesPerSecond = 8000

// transcribeInTurn transcribes an uploaded clip of some bytes when the queue admits it. It yields the turn between
// windows, and ends it before it returns. joined is called before the clip waits; its stop ends the transcription. waited is the
// time until the first turn.
func (s *Server) transcribeInTurn(
	ctx context.Context, by *transcribe.Transcriber, clip *audio.Clip, bytes int64,
	joined func(t *ticket, waits bool, stop context.CancelCauseFunc), calls transcribe.Callbacks,
) (tr *transcript.Transcript, waited time.Duration, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ticket, err := s.queue.join(cmp.Or(clip.HeaderDuration(), float64(bytes)/bytesPerSecond))
	if err != nil {
		return nil, 0, err
	}
	defer s.queue.leave(ticket)
	began := time.Now()
	waits := s.queue.requestTurn(&s.queue.files, ticket)
	joined(ticket, waits, stop)
	err = s.queue.wait(ctx, ticket)
	if waited = time.Since(began); err != nil {
		return nil, waited, err
	}
	calls.Progress = func(done, total float64) {
		if done == 0 { // no window has run: what came later would be answered first
			return
		}
		if err := s.queue.yield(ctx, ticket, total-done); err != nil {
			stop(err)
		}
	}
	tr, err = by.Transcribe(ctx, clip, calls)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return tr, waited, err
}

// endWithError ends an answer with an error: as an event, if a stream has started. Otherwise it returns err.
func (s *Server) endWithError(w http.ResponseWriter, r *http.Request, a *answer, err error) error {
	if a.stream == nil {
		return err
	}
	if a.stream.hasStarted() {
		if p := s.explain(w, r, err); p != nil {
			addLogFields(r, "error", p.Message)
			a.stream.event("error", object{"error": p})
		}
	}
	if a.stream.end() {
		return nil
	}
	return err
}

// checkCombinations reports fields that exclude each other.
func (q *request) checkCombinations() error {
	switch whole := q.format == "verbose_json" || q.stream || q.api != openAI; {
	case (q.progress || q.early) && !q.stream:
		return badRequest("include[]", "%s and %s need stream=true.", withProgress, withEarly)
	case q.stream && q.format != "json" && q.format != "text" && q.format != diarizedJSON: // a client would wait in vain
		return badRequest("response_format",
			"stream=true needs response_format json, text or %s, got %s.", diarizedJSON, q.format)
	case q.format == diarizedJSON && q.decoding.Task == transcribe.Translate:
		return badRequest("response_format", "%s is not for translations: use the field speakers.", diarizedJSON)
	case q.logProbs && q.format != "json": // as at OpenAI
		return badRequest("include[]", "%s needs response_format json, got %s.", withLogProbs, q.format)
	case q.logProbs && q.text != nil:
		return badRequest("include[]", "%s cannot be combined with align: a text that is given is not decoded.", withLogProbs)
	case q.words && !whole:
		return badRequest("timestamp_granularities[]",
			"Word timestamps need response_format verbose_json, or stream=true; got %s.", q.format)
	}
	return nil
}
