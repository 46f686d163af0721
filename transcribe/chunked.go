package transcribe

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"verity/audio"
	"verity/parallel"
	"verity/transcript"
)

// A chunk is one of several overlapping windows that are decoded at the same time.
type chunk struct {
	seek, size  int // frames
	left, right int // frames at either end that a neighbour covers too
	begins      bool
	mel         *audio.Mel
	ready       window // already encoded, or nil

	here  tongue
	res   result
	tried []attempt
	times []wordTime // of each text token, if word times are needed
	err   error

	spectrum, encode, cross, words time.Duration
}

// end returns the frame after the chunk.
func (c *chunk) end() int { return c.seek + c.size }

// stride returns the chunk's sizes in seconds.
func (c *chunk) stride() stride { return stride{seconds(c.size), seconds(c.left), seconds(c.right)} }

// A joiner merges the windows of a span into one text.
type joiner interface {
	// add processes the tokens of the next window and returns the final stretches.
	add(tokens []heard, s stride) []stretch

	// flush returns what is left, at the end or at a silence.
	flush() []stretch
}

// runChunked transcribes every span in lanes or in overlapping windows.
func (r *transcription) runChunked(ctx context.Context) error {
	began, s := time.Now(), &r.stats.Seconds
	before := s.Mel + s.Encode + s.CrossKV
	runSpan := r.runSpan
	if r.inLanes() {
		runSpan = r.runLanes
	}
	for i, span := range r.at.todo {
		if err := runSpan(ctx, span, i == 0); err != nil {
			return err
		}
	}
	s.ShareDecode(before + time.Since(began).Seconds())
	return ctx.Err()
}

// runSpan transcribes a span. Windows are cut in order, decoded concurrently, and their
// texts are joined in order.
func (r *transcription) runSpan(ctx context.Context, span frameSpan, begins bool) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	j := r.joiner(seconds(span.start))
	spoke := span.start // end of the last window with speech
	decode := func(_ int, c *chunk) *chunk {
		if c.err == nil {
			c.err = r.decodeChunk(ctx, c)
		}
		return c
	}
	for c := range parallel.Ordered(r.t.opt.Chunked.Windows, 0, r.cutChunks(ctx, span, begins), decode) {
		if err = c.err; err != nil {
			cancel()
			break
		}
		if r.countChunk(c) {
			r.emit(j.flush(), spoke)
			j.add(nil, c.stride())
		} else {
			spoke = c.end()
			r.emit(j.add(c.heard(), c.stride()), spoke)
		}
		r.at.seek = c.end() - c.right
		r.progress()
	}
	r.emit(j.flush(), spoke)
	return err
}

// joiner returns the joiner for the windows of a span that begins at an offset.
func (r *transcription) joiner(offset float64) joiner {
	tok := r.t.model.Tokenizer
	switch {
	case r.mergesByTime():
		return newByTime(tok, offset)
	case r.t.opt.WithoutTimestamps:
		return newUntimed(tok, offset)
	}
	return newMerger(tok, offset)
}

func (r *transcription) inLanes() bool { return r.t.opt.Chunked.defaults().Merge == MergeLanes }

func (r *transcription) mergesByTime() bool {
	return r.t.opt.Chunked.defaults().Merge == MergeTimes
}

// cutChunks yields the windows of a span. Neighbours overlap by twice the stride.
//
// Source: transformers 5.23, pipelines/automatic_speech_recognition.py, chunk_iter.
func (r *transcription) cutChunks(ctx context.Context, span frameSpan, begins bool) iter.Seq[*chunk] {
	o, window := r.t.opt.Chunked.defaults(), r.frames
	length := evenFrames(cmp.Or(o.Length, seconds(window)), window)
	side := evenFrames(cmp.Or(o.Stride, seconds(length)/6), length/2-framesPerStep)
	return func(yield func(*chunk) bool) {
		for at := span.start; at < span.end; at += length - 2*side {
			c := &chunk{seek: at, size: min(length, span.end-at), left: side, right: side,
				begins: begins && at == span.start}
			if at == span.start {
				c.left = 0
			}
			last := at+length >= span.end
			if last {
				c.right = 0
			}
			err := r.fetch(ctx, c)
			c.err = err
			if !yield(c) || err != nil || last { // from here on another goroutine may use c
				return
			}
		}
	}
}

// evenFrames returns a time in frames, whole timestamps of them, from one to most.
func evenFrames(s float64, most int) int {
	steps := int(math.Round(s * audio.FramesPerSecond / framesPerStep))
	return max(framesPerStep, min(steps*framesPerStep, most))
}

// fetch computes the mel of a chunk, unless its window is already encoded.
func (r *transcription) fetch(ctx context.Context, c *chunk) (err error) {
	cutShort := c.end() < r.src.Frames() && c.size < r.frames
	if w := r.first; w != nil && c.seek == 0 && !cutShort {
		r.first, c.ready = nil, w
		return nil
	}
	began := time.Now()
	if c.mel, err = r.melAt(ctx, c.seek); err != nil {
		return err
	}
	if cutShort {
		fillFrom(c.mel, c.size, r.silence())
	}
	c.spectrum = time.Since(began)
	return nil
}

