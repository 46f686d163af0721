package transcribe

import (
	"context"
	"fmt"
	"math"

	"verity/audio"
	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcript"
)

// A window may leave speech out: its last timestamp closes the window early, the language changes, or its
// text jumps over a sentence. So the detector examines the stretches without words. Speech there is decoded
// once more, without the previous text and in the language detected there: first a whole window from the end
// of the words before it, then the stretch alone. What still has no words is reported
// (transcript.Transcript.Gaps).
//
// The detector costs a third of base's time, so it examines only the gaps between words.

const (
	leastGap    = 150 // frames without words that are examined
	gapEdge     = 30  // frames at either end of a gap that may belong to the words beside it
	leastSpeech = 100 // frames of speech in a gap that are decoded again

	// A segment is sparse if it lasts more than sparseSeconds longer than its text at slowBytes a second.
	sparseSeconds = 2.0
	longestWord   = 1.0 // s

	// At most one retry for every retryFrames, and firstRetries more.
	firstRetries = 2
	retryFrames  = 10 * audio.FramesPerSecond
)

// A gap is a stretch without words that holds speech. Spans count from the start of the clip, in frames.
type gap struct {
	frameSpan
	inside bool        // words of one segment are before and after it
	from   int         // where that segment begins, else the start of the gap
	before int         // segments before the gap, without that one
	speech []frameSpan // in order
}

// cover examines the stretches without words in what a window covers. If it left out speech that a second decoding
// finds, cover returns that retry, to which the window is cut, as the next window.
func (r *transcription) cover(ctx context.Context, w *window) (next *window, err error) {
	if r.t.opt.Strategy == Upstream || r.t.pass.Provisional {
		return nil, nil
	}
	gaps, err := r.findGaps(ctx, w)
	if err != nil {
		return nil, err
	}
	for _, g := range gaps {
		for _, span := range r.retrySpans(w, g) {
			next, err := r.decodeAgain(ctx, w, span)
			covered := false
			if err == nil {
				covered, err = r.covers(ctx, next, g)
			}
			if err != nil {
				next.close()
				return nil, err
			}
			if !covered {
				next.close()
				continue
			}
			r.log.Debug("speech without words is decoded again", "seek", w.seek, "from", next.begin())
			r.lastWord = min(r.lastWord, next.begin())
			w.segments, w.advance = endAt(w.segments[:g.before], next.begin()), next.seek-w.seek
			return next, nil
		}
		r.gaps = append(r.gaps, transcript.Gap{
			Start: seconds(g.speech[0].start), End: seconds(g.speech[len(g.speech)-1].end),
		})
	}
	return nil, nil
}

// endAt ends segments with a time at the latest, and returns those that begin before it.
func endAt(segments []transcript.Segment, time float64) []transcript.Segment {
	for len(segments) > 0 && segments[len(segments)-1].Start >= time {
		segments = segments[:len(segments)-1]
	}
	for i := range segments {
		segments[i].End = min(segments[i].End, time)
	}
	return segments
}

// retrySpans returns the windows to decode again for a gap.
func (r *transcription) retrySpans(w *window, g gap) (spans []frameSpan) {
	whole := frameSpan{g.from, min(g.from+r.frames, r.cursor.todo[0].end)}
	alone := frameSpan{max(g.start, g.speech[0].start-gapEdge), g.end}
	if g.inside {
		alone.start = g.from // no segment is divided
	}
	if g.from > w.seek || len(r.history.forPrompt(r.t.promptRoom(), r.t.opt.CarryInitialPrompt)) > 0 {
		spans = append(spans, whole) // else it is the window that has the gap
	}
	return append(spans, alone)
}

// decodeAgain decodes a span as a window without the previous text and in the language detected there, else in that
// of w. It returns nil if the span was decoded before, or too many were.
func (r *transcription) decodeAgain(ctx context.Context, w *window, span frameSpan) (*window, error) {
	if r.retried[span] || len(r.retried) >= firstRetries+span.start/retryFrames {
		return nil, nil
	}
	r.retried[span] = true
	have, err := r.src.Reach(ctx, span.end)
	if err != nil {
		return nil, err
	}
	again := &window{seek: span.start, size: min(span.end, have) - span.start, frames: r.frames, retry: true, language: w.language}
	if err := r.encode(ctx, again); err != nil {
		return again, err
	}
	if r.t.language == nil {
		l, err := r.t.languageOf(ctx, again)
		if err != nil {
			return again, err
		}
		if l.probability >= MinLanguageProbability {
			again.language = l
		}
	}
	return again, r.decode(ctx, again)
}

