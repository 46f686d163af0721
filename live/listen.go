package live

import (
	"context"
	"io"
	"iter"
	"sync/atomic"
	"time"

	"verity/audio"
)

// Sound gives mono samples at audio.SampleRate as they come, as an audio.Clip does, and
// io.EOF at its end.
type Sound interface {
	Read(dst []float32) (int, error)
}

// Said is what a pass over an utterance has found.
type Said struct {
	Result
	Start float64 // of the utterance, in seconds of the sound
	Last  bool    // no other pass over it follows
}

// Listen transcribes sound while it arrives: it yields the result of every pass, until the
// sound has ended and its last words are confirmed. An error is in the last pair. When ctx
// ends, or the loop does, a read that still waits is abandoned.
func (t *Transcriber) Listen(ctx context.Context, sound Sound, o EarOptions) iter.Seq2[Said, error] {
	return func(yield func(Said, error) bool) {
		ear, err := NewEar(o)
		if err != nil {
			yield(Said{}, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		l := &listening{begin: t.Utterance, queue: make(chan *speech, 16), moved: make(chan struct{}, 1)}
		go l.hear(ctx, sound, ear)
		for story := ""; ; {
			var s *speech
			open := false
			select {
			case s, open = <-l.queue:
			case <-ctx.Done():
				yield(Said{}, ctx.Err())
				return
			}
			if !open {
				if l.err != io.EOF {
					yield(Said{}, l.err)
				}
				return
			}
			s.u.Follow(story)
			story = ""
			for r, err := range l.passes(ctx, s) {
				if story += spell(r.Confirmed); r.Unsure {
					story = ""
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// mostUnheard is how much sound may wait for passes, in samples: a minute.
const mostUnheard = 60 * audio.SampleRate

// A listening is what the goroutine that hears and the one that makes passes share.
type listening struct {
	begin   func() *Utterance
	queue   chan *speech
	unheard atomic.Int64
	moved   chan struct{} // passes have seen more
	err     error         // why the sound has ended, once queue is closed
}

// A speech is an utterance that is heard.
type speech struct {
	u     *Utterance
	from  int64
	more  chan struct{} // it has more sound
	ended chan struct{} // closed with its end
}

// hear makes utterances of the sound.
func (l *listening) hear(ctx context.Context, sound Sound, ear *Ear) {
	defer close(l.queue)
	var now *speech
	for b := make([]float32, audio.SampleRate/10); l.err == nil && ctx.Err() == nil; {
		n, err := sound.Read(b)
		heard := ear.Hear(b[:n])
		if l.err = err; err != nil {
			heard = append(heard, ear.End()...)
		}
		for _, h := range heard {
			switch h.Kind {
			case Started:
				now = &speech{u: l.begin(), from: h.At, more: make(chan struct{}, 1), ended: make(chan struct{})}
				select {
				case l.queue <- now:
				case <-ctx.Done():
					return
				}
			case Speech:
				l.unheard.Add(int64(len(h.PCM)))
				now.u.Add(h.PCM)
				wake(now.more)
			case Stopped:
				close(now.ended)
			}
		}
		for l.unheard.Load() > mostUnheard {
			select {
			case <-l.moved:
			case <-ctx.Done():
				return
			}
		}
	}
}

// passes makes passes over an utterance until it has ended.
func (l *listening) passes(ctx context.Context, s *speech) iter.Seq2[Said, error] {
	return func(yield func(Said, error) bool) {
		turn, passed := time.Duration(0), int64(0)
		for r := (Said{Start: seconds(s.from)}); !r.Last; {
			for due := Due(turn); s.u.Len()-passed < due && !r.Last; {
				select {
				case <-s.more:
				case <-s.ended:
					r.Last = true
				case <-ctx.Done():
					yield(r, ctx.Err())
					return
				}
			}
			select {
			case <-s.ended:
				r.Last = true
			default:
			}
			n, began := s.u.Len(), time.Now()
			var err error
			r.Result, err = s.u.Pass(ctx, r.Last)
			turn = time.Since(began)
			l.unheard.Add(passed - n)
			passed = n
			wake(l.moved)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
