package transcribe

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"verity/audio"
	"verity/model"
	"verity/parallel"
	"verity/transcript"
)

// A file is a source that several lanes can read at once.
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
	e, err := f.Excerpt(ctx, from, frames)
	if err != nil {
		return nil, err
	}
	pcm, err := f.Samples(ctx, from, frames)
	return soundPart{e, from, slices.Clone(pcm)}, err
}

// A soundPart is an excerpt whose samples can be read again.
type soundPart struct {
	*audio.Excerpt
	from int // frame
	pcm  []float32
}

// Samples implements sampler.
func (p soundPart) Samples(_ context.Context, frame, n int) ([]float32, error) {
	at := func(frame int) int { return min(max(frame-p.from, 0)*audio.HopLength, len(p.pcm)) }
	return p.pcm[at(frame):at(frame+n)], nil
}

// A lane is a part of a span that is transcribed window after window, beside other lanes. Its
// last window may reach into the next lane, so that no word is lost at the cut.
type lane struct {
	start, end int // frames
	run        *transcription
	err        error
}

const (
	// laneSeconds is the minimum length of a lane. On average, half a window at its end is
	// transcribed twice. Longer lanes save some of that work, but fewer are decoded together.
	laneSeconds = 90

	// Cuts divide a span evenly, except that each moves by up to quietSeconds to the quietest place, judged
	// by the mean over quietFrames.
	quietSeconds = 10
	quietFrames  = 50
)

// lanesFor returns how many lanes of a model are decoded at the same time: 16 if the keys and
// values of 16 windows are at most 512 million numbers, as with base and small; else 8.
func lanesFor(d model.Dims) int {
	const many, most = 16, 1 << 29
	if keysAndValues := 2 * d.TextLayers * d.AudioPositions * d.TextWidth; many*keysAndValues > most {
		return many / 2
	}
	return many
}

// transcribeInLanes transcribes every span in lanes.
func (r *transcription) transcribeInLanes(ctx context.Context) error {
	began, s := time.Now(), &r.stats.Seconds
	before := s.Mel + s.Encode + s.CrossKV
	for i, span := range r.cursor.todo {
		if err := r.spanInLanes(ctx, span, i == 0); err != nil {
			return err
		}
	}
	s.ShareDecode(before + time.Since(began).Seconds())
	return ctx.Err()
}

// spanInLanes transcribes a span in lanes.
func (r *transcription) spanInLanes(ctx context.Context, span frameSpan, begins bool) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &laneProgress{to: r, done: seconds(span.start)}
	transcribe := func(_ int, l *lane) *lane {
		if l.err == nil {
			l.err = l.run.transcribeWindows(ctx)
			l.run.closeWindows()
			l.run.src = nil // frees its sound
		}
		return l
	}
	var open []transcript.Segment // of the previous lane, whose end the next one may change
	leftEnd := 0                  // end of that lane's last window
	n := r.t.opt.lanes
	for l := range parallel.Ordered(n, n, r.cutLanes(ctx, span, begins, p), transcribe) {
		var segments []transcript.Segment
		if l.run != nil {
			segments = r.addLaneWork(l)
		}
		open, segments = r.seam(open, segments, seconds(l.start), seconds(leftEnd))
		p.append(open, l.start)
		open = segments
		if err = l.err; err != nil {
			cancel()
			break
		}
		leftEnd = l.run.cursor.seek
	}
	p.append(open, span.end)
	return err
}

// cutLanes yields the lanes of a span, cut at quiet places. begins means that it is the first span.
func (r *transcription) cutLanes(ctx context.Context, span frameSpan, begins bool, p *laneProgress) iter.Seq[*lane] {
	all, length := span.end-span.start, int(r.t.opt.laneSeconds*audio.FramesPerSecond)
	n := max(1, all/max(length, 2*r.frames))
	// At most a sixth of a lane, so that a lane keeps two thirds of its length if both cuts move towards it.
	move := min(quietSeconds*audio.FramesPerSecond, all/n/6)
	return func(yield func(*lane) bool) {
		for i, at := 0, span.start; i < n; i++ {
			l, latest := &lane{start: at, end: span.end}, span.end
			if i+1 < n {
				latest = span.start + all*(i+1)/n + move
			}
			began := time.Now()
			e, err := r.src.(file).excerpt(ctx, at, latest+r.frames+quietFrames-at)
			if l.err = err; err == nil {
				if i+1 < n {
					l.end = e.Quietest(latest-2*move, latest, quietFrames)
				}
				l.run = r.newLane(l, e, span.end, p)
				l.run.continued = !begins || i > 0
				l.run.stats.Seconds.Mel = time.Since(began).Seconds()
			}
			at = l.end
			if !yield(l) || err != nil {
				return
			}
		}
	}
}

// newLane returns the transcription of a lane of a span.
func (r *transcription) newLane(l *lane, e excerpt, spanEnd int, p *laneProgress) *transcription {
	c := r.t.newTranscription(r.name, e, p.watch(l))
	c.frames, c.failures, c.clipLanguage, c.windowLanguage = r.frames, r.failures, r.clipLanguage, r.windowLanguage
	c.lastWord = seconds(l.start)
	c.cursor = cursor{todo: []frameSpan{{l.start, spanEnd}}, stop: l.end}
	if r.t.opt.WithoutTimestamps {
		c.cursor.todo[0].end = l.end // without timestamps, it is unknown what text lies beyond the cut
	}
	if l.start == r.src.Start() {
		c.languageWindow, r.languageWindow = r.languageWindow, nil
	}
	return c
}

// addLaneWork adds the statistics and the hashes of a lane to the clip's, and returns its segments.
func (r *transcription) addLaneWork(l *lane) []transcript.Segment {
	rounds := r.stats.Drafts.Rounds
	for _, s := range l.run.segments {
		for i := range s.Origins {
			s.Origins[i].Round += rounds
		}
	}
	r.stats.Add(l.run.stats)
	r.choices.join(l.run.choices)
	for _, g := range l.run.gaps {
		if g.Start < seconds(l.end) { // else the next lane has it
			r.gaps = append(r.gaps, g)
		}
	}
	return l.run.segments
}

// laneProgress reports the progress of all lanes of a span together.
type laneProgress struct {
	mu   sync.Mutex
	to   *transcription
	done float64 // seconds
}

// append numbers and appends final segments. next is the frame at which the next lane begins.
func (p *laneProgress) append(segments []transcript.Segment, next int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range segments {
		segments[i].ID = len(p.to.segments) + i
	}
	p.to.appendSegments(segments, false)
	p.to.cursor.seek = next
	p.to.reportProgress()
}

// watch returns the callbacks of a lane.
func (p *laneProgress) watch(l *lane) Callbacks {
	last := 0.0
	return Callbacks{Estimate: func(done, total float64) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if now := min(done, seconds(l.end)) - seconds(l.start); now > last {
			p.done, last = p.done+now-last, now
			p.to.reportEstimate(min(p.done, total))
		}
	}}
}