// covers reports whether the text of a retry is plausible and covers at least half of the speech in a gap.
func (r *transcription) covers(ctx context.Context, w *window, g gap) (bool, error) {
	if w == nil || w.attempt.failed || r.t.opt.silent(*w.attempt) {
		return false, nil
	}
	pieces, _ := splitAtTimestamps(r.t.model.Tokenizer, w.attempt.tokens, w.size)
	segments := r.segmentsOf(w, pieces)
	endWithSound(segments, w.begin(), w.end())
	texts, err := r.textSpans(ctx, w, segments)
	if err != nil {
		return false, err
	}
	covered := 0
	for _, s := range g.speech {
		for _, t := range texts {
			covered += max(0, min(s.end, t.end)-max(s.start, t.start))
		}
	}
	return 2*covered >= totalFrames(g.speech), nil
}

// findGaps returns the gaps that hold speech in what a window covers. A segment that begins with a gap
// without speech then begins with its first word.
func (r *transcription) findGaps(ctx context.Context, w *window) (gaps []gap, err error) {
	src, ok := r.src.(sampler)
	if !ok {
		return nil, nil
	}
	texts, err := r.textSpans(ctx, w, w.segments)
	if err != nil {
		return nil, err
	}
	at, end := w.seek, w.seek+w.advance
	if stop := r.cursor.stop; stop > 0 {
		end = min(end, stop) // the next chunk has the rest
	}
	for _, t := range append(texts, textSpan{frameSpan: frameSpan{end, end}, segment: len(w.segments), from: end}) {
		g := gap{frameSpan: frameSpan{at, min(t.start, end)}, from: at, inside: t.continued, before: t.segment}
		if g.inside {
			g.from = t.from
		}
		at = max(at, t.end)
		if g.end-g.start < leastGap {
			continue
		}
		if g.speech, err = r.speechIn(ctx, src, w, g.frameSpan); err != nil {
			return nil, err
		}
		if totalFrames(g.speech) >= leastSpeech {
			gaps = append(gaps, g)
		} else if t.from < t.start && !t.continued {
			s := &w.segments[t.segment]
			if s.Start = seconds(t.start); len(s.Words) > 0 {
				s.Words[0].Start = max(s.Words[0].Start, s.Start)
			}
		}
	}
	return gaps, nil
}

// A textSpan is a stretch with words: a segment, or a word of a sparse one.
type textSpan struct {
	frameSpan
	segment   int
	from      int  // where the segment begins
	continued bool // by a word of the same segment before it
}

// textSpans returns the stretches with words in segments of a window, in order. The words of a sparse segment
// are timed.
func (r *transcription) textSpans(
	ctx context.Context, w *window, segments []transcript.Segment,
) (spans []textSpan, err error) {
	frame := func(t float64) int { return int(math.Round(t * audio.FramesPerSecond)) }
	for k, s := range segments {
		text := textOf(r.t.model.Tokenizer, s.Tokens)
		if s.TrimmedText() == "" || len(text) == 0 {
			continue
		}
		from := frame(s.Start)
		if excess(s.End-s.Start, s.Text) <= sparseSeconds {
			spans = append(spans, textSpan{frameSpan{from, frame(s.End)}, k, from, false})
			continue
		}
		times, err := r.wordTimes(ctx, w, s, text)
		if err != nil {
			return nil, err
		}
		for i, t := range times {
			// Alignment leaves no pauses: it adds them to the words beside them, at the start to the first one.
			if long := t.End-t.Start > longestWord; long && i == 0 {
				t.Start = t.End - longestWord
			} else if long {
				t.End = t.Start + longestWord
			}
			spans = append(spans, textSpan{frameSpan{frame(t.Start), frame(t.End)}, k, from, i > 0})
		}
	}
	return spans, nil
}

// wordTimes returns the words of a segment, timed now if they have no times yet.
func (r *transcription) wordTimes(
	ctx context.Context, w *window, s transcript.Segment, text []tokenizer.Token,
) (words []transcript.Word, err error) {
	if s.Words != nil {
		return s.Words, nil
	}
	times, err := w.encoded.words(ctx, r.t.languageAndTask(w.language.Language), text, w.language.Code, w.size, false)
	offset := seconds(s.Seek)
	for _, t := range times {
		words = append(words, transcript.Word{Start: offset + t.start, End: offset + t.end})
	}
	return words, err
}

// warnGaps warns in one line if speech has no words.
func (r *transcription) warnGaps() {
	if len(r.gaps) == 0 {
		return
	}
	total := 0.0
	for _, g := range r.gaps {
		total += g.End - g.Start
	}
	r.log.Warn(fmt.Sprintf("%.4g s of speech have no words, in %s; the first begins at %.4g s", round2(total),
		show.Some(len(r.gaps), "place"), round2(r.gaps[0].Start)))
}
