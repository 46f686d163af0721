package diarize

import (
	"context"
	"errors"
	"io"
	"slices"

	"verity/audio"
)

// A Turn is a stretch of speech of one speaker. Turns of two speakers overlap where both speak.
type Turn struct {
	Start   float64 `json:"start"`   // s
	End     float64 `json:"end"`     // s
	Speaker int     `json:"speaker"` // from 1, in the order in which they begin to speak
}

// A Diarization is who speaks when in a clip.
type Diarization struct {
	Turns  []Turn      // in order of their starts
	Voices [][]float32 // of each speaker, the unit vector of 192 numbers that describes the voice
	Names  []string    // of each speaker: that of the known voice (Options.Known), or else "Speaker 1", by number

	Divided bool // Options ask for more speakers than there seem to be, so the vectors of one voice are divided

	windows []window
}

// A window is a stretch of speech of which the voice is known.
type window struct {
	start, end int       // frames of the filter bank, 10 ms
	overlapped bool      // two speak for most of it
	votes      []float32 // the probability of each speaker; they add up to 1
}

// Clip returns who speaks when in a clip, which it reads to its end twice and leaves rewound.
// The result is empty where nobody speaks. Errors are those of the clip and the context, and an *option.Error.
func Clip(ctx context.Context, clip *audio.Clip, o Options) ([]Turn, error) {
	d, err := Analyze(ctx, clip, o)
	if err != nil {
		return nil, err
	}
	return d.Turns, nil
}

// Analyze is Clip with what else is known about the speakers.
func Analyze(ctx context.Context, clip *audio.Clip, o Options) (*Diarization, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	d := &Diarization{}
	activity, vectors, err := d.scan(ctx, clip, o)
	if err != nil {
		return nil, err
	}
	d.identify(vectors, o)
	d.Turns = d.turns(activity)
	return d, clip.Rewind()
}

// scan runs both networks over the clip. It sets the windows, and returns where somebody speaks and the vectors of the
// windows.
func (d *Diarization) scan(ctx context.Context, clip *audio.Clip, o Options) (*activity, []float32, error) {
	length := clip.HeaderDuration() * audio.SampleRate
	progress := func(from, share float64, samples int64) {
		if o.Progress != nil && length > 0 {
			o.Progress(from + share*min(1, float64(samples)/length))
		}
	}
	activity, err := detect(ctx, clip, o, func(n int64) { progress(0, segmentShare, n) })
	if err != nil {
		return nil, nil, err
	}
	if err := clip.Rewind(); err != nil {
		return nil, nil, err
	}
	d.windows = activity.windows()
	vectors, err := d.embed(ctx, clip, o, func(n int64) { progress(segmentShare, 1-segmentShare, n) })
	return activity, vectors, err
}

// segmentShare is the segmenter's part of the time.
const segmentShare = 0.3

// batchSize is how many chunks a thread gets at a time.
const batchSize = 4

// A frame of the activity is 17 ms. chunkHop is a whole number of them, so that chunks share one grid.
const (
	hopFrames = 445
	chunkHop  = hopFrames * frameStep
)

// An activity is what the segmenter found in each of its frames: the probability that somebody speaks, and that
// two do.
type activity struct {
	speech, overlap []float32
	samples         int64
}

