package transcribe

import (
	"context"
	"fmt"
	"math"

	"verity/audio"
	"verity/audio/vad"
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
// The detector costs a third of base's time, so it examines only the holes between words.

const (
	leastHole   = 150 // frames without words that are examined
	holeEdge    = 30  // frames at either end of a hole that may belong to the words beside it
	leastSpeech = 100 // frames of speech in a hole that are decoded again
	leadIn      = 50  // frames before a hole that the detector needs to settle

	// A segment is sparse if it lasts more than sparseSeconds longer than its text at slowBytes a second.
	slowBytes     = 12.0
	sparseSeconds = 2.0
	longestWord   = 1.0 // s

	// At most one try for every tryFrames, and firstTries more.
	firstTries = 2
	tryFrames  = 10 * audio.FramesPerSecond
)

// gapVAD is what counts as speech in a hole.
var gapVAD = vad.Options{MinSpeechDurationMS: 250, MinSilenceDurationMS: 500, SpeechPadMS: -1}

// A sampler is a source whose samples can be read again. It is valid within the last window.
type sampler interface {
	Samples(ctx context.Context, frame, n int) ([]float32, error)
}

// A hole is a stretch without words that holds speech. Spans count from the start of the clip, in frames.
type hole struct {
	frameSpan
	inside bool        // words of one segment are before and after it
	from   int         // where that segment begins, else the start of the hole
	before int         // segments before the hole, without that one
	speech []frameSpan // in order
}

// A try is a window that was decoded to fill a hole, and has filled it.
type try struct {
	span     frameSpan
	window   encodedWindow
	attempt  attempt
	language detection
}

// fillHoles examines a window's segments, which cover the next advance of its size frames. If the window left
// out speech that a second try finds, it returns the segments before that speech and the frames to it, and
// the next window is that try.
func (r *transcription) fillHoles(
	ctx context.Context, w encodedWindow, segments []transcript.Segment, size, advance int,
) ([]transcript.Segment, int, error) {
	if r.t.opt.Strategy == Upstream || r.t.provisional {
		return segments, advance, nil
	}
	seek := r.cursor.seek
	holes, err := r.findHoles(ctx, w, segments, size, advance)
	if err != nil {
		return nil, 0, err
	}
	for _, h := range holes {
		for _, span := range r.tries(h) {
			found, err := r.try(ctx, span, h)
			if err != nil {
				return nil, 0, err
			}
			if found == nil {
				continue
			}
			start := seconds(span.start)
			r.log.Debug("speech without words is decoded again", "seek", seek, "from", start)
			r.next, r.lastWord = found, min(r.lastWord, start)
			return endAt(segments[:h.before], start), span.start - seek, nil
		}
		r.gaps = append(r.gaps, transcript.Gap{
			Start: seconds(h.speech[0].start), End: seconds(h.speech[len(h.speech)-1].end),
		})
	}
	return segments, advance, nil
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

// tries returns the windows to try for a hole.
func (r *transcription) tries(h hole) (spans []frameSpan) {
	whole := frameSpan{h.from, min(h.from+r.frames, r.cursor.todo[0].end)}
	alone := frameSpan{max(h.start, h.speech[0].start-holeEdge), h.end}
	if h.inside {
		alone.start = h.from // no segment is divided
	}
	if h.from > r.cursor.seek || len(r.history.forPrompt(r.t.promptRoom(), r.t.opt.CarryInitialPrompt)) > 0 {
		spans = append(spans, whole) // else it is the window that has the hole
	}
	return append(spans, alone)
}

// try decodes a window without the previous text and in the language detected there. It returns nil if
// the text is not plausible, does not fill the hole, or was tried before.
func (r *transcription) try(ctx context.Context, span frameSpan, h hole) (found *try, err error) {
	if r.tried[span] || len(r.tried) >= firstTries+span.start/tryFrames {
		return nil, nil
	}
	r.tried[span] = true
	have, err := r.src.Reach(ctx, span.end)
	if err != nil {
		return nil, err
	}
	start, size := span.start, min(span.end, have)-span.start
	seek, language := r.cursor.seek, r.windowLanguage
	r.cursor.seek, r.withoutPrevious = start, true
	defer func() { r.cursor.seek, r.windowLanguage, r.withoutPrevious = seek, language, false }()
	w, err := r.encodeAt(ctx, size)
	if err != nil {
		return nil, err
	}
	defer func() {
		if found == nil {
			w.close()
		}
	}()
	if r.t.language == nil {
		l, err := r.t.languageOf(ctx, w)
		if err != nil {
			return nil, err
		}
		if l.probability >= minLanguageProbability {
			r.windowLanguage = l
		}
	}
	a, err := r.decodeWithFallback(ctx, w, size)
	if err != nil || a.failed || r.t.opt.silent(a) {
		return nil, err
	}
	pieces, _ := splitAtTimestamps(r.t.model.Tokenizer, a.tokens, size)
	segments := r.segmentsOf(pieces, a)
	endWithSound(segments, seconds(start), seconds(start+size))
	texts, err := r.textSpans(ctx, w, segments, size)
	if err != nil {
		return nil, err
	}
	filled, all := 0, 0
	for _, s := range h.speech {
		all += s.end - s.start
		for _, t := range texts {
			filled += max(0, min(s.end, t.end)-max(s.start, t.start))
		}
	}
	if 2*filled < all {
		return nil, nil
	}
	return &try{frameSpan{start, start + size}, w, a, r.windowLanguage}, nil
}

// findHoles returns the holes in the next advance frames that hold speech. A segment that begins with a hole
// without speech then begins with its first word.
func (r *transcription) findHoles(
	ctx context.Context, w encodedWindow, segments []transcript.Segment, size, advance int,
) (holes []hole, err error) {
	src, ok := r.src.(sampler)
	if !ok {
		return nil, nil
	}
	texts, err := r.textSpans(ctx, w, segments, size)
	if err != nil {
		return nil, err
	}
	at, end := r.cursor.seek, r.cursor.seek+advance
	if stop := r.cursor.stop; stop > 0 {
		end = min(end, stop) // the next lane has the rest
	}
	for _, t := range append(texts, textSpan{frameSpan: frameSpan{end, end}, segment: len(segments), from: end}) {
		h := hole{frameSpan: frameSpan{at, min(t.start, end)}, from: at, inside: t.continued, before: t.segment}
		if h.inside {
			h.from = t.from
		}
		at = max(at, t.end)
		if h.end-h.start < leastHole {
			continue
		}
		if h.speech, err = r.speechIn(ctx, src, h.frameSpan); err != nil {
			return nil, err
		}
		total := 0
		for _, s := range h.speech {
			total += s.end - s.start
		}
		if total >= leastSpeech {
			holes = append(holes, h)
		} else if t.from < t.start && !t.continued {
			s := &segments[t.segment]
			if s.Start = seconds(t.start); len(s.Words) > 0 {
				s.Words[0].Start = max(s.Words[0].Start, s.Start)
			}
		}
	}
	return holes, nil
}

// speechIn returns the speech in a stretch of the window at the cursor, but for its edges.
func (r *transcription) speechIn(ctx context.Context, src sampler, s frameSpan) (speech []frameSpan, err error) {
	from := max(r.cursor.seek, s.start-leadIn)
	pcm, err := src.Samples(ctx, from, s.end-from)
	if err != nil {
		return nil, err
	}
	for _, p := range gapVAD.Speech(pcm) {
		part := frameSpan{
			max(from+int(p.Start/audio.HopLength), s.start+holeEdge),
			min(from+int(p.End/audio.HopLength), s.end-holeEdge),
		}
		if part.start < part.end {
			speech = append(speech, part)
		}
	}
	return speech, nil
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
	ctx context.Context, w encodedWindow, segments []transcript.Segment, size int,
) (spans []textSpan, err error) {
	frame := func(t float64) int { return int(math.Round(t * audio.FramesPerSecond)) }
	for k, s := range segments {
		text := textOf(r.t.model.Tokenizer, s.Tokens)
		if s.TrimmedText() == "" || len(text) == 0 {
			continue
		}
		from := frame(s.Start)
		if s.End-s.Start-float64(len(s.Text))/slowBytes <= sparseSeconds {
			spans = append(spans, textSpan{frameSpan{from, frame(s.End)}, k, from, false})
			continue
		}
		times, err := r.wordTimes(ctx, w, s, text, size)
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
	ctx context.Context, w encodedWindow, s transcript.Segment, text []tokenizer.Token, size int,
) (words []transcript.Word, err error) {
	if s.Words != nil {
		return s.Words, nil
	}
	times, err := w.words(ctx, r.t.languageAndTask(r.windowLanguage.Language), text, r.windowLanguage.Code, size)
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
