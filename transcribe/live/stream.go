package live

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"verity/audio"
	"verity/audio/vad"
)

// TurnOptions says what begins and ends an utterance. The names are those of OpenAI's
// server_vad.
type TurnOptions struct {
	Threshold float64 // the speech probability from which a step of the detector starts speech
	PaddingMS int     // how much sound before the detected speech is included
	SilenceMS int     // how long a silence must be to end an utterance
}

// DefaultTurns returns OpenAI's defaults.
func DefaultTurns() TurnOptions { return TurnOptions{Threshold: 0.5, PaddingMS: 300, SilenceMS: 500} }

// Check reports the first invalid field of o.
func (o TurnOptions) Check() error {
	switch {
	case !(o.Threshold > 0 && o.Threshold < 1):
		return fmt.Errorf("threshold: got %v, want more than 0 and less than 1", o.Threshold)
	case o.PaddingMS < 0 || o.PaddingMS > 5000:
		return fmt.Errorf("prefix_padding_ms: got %d, want 0 to 5000", o.PaddingMS)
	case o.SilenceMS < 32 || o.SilenceMS > 30000:
		return fmt.Errorf("silence_duration_ms: got %d, want 32 to 30000", o.SilenceMS)
	}
	return nil
}

// An ear detects speech in arriving sound.
type turnDetector struct {
	TurnOptions
	network     *vad.Network
	partial     []float32 // incomplete step
	recent      []float32 // sound that may belong to the next utterance
	speechSteps int       // consecutive steps of speech
	silence     int64     // samples since the last step of speech
}

const (
	// leastSpeech is how many consecutive steps of speech start an utterance: 96 ms.
	// Clicks are shorter.
	minSpeechSteps = 3

	// mostUnheard is how much sound may wait for passes, in samples: a minute. mostQueued
	// is how many utterances, which may be of one sample each.
	maxPending = 60 * audio.SampleRate
	maxQueued  = 512
)

// A Stream is sound that arrives and the utterances in it. One goroutine feeds it; another
// makes the passes over one utterance after the other.
type Stream struct {
	// Begun and Ended, if they are set, are called by what feeds the stream.
	OnBegin, OnEnd func(*Utterance)

	transcriber *Transcriber
	detector    *turnDetector // nil: only Commit ends an utterance
	position    int64         // end of the samples that the ear has heard
	open        *Utterance    // the open one, or nil
	utterances  int           // utterances begun

	queue       chan *Utterance
	closed      sync.Once
	pending     atomic.Int64  // samples of utterances that have been in no pass
	blocked     atomic.Bool   // what feeds the stream waits for room
	added       chan struct{} // there is more sound, or somebody waits
	transcribed chan struct{} // passes have seen more

	previousText string // text of the last utterance, as context of the next; of the passes
}

// NewStream returns a Stream at the start of its sound. Its utterances are transcribed by t.
func NewStream(t *Transcriber, o *TurnOptions) *Stream {
	// What a full stream lets in at once fits into the queue too: a minute has fewer utterances.
	s := &Stream{queue: make(chan *Utterance, 2*maxQueued), added: make(chan struct{}, 1), transcribed: make(chan struct{}, 1)}
	s.Configure(t, o)
	return s
}

// Use has later utterances transcribed by t, and found by an ear of valid options; without
// options, Commit ends them. No utterance may be open.
func (s *Stream) Configure(t *Transcriber, o *TurnOptions) {
	s.position, s.transcriber, s.detector = s.Len(), t, nil
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

// Hear takes samples at audio.SampleRate.
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

// take adds samples to the open utterance, if there is one.
func (s *Stream) appendSound(pcm []float32) {
	s.position += int64(len(pcm))
	if s.open != nil {
		s.open.Add(pcm)
	}
}

// step hears one step of the speech detector.
func (s *Stream) detect(pcm []float32) {
	e := s.detector
	p := float64(e.network.Next(pcm))
	s.appendSound(pcm)
	switch {
	case s.open == nil:
		s.detectStart(pcm, p)
	case p >= vad.Quiet(e.Threshold):
		e.silence = 0
	default:
		if e.silence += int64(len(pcm)); e.silence >= samples(e.SilenceMS) {
			s.end()
		}
	}
}

// hearOutside hears a step outside an utterance.
func (s *Stream) detectStart(pcm []float32, p float64) {
	e := s.detector
	e.recent = append(e.recent, pcm...)
	if e.speechSteps++; p < e.Threshold {
		e.speechSteps = 0
	}
	keep := int(samples(e.PaddingMS)) + max(e.speechSteps, 1)*vad.StepSize
	if drop := len(e.recent) - keep; drop > 0 {
		e.recent = e.recent[:copy(e.recent, e.recent[drop:])]
	}
	if e.speechSteps == minSpeechSteps {
		s.begin(e.recent)
		e.recent, e.speechSteps, e.silence = nil, 0, 0
	}
}

// begin begins an utterance with sound that has been taken already.
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
	if e := s.detector; e != nil {
		rest := e.partial
		e.partial, e.recent, e.speechSteps = nil, nil, 0
		s.appendSound(rest)
	}
	if s.open != nil {
		s.end()
	}
}

// Clear forgets the open utterance, and what the ear has heard.
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

// Close says that no more sound follows. No utterance may be open. It may be called again.
func (s *Stream) Close() { s.closed.Do(func() { close(s.queue) }) }

// Utterances yields the utterances in their order, each when it begins, until the stream is
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

// room reports whether there is room for so many samples. There is for any number if none
// wait for a pass.
func (s *Stream) hasRoom(samples int64) bool {
	waits := s.pending.Load()
	return waits == 0 || waits+samples <= maxPending && len(s.queue) < maxQueued
}

// Wait waits for room. The pass that makes it is made, however little of its utterance is
// new.
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

// Sound gives mono samples at audio.SampleRate as they come, as an audio.Clip does, and
// io.EOF at its end.
type Sound interface {
	Read(dst []float32) (int, error)
}

// Listen transcribes sound while it arrives: it yields the result of every pass, until the
// sound has ended and its last words are confirmed. An error is in the last pair. When ctx
// ends, or the loop does, a read that still waits is abandoned.
func (t *Transcriber) Listen(ctx context.Context, sound Sound, o TurnOptions) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		if err := o.Check(); err != nil {
			yield(Result{}, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s, ended := NewStream(t, &o), make(chan error, 1)
		go func() { ended <- s.read(ctx, sound) }()
		for u := range s.Utterances(ctx) {
			for r, err := range u.Passes(ctx, nil) {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
		err := ctx.Err()
		if err == nil {
			err = <-ended
		}
		if err != io.EOF {
			yield(Result{}, err)
		}
	}
}

// read feeds s with sound, and returns why that has ended.
func (s *Stream) read(ctx context.Context, sound Sound) error {
	defer s.Close()
	for b := make([]float32, audio.SampleRate/10); ; {
		n, err := sound.Read(b)
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