// decodeChunk encodes and decodes a chunk. It changes nothing that other goroutines
// use.
func (r *transcription) decodeChunk(ctx context.Context, c *chunk) (err error) {
	w := c.ready
	if w == nil {
		if w, err = r.t.network.encode(ctx, c.mel, func(float64) {}); err != nil {
			return err
		}
		c.encode, c.cross = w.timing()
	}
	defer w.close()
	c.mel = nil
	c.here = tongue{r.language, 1}
	if r.t.opt.Multilingual {
		if c.here, err = r.t.tongueOf(ctx, w); err != nil {
			return fmt.Errorf("detecting the language: %w", err)
		}
	}
	o := r.sessionAt(c.seek, r.t.prompt, r.t.startSequence(c.here.language), c.begins)
	if c.res, c.tried, err = r.t.ladder(ctx, w, o, r.failures.Load() >= maxFailures, func(int) {}); err != nil {
		return err
	}
	timed := r.t.opt.WordTimestamps || r.t.opt.WithoutTimestamps && r.mergesByTime() // needed if there are no timestamps
	if !timed || r.t.gates.silent(c.res) {
		return nil
	}
	return r.timeChunk(ctx, c, w)
}

// timeChunk computes the times of the tokens of a chunk.
func (r *transcription) timeChunk(ctx context.Context, c *chunk, w window) error {
	tok, began := r.t.model.Tokenizer, time.Now()
	times, err := w.words(ctx, wordQuery{
		start: r.t.startOf(c.here.language), text: textOf(tok, c.res.tokens),
		heads: r.t.heads, frames: c.size, tokens: true,
	})
	c.words = time.Since(began)
	c.times = make([]wordTime, len(c.res.tokens))
	for i, t := range c.res.tokens {
		if t < tok.EOT && len(times) > 0 {
			c.times[i], times = times[0], times[1:]
		}
	}
	return err
}

// heard returns the tokens of a chunk.
func (c *chunk) heard() []heard {
	list := make([]heard, len(c.res.tokens))
	for i, t := range c.res.tokens {
		list[i] = heard{t, c, i}
	}
	return list
}

// countChunk adds the work for a chunk to the statistics and reports whether it has no
// speech.
func (r *transcription) countChunk(c *chunk) (silent bool) {
	s := &r.stats.Seconds
	s.Mel += c.spectrum.Seconds()
	s.Encode += c.encode.Seconds()
	s.CrossKV += c.cross.Seconds()
	s.Words += c.words.Seconds()
	r.count(c.seek, c.tried, c.res.marks)
	r.stats.Windows++
	if silent = r.t.gates.silent(c.res); silent {
		r.stats.Silent++
		r.log.Debug("no speech", "seek", c.seek, "no_speech_prob", c.res.noSpeech, "avg_logprob", c.res.logProb)
	}
	return silent
}

// emit converts stretches to segments and keeps them. Without an end timestamp, the
// text ends at the frame until.
func (r *transcription) emit(done []stretch, until int) {
	var segments []transcript.Segment
	var times []wordTime
	for _, d := range done {
		if s := r.segmentOf(d, until); s.Line() != "" {
			segments = append(segments, s)
			times = append(times, r.wordsOf(d, s)...)
			r.said = s.End
		}
	}
	if len(segments) == 0 {
		return
	}
	if r.t.opt.WordTimestamps {
		r.t.addWords(segments, times, r.lastWord)
		r.lastWord, _ = lastWordEnd(segments)
	}
	for i := range segments {
		segments[i].ID = len(r.segments) + i
	}
	r.keep(segments, result{})
}

// segmentOf converts a stretch to a segment. Its times are not before those of the
// previous segment.
func (r *transcription) segmentOf(d stretch, until int) (s transcript.Segment) {
	if len(d.tokens) == 0 {
		return s
	}
	from := d.tokens[0].in
	s = transcript.Segment{
		Seek: from.seek, Start: d.start, End: d.end,
		Temperature: from.res.temperature, AvgLogProb: from.res.logProb,
		CompressionRatio: from.res.compression, NoSpeechProb: from.res.noSpeech,
	}
	s.Language, s.LanguageProbability = r.spoken(from.here)
	if !(s.Start >= r.said) { // NaN too
		s.Start = r.said
	}
	if math.IsNaN(s.End) {
		s.End = seconds(until)
	}
	s.End = max(s.End, s.Start)
	for _, h := range d.tokens {
		s.Tokens = append(s.Tokens, h.token)
		if res := h.in.res; r.t.opt.MarkAccepted && len(res.accepted) > 0 {
			s.Accepted = append(s.Accepted, res.accepted[h.at])
			s.Marks = append(s.Marks, res.marks[h.at])
		}
	}
	s.Text = r.t.model.Tokenizer.Decode(s.Tokens)
	return s
}

// wordsOf returns the words of a stretch, whose tokens may be timed by several windows.
// Times are relative to the window of segment s.
func (r *transcription) wordsOf(d stretch, s transcript.Segment) (words []wordTime) {
	if !r.t.opt.WordTimestamps {
		return nil
	}
	tok := r.t.model.Tokenizer
	text, groups := tok.SplitToWords(append(slices.Clone(s.Tokens), tok.EOT), d.tokens[0].in.here.language.Code)
	at, before := 0, r.timed-seconds(s.Seek)
	for i, g := range groups[:len(groups)-1] {
		w := wordTime{word: text[i], tokens: slices.Clone(g)}
		for k, h := range d.tokens[at : at+len(g)] {
			t := h.in.times[h.at]
			shift := seconds(h.in.seek - s.Seek)
			if k == 0 {
				w.start = max(before, t.start+shift)
			}
			w.end = max(w.start, t.end+shift)
			w.probability += t.probability
		}
		w.probability /= float64(len(g))
		words, at, before = append(words, w), at+len(g), w.end
	}
	r.timed = before + seconds(s.Seek)
	return words
}
