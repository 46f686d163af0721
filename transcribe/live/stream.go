package live

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"verity/audio"
	"verity/audio/vad"
	"verity/diarize"
	"verity/internal/option"
)

// TurnOptions configure the detection of turns: where utterances begin and end. The names are
// those of OpenAI's server_vad.
type TurnOptions struct {
	Threshold float64 // speech probability at which the detector counts a step as speech
	PaddingMS int     // sound before the detected speech that belongs to the utterance
	SilenceMS int     // silence that ends an utterance
}

// DefaultTurns returns OpenAI's defaults.
func DefaultTurns() TurnOptions { return TurnOptions{Threshold: 0.5, PaddingMS: 300, SilenceMS: 500} }

// Check returns an [option.Error] for the first invalid field of o.
func (o TurnOptions) Check() error {
	switch {
	case !(o.Threshold > 0 && o.Threshold < 1):
		return option.New("Threshold", o.Threshold, "want more than 0 and less than 1")
	case o.PaddingMS < 0 || o.PaddingMS > 5000:
		return option.New("PaddingMS", o.PaddingMS, "want 0 to 5000")
	case o.SilenceMS < 32 || o.SilenceMS > 30000:
		return option.New("SilenceMS", o.SilenceMS, "want 32 to 30000")
	}
	return nil
}

// A turnDetector finds speech in arriving sound.
type turnDetector struct {
	TurnOptions
	network     *vad.Network
	partial     []float32 // samples of an incomplete step
	recent      []float32 // sound that may belong to the next utterance
	speechSteps int       // consecutive steps of speech
	silence     int64     // samples since the last step of speech
}

const (
	// minSpeechSteps consecutive steps of speech, 96 ms, start an utterance. Clicks are shorter.
	minSpeechSteps = 3

	// Bounds on the sound that waits for a pass, in samples (one minute), and on the
	// utterances that wait, since each may be a single sample.
	maxPending = 60 * audio.SampleRate
	maxQueued  = 512
)

// A Stream divides arriving sound into utterances. One goroutine adds sound; another makes
// the passes, over one utterance after the other.
type Stream struct {
	// Called when an utterance begins and ends, by the goroutine that adds sound. Either may be nil.
	OnBegin, OnEnd func(*Utterance)

	transcriber *Transcriber
	detector    *turnDetector    // nil: only Commit ends utterances
	position    int64            // samples that the detector has seen
	open        *Utterance       // the utterance that has not ended; nil without
	utterances  int              // utterances begun
	tracker     *diarize.Tracker // of speakers; nil if they are not identified

	queue       chan *Utterance
	closed      sync.Once
	pending     atomic.Int64  // samples of utterances that no pass has transcribed
	blocked     atomic.Bool   // WaitForRoom is waiting
	added       chan struct{} // signalled when there is more sound, or WaitForRoom begins to wait
	transcribed chan struct{} // signalled after a pass

	// Of the last utterance: its text, context for the next, and its language. Both belong to the passes.
	previousText, previousLanguage string
}

// NewStream returns an empty stream. t transcribes its utterances; o is as in Configure.
func NewStream(t *Transcriber, o *TurnOptions) *Stream {
	// The queue must never block Add: one call may bring a minute of sound after hasRoom.
	s := &Stream{
		queue: make(chan *Utterance, 2*maxQueued),
		added: make(chan struct{}, 1), transcribed: make(chan struct{}, 1),
	}
	s.Configure(t, o)
	return s
}

// Configure sets the transcriber and the turn detection of later utterances. With nil options
// an utterance ends only on Commit. No utterance may be open; the options must be valid.
func (s *Stream) Configure(t *Transcriber, o *TurnOptions) {
	s.position, s.transcriber, s.detector = s.Len(), t, nil
	switch {
	case t.voices == nil:
		s.tracker = nil
	case s.tracker == nil:
		s.tracker, _ = diarize.NewTracker(*t.voices) // New has checked the options
	}
	if o != nil {
		s.detector = &turnDetector{TurnOptions: *o, network: vad.NewNetwork()}
	}
}

// Len returns how many samples have arrived.
func (s *Stream) Len() int64 {
	if s.detector == nil {
		return s.position
	}
	return s.position + int64(len(s.detector.partial))
}

// Add appends mono samples at audio.SampleRate.
func (s *Stream) Add(pcm []float32) {
	if s.detector == nil {
		if s.open == nil && len(pcm) > 0 {
			s.begin(nil)
		}
		s.appendSound(pcm)
		return
	}
	pcm = append(s.detector.partial, pcm...)
	for ; len(pcm) >= vad.StepSize; pcm = pcm[vad.StepSize:] {
		s.detect(pcm[:vad.StepSize])
	}
	s.detector.partial = slices.Clone(pcm)
}