// detect runs the segmenter over the clip, in chunks of 10 s that begin every 7.5 s. Where chunks overlap, the
// probabilities are averaged; the middle of a chunk counts more than its ends. The last chunk ends with the clip: after
// faint sound, zeros would make the network hear speech.
func detect(ctx context.Context, clip *audio.Clip, o Options, progress func(samples int64)) (*activity, error) {
	net := &networks().segmenter
	batch := batchSize * o.Pool.Threads()
	pcm := make([]float32, 0, batch*chunkHop+chunkSize) // a chunk more, for the last to begin earlier
	found := make([]float32, (batch+1)*chunkFrames*classes)
	var weights []float32
	a := &activity{}
	for first, ended := 0, false; !ended; first += batch {
		var err error
		if pcm, ended, err = fill(ctx, clip, pcm, &a.samples); err != nil {
			return nil, err
		}
		if ended && a.samples == 0 {
			return a, nil
		}
		chunks := batch
		if ended {
			chunks = 1 + max(0, len(pcm)-chunkSize+chunkHop-1)/chunkHop
		}
		starts := make([]int, chunks)
		for i := range starts {
			starts[i] = i * chunkHop
		}
		if beyond := starts[chunks-1] + chunkSize - len(pcm); beyond > 0 {
			earlier := min(beyond/frameStep*frameStep, starts[chunks-1])
			starts[chunks-1] -= earlier
			pcm = append(pcm, make([]float32, beyond-earlier)...)
		}
		each := (chunks + o.Pool.Threads() - 1) / o.Pool.Threads()
		o.Pool.For((chunks+each-1)/each, 1, func(lo, hi int) {
			for i := lo * each; i < hi*each; i += each {
				net.segment(found[i*chunkFrames*classes:], pcm, starts[i:min(i+each, chunks)])
			}
		})
		for i, start := range starts {
			weights = a.add(weights, first*hopFrames+start/frameStep, found[i*chunkFrames*classes:][:chunkFrames*classes])
		}
		pcm = pcm[:copy(pcm, pcm[min(chunks*chunkHop, len(pcm)):])]
		progress(a.samples)
	}
	frames := min(len(weights), int(max(0, a.samples-frameCentre)/frameStep+1))
	a.speech, a.overlap = a.speech[:frames], a.overlap[:frames]
	for i := range a.speech {
		a.speech[i] /= weights[i]
		a.overlap[i] /= weights[i]
	}
	return a, nil
}

// add adds the probabilities of a chunk that begins with frame first.
func (a *activity) add(weights []float32, first int, found []float32) []float32 {
	for len(weights) < first+chunkFrames {
		weights, a.speech, a.overlap = append(weights, 0), append(a.speech, 0), append(a.overlap, 0)
	}
	for t := range chunkFrames {
		weight := float32(min(t+1, chunkFrames-t))
		at, p := first+t, found[t*classes:][:classes]
		var overlap float32
		for _, v := range p[firstPair:] {
			overlap += v
		}
		weights[at] += weight
		a.speech[at] += float32(weight * (1 - p[silence]))
		a.overlap[at] += float32(weight * overlap)
	}
	return weights
}

// fill reads samples until pcm is as long as its memory, or the clip has ended, and adds their number to count.
func fill(ctx context.Context, clip *audio.Clip, pcm []float32, count *int64) (filled []float32, ended bool, err error) {
	for err = ctx.Err(); err == nil && len(pcm) < cap(pcm); {
		var n int
		n, err = clip.Read(pcm[len(pcm):cap(pcm)])
		pcm = pcm[:len(pcm)+n]
		*count += int64(n)
	}
	if errors.Is(err, io.EOF) {
		return pcm, true, nil
	}
	return pcm, false, err
}

// Where somebody speaks is decided by these probabilities; pauses and speech that are shorter than
// minFrames do not count.
const (
	speechThreshold  = 0.5
	overlapThreshold = 0.5
	minFrames        = 6 // 0.1 s
)

// above returns the stretches of p that are at least threshold, without pauses and stretches below least.
func above(p []float32, threshold float32, least int) (spans [][2]int) {
	for i := 0; i < len(p); i++ {
		if !(p[i] >= threshold) {
			continue
		}
		start := i
		for i < len(p) && p[i] >= threshold {
			i++
		}
		if n := len(spans); n > 0 && start-spans[n-1][1] < least {
			spans[n-1][1] = i
			continue
		}
		spans = append(spans, [2]int{start, i})
	}
	return slices.DeleteFunc(spans, func(s [2]int) bool { return s[1]-s[0] < least })
}

