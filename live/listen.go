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

// Listen transcribes sound while it arrives: it yields the result of every pass, until the
// sound has ended and its last words are confirmed. An error is in the last pair. When ctx
// ends, or the loop does, a read that still waits is abandoned.
func (t *Transcriber) Listen(ctx context.Context, sound Sound, o EarOptions) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		ear, err := NewEar(o)
		if err != nil {
			yield(Result{}, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		queue, ended := make(chan *Utterance, 16), make(chan error, 1)
		go func() { ended <- t.hear(ctx, sound, ear, queue) }()
		for story := ""; ; {
			var u *Utterance
			select {
			case u = <-queue:
			case <-ctx.Done():
				yield(Result{}, ctx.Err())
				return
			}
			if u == nil {
				if err := <-ended; err != io.EOF {
					yield(Result{}, err)
				}
				return
			}
			u.Follow(story)
			story = ""
			for r, err := range u.Passes(ctx, func(context.Context) (func(), error) { return func() {}, nil }) {
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

// hear makes utterances of the sound, and returns why it has ended.
func (t *Transcriber) hear(ctx context.Context, sound Sound, ear *Ear, queue chan<- *Utterance) error {
	defer close(queue)
	var now *Utterance
	backlog := NewBacklog()
	for b := make([]float32, audio.SampleRate/10); ; {
		n, err := sound.Read(b)
		heard := ear.Hear(b[:n])
		if err != nil {
			heard = append(heard, ear.End()...)
		}
		for _, h := range heard {
			switch h.Kind {
			case Started:
				now = t.Utterance(backlog, h.At)
				select {
				case queue <- now:
				case <-ctx.Done():
					return ctx.Err()
				}
			case Speech:
				now.Add(h.PCM)
			case Stopped:
				now.End()
			}
		}
		if err == nil {
			err = backlog.Wait(ctx, 0)
		}
		if err != nil {
			return err
		}
	}
}

// mostUnheard is how much sound may wait for passes, in samples: a minute.
const mostUnheard = 60 * audio.SampleRate

// A Backlog is the sound of successive utterances that has been in no pass. Utterances add
// to it, and whoever feeds them waits for room.
type Backlog struct {
	samples atomic.Int64
	full    atomic.Bool   // somebody waits for room
	more    chan struct{} // there is more sound, or somebody waits
	less    chan struct{} // passes have seen more
}

// NewBacklog returns an empty Backlog.
func NewBacklog() *Backlog {
	return &Backlog{more: make(chan struct{}, 1), less: make(chan struct{}, 1)}
}

// Room reports whether there is room for so many samples. There is for any number if none
// wait.
func (b *Backlog) Room(more int64) bool {
	waits := b.samples.Load()
	return waits == 0 || waits+more <= mostUnheard
}

// Wait waits for room. The pass that makes it is made, however little of its utterance is
// new.
func (b *Backlog) Wait(ctx context.Context, more int64) error {
	for !b.Room(more) {
		b.full.Store(true)
		wake(b.more)
		select {
		case <-b.less:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	b.full.Store(false)
	return nil
}

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// End says that no more sound follows.
func (u *Utterance) End() { close(u.ended) }

// Drop ends an utterance whose text is not wanted.
func (u *Utterance) Drop() {
	u.dropped.Store(true)
	u.End()
}

// Passes makes passes while sound is added, each when there is enough that is new, until
// the utterance has ended. The last is the last one; none is if it is dropped. turn waits
// until a pass may be made, and returns what is called after it.
func (u *Utterance) Passes(ctx context.Context, turn func(context.Context) (end func(), err error)) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		defer func() { u.saw(u.Len()) }() // what is left will be in no pass
		for r := (Result{}); !r.Last; {
			err := u.wait(ctx, Due(r.Turn))
			if err == nil && !u.dropped.Load() {
				r, err = u.inTurn(ctx, turn)
			}
			if u.dropped.Load() || !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// wait waits until an utterance has ended, or has so many samples that are new; fewer do if
// somebody waits for room.
func (u *Utterance) wait(ctx context.Context, samples int64) error {
	for fresh := u.Len() - u.passed; fresh < samples && !(fresh > 0 && u.backlog.full.Load()); fresh = u.Len() - u.passed {
		select {
		case <-u.ended:
			return nil
		case <-u.backlog.more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// inTurn makes a pass when it may be made.
func (u *Utterance) inTurn(ctx context.Context, turn func(context.Context) (func(), error)) (r Result, err error) {
	asked := time.Now()
	end, err := turn(ctx)
	if err != nil {
		return r, err
	}
	defer end()
	last := false
	select {
	case <-u.ended:
		last = true
	default:
	}
	n := u.Len()
	r, err = u.Pass(ctx, last)
	r.Turn = time.Since(asked)
	u.saw(n)
	return r, err
}

// saw records that the first n samples have been in a pass, or will be in none.
func (u *Utterance) saw(n int64) {
	u.backlog.samples.Add(u.passed - n)
	u.passed = n
	wake(u.backlog.less)
}