// appendSound adds samples to the open utterance, if there is one.
func (s *Stream) appendSound(pcm []float32) {
	s.position += int64(len(pcm))
	if s.open != nil {
		s.open.Add(pcm)
	}
}

// detect runs the detector over one step of sound.
func (s *Stream) detect(pcm []float32) {
	d := s.detector
	p := float64(d.network.Next(pcm))
	s.appendSound(pcm)
	switch {
	case s.open == nil:
		s.detectStart(pcm, p)
	case p >= vad.Quiet(d.Threshold):
		d.silence = 0
	default:
		if d.silence += int64(len(pcm)); d.silence >= samples(d.SilenceMS) {
			s.end()
		}
	}
}

// detectStart begins an utterance if a step, of speech probability p, completes a run of speech.
func (s *Stream) detectStart(pcm []float32, p float64) {
	d := s.detector
	d.recent = append(d.recent, pcm...)
	if d.speechSteps++; p < d.Threshold {
		d.speechSteps = 0
	}
	keep := int(samples(d.PaddingMS)) + max(d.speechSteps, 1)*vad.StepSize
	if drop := len(d.recent) - keep; drop > 0 {
		d.recent = d.recent[:copy(d.recent, d.recent[drop:])]
	}
	if d.speechSteps == minSpeechSteps {
		s.begin(d.recent)
		d.recent, d.speechSteps, d.silence = nil, 0, 0
	}
}

// begin begins an utterance with sound that the detector has examined.
func (s *Stream) begin(pcm []float32) {
	s.utterances++
	s.open = s.transcriber.utterance(s, s.position-int64(len(pcm)))
	s.queue <- s.open
	if s.OnBegin != nil {
		s.OnBegin(s.open)
	}
	s.open.Add(pcm)
}

// end ends the open utterance.
func (s *Stream) end() {
	u := s.open
	s.open = nil
	if s.OnEnd != nil {
		s.OnEnd(u)
	}
	close(u.ended)
}

// Commit ends the open utterance, if there is one, as if silence followed.
func (s *Stream) Commit() {
	if d := s.detector; d != nil {
		rest := d.partial
		d.partial, d.recent, d.speechSteps = nil, nil, 0
		s.appendSound(rest)
	}
	if s.open != nil {
		s.end()
	}
}

// Clear discards the open utterance and the state of the turn detection.
func (s *Stream) Clear() {
	if s.open != nil {
		s.open.discarded.Store(true)
		close(s.open.ended)
		s.open = nil
	}
	var o *TurnOptions
	if s.detector != nil {
		o = &s.detector.TurnOptions
	}
	s.Configure(s.transcriber, o)
}

// Close ends the stream: no more sound may be added. No utterance may be open. A second call does nothing.
func (s *Stream) Close() { s.closed.Do(func() { close(s.queue) }) }

// Utterances yields the utterances in order, each as soon as it begins, until the stream is
// closed or ctx ends.
func (s *Stream) Utterances(ctx context.Context) iter.Seq[*Utterance] {
	return func(yield func(*Utterance) bool) {
		for {
			select {
			case u, open := <-s.queue:
				if !open || !yield(u) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// hasRoom reports whether samples may be added. Any number may if none wait for a pass.
func (s *Stream) hasRoom(samples int64) bool {
	pending := s.pending.Load()
	return pending == 0 || pending+samples <= maxPending && len(s.queue) < maxQueued
}

// WaitForRoom waits until samples may be added. Meanwhile no sound is added, so a pass does not wait
// for more.
func (s *Stream) WaitForRoom(ctx context.Context, samples int64) error {
	for !s.hasRoom(samples) {
		s.blocked.Store(true)
		signal(s.added)
		select {
		case <-s.transcribed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	s.blocked.Store(false)
	return nil
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// addAll adds the sound to s until it ends or fails, and returns why.
func (s *Stream) addAll(ctx context.Context, sound Sound) error {
	defer s.Close()
	_, file := sound.(*audio.Clip) // which has mended its samples
	for b := make([]float32, audio.SampleRate/10); ; {
		n, err := sound.Read(b)
		if bad := (*audio.SampleError)(nil); !file && errors.As(audio.CheckSamples(b[:n]), &bad) {
			bad.Index += s.Len()
			n, err = int(bad.Index-s.Len()), bad
		}
		s.Add(b[:n])
		if err != nil {
			s.Commit()
			return err
		}
		if err := s.WaitForRoom(ctx, 0); err != nil {
			return err
		}
	}
}

func samples(ms int) int64 { return int64(ms) * audio.SampleRate / 1000 }
