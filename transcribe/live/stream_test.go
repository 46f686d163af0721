package live

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"verity/audio"
	"verity/transcript"
)

// TestRoom: whoever waits for room gets it by the next pass, which is then made of less
// sound than slow passes wait for: both would wait for each other.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := scripted(func(float64, float64, bool) []transcript.Word { return nil })
		s := u.stream
		go func() {
			for range 5 {
				u.Add(make([]float32, audio.SampleRate))
				if err := s.WaitForRoom(t.Context(), 59.5*audio.SampleRate); err != nil {
					t.Error(err)
				}
			}
			close(u.ended)
		}()
		passes := 0
		for r, err := range u.Passes(t.Context(), func(context.Context) (func(), error) {
			time.Sleep(time.Hour)
			return func() {}, nil
		}) {
			if err != nil || r.Last != (passes == 5) {
				t.Fatalf("pass %d: last %t, %v", passes, r.Last, err)
			}
			passes++
		}
		if passes != 6 || !s.hasRoom(maxPending) {
			t.Errorf("%d passes, want 6", passes)
		}
	})
}

// TestPhraseLength: a phrase ends with the mark of a sentence, with the utterance, or where the speaker changes.
func TestPhraseLength(t *testing.T) {
	for _, tt := range []struct {
		text string
		last bool
		want int
	}{
		{"and so", false, 0}, {"and so", true, 2}, {"And so. My", false, 2}, {"", true, 0}, {"そうです。", false, 1},
		{"a 3.5 or 5.10 of", false, 0}, {"he \"said.\" Then", false, 2}, {"\"Mr. Hill", false, 0}, {"Yes. Mr. Hill", false, 1},
	} {
		if got := PhraseLength(said(tt.text, 0), tt.last); got != tt.want {
			t.Errorf("%q, last %v: %d, want %d", tt.text, tt.last, got, tt.want)
		}
	}
	words := []transcript.Word{{Word: " Yes", Speaker: "A"}, {Word: " no", Speaker: "B"}, {Word: " so.", Speaker: "B"}, {Word: " And"}}
	for from, want := range []int{1, 2, 1, 0} {
		if got := PhraseLength(words[from:], false); got != want {
			t.Errorf("from word %d: %d, want %d", from, got, want)
		}
	}
}

// readFunc is a Sound.
type readFunc func(dst []float32) (int, error)

func (f readFunc) Read(dst []float32) (int, error) { return f(dst) }

// TestSampleError: live sound ends with an error at a sample that is none, whose place counts from the beginning.
func TestSampleError(t *testing.T) {
	reads := 0
	s := NewStream(&Transcriber{}, nil)
	err := s.addAll(t.Context(), readFunc(func(dst []float32) (int, error) {
		if reads++; reads == 2 {
			dst[3] = 300
		}
		return 100, nil
	}))
	if bad := (*audio.SampleError)(nil); !errors.As(err, &bad) || bad.Index != 103 {
		t.Errorf("error %v, want index 103", err)
	}
}
