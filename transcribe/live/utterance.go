package live

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"verity/audio"
	"verity/diarize"
	"verity/transcript"
)

// An Utterance is a stretch of speech that is transcribed while it grows, also during a pass.
type Utterance struct {
	Number int   // from 1 in its stream
	Start  int64 // its first sample in the stream

	onePass  pass
	step     float64 // seconds of new sound that a pass waits for
	prompt   string  // the user's
	language string  // given, or detected in a pass that confirmed words
	upstream bool    // transcribe.Upstream
	spoken   bool    // a detector has heard speech

	stream      *Stream
	ended       chan struct{} // closed when no more sound follows
	discarded   atomic.Bool   // by Stream.Clear
	transcribed int64         // samples that passes have transcribed
	passes      int

	mu    sync.Mutex
	pcm   []float32
	cut   int64     // samples dropped before pcm
	voice []float32 // samples that the tracker has not had, if there is one

	tracker *diarize.Tracker // of speakers; nil if they are not identified
	tracked int64            // samples that the tracker has had
	heard   []stretch
	words   []transcript.Word // confirmed so far, if there is a tracker

	agreed      agreement
	draft       []transcript.Cue // result of the last pass, timed from the start of the utterance
	earlierText string           // end of the confirmed text before pcm
}

// SamplesBeforeNextPass returns how many new samples the next pass waits for, given the time of the
// last one. A slow machine makes fewer passes and keeps some time to spare.
func (u *Utterance) SamplesBeforeNextPass(elapsed time.Duration) int64 {
	return int64(max(u.step, 1.25*elapsed.Seconds()) * audio.SampleRate)
}

// IsLate reports whether a pass took longer than the sound it waited for, so that live text comes
// later than on a faster machine.
func (u *Utterance) IsLate(elapsed time.Duration) bool { return elapsed.Seconds() > u.step }

// Add appends mono samples at audio.SampleRate.
func (u *Utterance) Add(pcm []float32) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pcm = append(u.pcm, pcm...)
	if u.tracker != nil {
		u.voice = append(u.voice, pcm...)
	}
	u.stream.pending.Add(int64(len(pcm)))
	signal(u.stream.added)
}

// Len returns how many samples have been added.
func (u *Utterance) Len() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.cut + int64(len(u.pcm))
}

// Passes makes a pass each time enough new sound has been added, and the last one when the
// utterance has ended. It stops without a last pass if the utterance is discarded. turn waits
// until a pass may run and returns a function to call after it. With nil, passes never wait.
func (u *Utterance) Passes(
	ctx context.Context, turn func(context.Context) (end func(), err error),
) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		defer func() { u.markTranscribed(u.Len()) }() // nothing waits for a pass any longer
		for r := (Result{}); !r.Last; {
			err := u.wait(ctx, u.SamplesBeforeNextPass(r.Elapsed))
			if err == nil && !u.discarded.Load() {
				r, err = u.passWhenAllowed(ctx, turn)
			}
			if u.discarded.Load() || !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// wait waits until the utterance ends or has enough new samples. Any suffice while WaitForRoom is waiting.
func (u *Utterance) wait(ctx context.Context, samples int64) error {
	for {
		fresh := u.Len() - u.transcribed
		if fresh >= samples || fresh > 0 && u.stream.blocked.Load() {
			return nil
		}
		select {
		case <-u.ended:
			return nil
		case <-u.stream.added:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// passWhenAllowed makes a pass as soon as turn allows it.
func (u *Utterance) passWhenAllowed(
	ctx context.Context, turn func(context.Context) (func(), error),
) (r Result, err error) {
	began := time.Now()
	if turn != nil {
		end, err := turn(ctx)
		if err != nil {
			return r, err
		}
		defer end()
	}
	last := false
	select {
	case <-u.ended:
		last = true
	default:
	}
	n := u.Len()
	r, err = u.Pass(ctx, last)
	r.Elapsed = time.Since(began)
	u.markTranscribed(n)
	return r, err
}

// markTranscribed records that the first n samples need no further pass.
func (u *Utterance) markTranscribed(n int64) {
	u.stream.pending.Add(u.transcribed - n)
	u.transcribed = n
	signal(u.stream.transcribed)
}

func seconds(samples int64) float64 { return float64(samples) / audio.SampleRate }