// seconds returns the time at which frame i of the segmenter begins.
func seconds(i int) float64 {
	return float64(i*frameStep+frameCentre-frameStep/2) / audio.SampleRate
}

// Windows of the embedder, in frames of the filter bank: 1 s every 0.37 s, and what speech shorter than that is
// extended to.
const (
	windowFrames = 100
	windowHop    = 37
	windowLeast  = 40
)

// windows returns the windows of all stretches of speech. The last of a stretch ends with it.
func (a *activity) windows() (all []window) {
	total := fbankFrames(int(a.samples))
	for _, s := range above(a.speech, speechThreshold, minFrames) {
		start, end := int(100*seconds(s[0])), min(int(100*seconds(s[1])), total)
		if end-start < windowLeast {
			start = max(0, min((start+end-windowLeast)/2, total-windowLeast))
			end = min(start+windowLeast, total)
		}
		if end <= start {
			continue
		}
		for at := start; ; at += windowHop {
			if at+windowFrames >= end {
				at = max(start, end-windowFrames)
				all = append(all, a.window(at, min(at+windowFrames, end)))
				break
			}
			all = append(all, a.window(at, at+windowFrames))
		}
	}
	return all
}

// window returns a window, and whether two speak for most of it.
func (a *activity) window(start, end int) window {
	var overlap, n float32
	for i := max(0, start*audio.HopLength/frameStep-2); i < len(a.overlap) && int(100*seconds(i)) < end; i++ {
		overlap += a.overlap[i]
		n++
	}
	return window{start: start, end: end, overlapped: overlap > n/2}
}

// stretchFrames is how many frames of the filter bank the embedder gets at a time: 10 s. The last window of a stretch
// and the first of the next overlap.
const stretchFrames = 1000

// stretch returns the end of the first windows that follow each other without a pause, and the last of their frames.
func stretch(windows []window) (n, end int) {
	for n < len(windows) {
		w := windows[n]
		if n > 0 && (w.start >= end || w.end-windows[0].start > stretchFrames) {
			break
		}
		n, end = n+1, max(end, w.end)
	}
	return n, end
}

// embed returns the vectors of all windows, [n][192], from one pass over the clip.
func (d *Diarization) embed(
	ctx context.Context, clip *audio.Clip, o Options, progress func(samples int64),
) ([]float32, error) {
	net, bank := &networks().embedder, theBank()
	vectors := make([]float32, len(d.windows)*voiceSize)
	pcm := make([]float32, 0, 20*o.Pool.Threads()*audio.SampleRate)
	var frames []float32 // of the filter bank, from frame base on
	base, next, total := 0, 0, int64(0)
	for ended := false; !ended && next < len(d.windows); {
		var err error
		if pcm, ended, err = fill(ctx, clip, pcm, &total); err != nil {
			return nil, err
		}
		frames = bank.append(o.Pool, frames, pcm)
		pcm = pcm[:copy(pcm, pcm[fbankFrames(len(pcm))*fbankHop:])]
		var parts []func()
		for next < len(d.windows) {
			n, end := stretch(d.windows[next:])
			if end > base+len(frames)/bands {
				break
			}
			windows, to := d.windows[next:next+n], vectors[next*voiceSize:]
			start := windows[0].start
			x := frames[(start-base)*bands : (end-base)*bands]
			parts = append(parts, func() { net.embed(to, x, start, windows) })
			next += n
		}
		o.Pool.For(len(parts), 1, func(lo, hi int) {
			for _, run := range parts[lo:hi] {
				run()
			}
		})
		drop := len(frames) / bands
		if next < len(d.windows) {
			drop = max(0, min(drop, d.windows[next].start-base))
		}
		frames, base = frames[:copy(frames, frames[drop*bands:])], base+drop
		progress(total)
	}
	return vectors, nil
}
