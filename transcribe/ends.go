package transcribe

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"verity/audio"
	"verity/audio/vad"
	"verity/transcript"
)

// endWithSound moves times that lie after limit, the end of a window's sound, since a model may write
// timestamps there. begin is the start of the window. Segments that begin after limit share the time of the
// last one that begins before it, by the lengths of their texts. Both are in seconds.
func endWithSound(segments []transcript.Segment, begin, limit float64) {
	if !slices.ContainsFunc(segments, func(s transcript.Segment) bool { return s.End > limit }) {
		return
	}
	late := len(segments)
	for late > 0 && segments[late-1].Start >= limit {
		late--
	}
	if shared := segments[max(0, late-1):]; late < len(segments) && len(shared) > 0 {
		at, size := min(max(begin, shared[0].Start), limit), 0
		if late == 0 {
			at = begin
		}
		for _, s := range shared {
			size += max(1, len(s.Text))
		}
		share := (limit - at) / float64(size)
		for i := range shared {
			s := &shared[i]
			s.Start = at
			at += share * float64(max(1, len(s.Text)))
			s.End = at
		}
	}
	for i := range segments {
		s := &segments[i]
		s.End = min(s.End, limit)
		for k := range s.Words {
			w := &s.Words[k]
			w.End = min(w.End, limit)
			w.Start = min(w.Start, w.End)
		}
	}
}

// startWithSpeech moves the start of a word after a pause to where the detector hears speech begin, since
// alignment adds much of the pause to the word. Only words that may follow a pause are examined: after a
// gap, or long.
func (r *transcription) startWithSpeech(ctx context.Context, segments []transcript.Segment, size int) error {
	const gap, long = 0.2, 0.8 // s
	src, ok := r.src.(sampler)
	if !ok || r.t.opt.Strategy == Upstream {
		return nil
	}
	last := r.lastWord
	for i := range segments {
		s := &segments[i]
		for k := range s.Words {
			w := &s.Words[k]
			if after := w.Start - last; after > gap || w.End-w.Start > long {
				start, err := r.speechStart(ctx, src, *w, size)
				if err != nil {
					return err
				}
				if w.Start = start; k == 0 {
					s.Start = max(s.Start, start)
				}
			}
			last = w.End
		}
	}
	return nil
}

// speechStart returns the first time within a word at which speech begins, else the start of the word.
func (r *transcription) speechStart(ctx context.Context, src sampler, w transcript.Word, size int) (float64, error) {
	const tail = 30 // frames after the word, since the detector leaves out short speech
	from := max(r.cursor.seek, frameCount(w.Start)-leadIn)
	n := min(frameCount(w.End)+tail, r.cursor.seek+size) - from
	if n <= 0 {
		return w.Start, nil
	}
	pcm, err := src.Samples(ctx, from, n)
	if err != nil {
		return 0, err
	}
	parts, _, err := vad.Detect(ctx, audio.FromSamples("", pcm), edgeVAD)
	for _, p := range parts {
		if at := round2(seconds(from) + float64(p.Start)/audio.SampleRate); w.Start < at && at < w.End {
			return at, err
		}
	}
	return w.Start, err
}

// edgeVAD is what counts as speech after a pause. The detector hears it about two steps of 32 ms late.
var edgeVAD = vad.Options{MinSpeechDurationMS: 250, MinSilenceDurationMS: 200, SpeechPadMS: 60}

// joinNumbers joins the parts of a number that its separators divide: "$43" and ",000." A word that was
// joined to another is left empty.
func joinNumbers(words []wordTime) {
	last := -1 // the last word that is not empty
	for i := range words {
		w := &words[i]
		if w.word == "" {
			continue
		}
		if last >= 0 && continuesNumber(words[last].word, w.word) {
			n := &words[last]
			all := float64(len(n.tokens) + len(w.tokens))
			n.probability = (n.probability*float64(len(n.tokens)) + w.probability*float64(len(w.tokens))) / all
			n.word, n.end = n.word+w.word, w.end
			n.tokens = slices.Concat(n.tokens, w.tokens)
			w.word, w.tokens = "", nil
			continue
		}
		last = i
	}
}

// continuesNumber reports whether two words are parts of one number: digits, a separator, digits.
func continuesNumber(before, after string) bool {
	const separators = ".,:/'’"
	end := strings.TrimRight(before, separators)
	start := strings.TrimLeft(after, separators)
	r, _ := utf8.DecodeLastRuneInString(end)
	first, _ := utf8.DecodeRuneInString(start)
	divided := len(end) < len(before) || len(start) < len(after)
	return divided && unicode.IsDigit(r) && unicode.IsDigit(first)
}
