package transcribe

import (
	"context"
	"iter"
	"sync"
	"time"

	"verity/audio"
	"verity/model"
	"verity/parallel"
	"verity/transcript"
)

// A file is a source that several chunks can read at once.
type file interface {
	source
	excerpt(ctx context.Context, from, frames int) (excerpt, error)
}

// An excerpt is a part of a file in memory.
type excerpt interface {
	source
	Quietest(from, to, around int) int
}

// A soundFile is the file of a clip.
type soundFile struct{ *audio.Spectrogram }

func (f soundFile) excerpt(ctx context.Context, from, frames int) (excerpt, error) {
	return f.Excerpt(ctx, from, frames)
}

// A chunk is a part of a span that is transcribed window after window, beside other chunks. Its
// last window may reach into the next chunk, so that no word is lost at the cut.
type chunk struct {
	start, end int // frames
	run        *transcription
	ahead      *window // its first window, if that is encoded already
	err        error
}

const (
	// chunkSeconds is the minimum length of a chunk. On average, half a window at its end is
	// transcribed twice. Longer chunks save some of that work, but fewer are decoded together.
	chunkSeconds = 90

	// Cuts divide a span evenly, except that each moves by up to quietSeconds to the quietest place, judged
	// by the mean over quietFrames.
	quietSeconds = 10
	quietFrames  = 50
)

// chunksFor returns how many chunks of a model are decoded at the same time: 16 if the keys and
// values of 16 windows are at most 512 million numbers, as with base and small; else 8.
func chunksFor(d model.Dims) int {
	const many, most = 16, 1 << 29
	if keysAndValues := 2 * d.TextLayers * d.AudioPositions * d.TextWidth; many*keysAndValues > most {
		return many / 2
	}
	return many
}

// transcribeChunks transcribes every span in chunks.
func (r *transcription) transcribeChunks(ctx context.Context, ahead *window) error {
	began, s := time.Now(), &r.stats.Seconds
	before := s.Mel + s.Encode + s.CrossKV
	for i, span := range r.cursor.todo {
		if err := r.transcribeSpan(ctx, span, i == 0, ahead); err != nil {
			return err
		}
		ahead = nil
	}
	s.ShareDecode(before + time.Since(began).Seconds())
	return ctx.Err()
}

// transcribeSpan transcribes a span in chunks.
func (r *transcription) transcribeSpan(ctx context.Context, span frameSpan, begins bool, ahead *window) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &chunkProgress{to: r, done: seconds(span.start)}
	transcribe := func(_ int, c *chunk) *chunk {
		if c.err != nil {
			c.ahead.close()
			return c
		}
		c.err = c.run.transcribeWindows(ctx, c.ahead)
		c.run.src = nil // frees its sound
		return c
	}
	var open []transcript.Segment // of the previous chunk, whose end the next one may change
	leftEnd := 0                  // end of that chunk's last window
	n := r.t.opt.chunks
	for c := range parallel.Ordered(n, n, r.cutChunks(ctx, span, begins, ahead, p), transcribe) {
		var segments []transcript.Segment
		if c.run != nil {
			segments = r.addChunk(c)
		}
		open, segments = r.merge(open, segments, seconds(c.start), seconds(leftEnd))
		p.append(open, c.start)
		open = segments
		if err = c.err; err != nil {
			cancel()
			break
		}
		leftEnd = c.run.cursor.seek
	}
	p.append(open, span.end)
	return err
}

// cutChunks yields the chunks of a span, cut at quiet places. begins means that it is the first span.
func (r *transcription) cutChunks(ctx context.Context, span frameSpan, begins bool, ahead *window, p *chunkProgress) iter.Seq[*chunk] {
	all, length := span.end-span.start, int(r.t.opt.chunkSeconds*audio.FramesPerSecond)
	n := max(1, all/max(length, 2*r.frames))
	// At most a sixth of a chunk, so that a chunk keeps two thirds of its length if both cuts move towards it.
	move := min(quietSeconds*audio.FramesPerSecond, all/n/6)
	return func(yield func(*chunk) bool) {
		for i, at := 0, span.start; i < n; i++ {
			c, latest := &chunk{start: at, end: span.end, ahead: ahead}, span.end
			ahead = nil
			if i+1 < n {
				latest = span.start + all*(i+1)/n + move
			}
			began := time.Now()
			e, err := r.src.(file).excerpt(ctx, at, latest+r.frames+quietFrames-at)
			if c.err = err; err == nil {
				if i+1 < n {
					c.end = e.Quietest(latest-2*move, latest, quietFrames)
				}
				c.run = r.newChunk(c, e, span.end, p)
				c.run.continued = !begins || i > 0
				c.run.stats.Seconds.Mel = time.Since(began).Seconds()
			}
			at = c.end
			if !yield(c) || err != nil {
				return
			}
		}
	}
}

// newChunk returns the transcription of a chunk of a span.
func (r *transcription) newChunk(c *chunk, e excerpt, spanEnd int, p *chunkProgress) *transcription {
	n := r.t.newTranscription(r.name, e, p.watch(c))
	n.frames, n.failures, n.clipLanguage, n.language = r.frames, r.failures, r.clipLanguage, r.language
	n.lastWord = seconds(c.start)
	n.cursor = cursor{todo: []frameSpan{{c.start, spanEnd}}, stop: c.end}
	if r.t.opt.WithoutTimestamps {
		n.cursor.todo[0].end = c.end // without timestamps, it is unknown what text lies beyond the cut
	}
	return n
}

// addChunk adds the statistics and the hashes of a chunk to the clip's, and returns its segments.
func (r *transcription) addChunk(c *chunk) []transcript.Segment {
	rounds := r.stats.Drafts.Rounds
	for _, s := range c.run.segments {
		for i := range s.Origins {
			s.Origins[i].Round += rounds
		}
	}
	r.stats.Add(c.run.stats)
	r.choices.join(c.run.choices)
	for _, g := range c.run.gaps {
		if g.Start < seconds(c.end) { // else the next chunk has it
			r.gaps = append(r.gaps, g)
		}
	}
	return c.run.segments
}

// chunkProgress reports the progress of all chunks of a span together.
type chunkProgress struct {
	mu   sync.Mutex
	to   *transcription
	done float64 // seconds
}

// append numbers and appends final segments. next is the frame at which the next chunk begins.
func (p *chunkProgress) append(segments []transcript.Segment, next int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range segments {
		segments[i].ID = len(p.to.segments) + i
	}
	p.to.appendSegments(segments, p.to.language, false)
	p.to.cursor.seek = next
	p.to.reportProgress()
}

// watch returns the callbacks of a chunk.
func (p *chunkProgress) watch(c *chunk) Callbacks {
	last := 0.0
	return Callbacks{Estimate: func(done, total float64) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if now := min(done, seconds(c.end)) - seconds(c.start); now > last {
			p.done, last = p.done+now-last, now
			p.to.reportEstimate(min(p.done, total))
		}
	}}
}
