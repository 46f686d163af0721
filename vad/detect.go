package vad

import (
	stdcontext "context"
	"errors"
	"io"

	"verity/audio"
)

// Detect reads a clip to its end and returns the parts with speech, in order and
// apart, and the length of the clip in samples.
func Detect(ctx stdcontext.Context, clip *audio.Clip, o Options) (parts []audio.Part, length int64, err error) {
	if err := o.Check(); err != nil {
		return nil, 0, err
	}
	var probs []float32
	n, chunk := NewNetwork(), make([]float32, StepSize)
	for {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		got, err := clip.Read(chunk)
		if got > 0 {
			probs = append(probs, n.Next(chunk[:got]))
			length += int64(got)
		}
		if errors.Is(err, io.EOF) {
			return o.spans(probs, length), length, nil
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

// AnySpeech reports whether there is speech in samples by themselves.
func (o Options) AnySpeech(pcm []float32) bool {
	parts, _, _ := Detect(stdcontext.Background(), audio.FromSamples("", pcm), o) // memory is read without errors
	return len(parts) > 0
}

// A splitter turns probabilities into spans of speech, chunk by chunk.
type splitter struct {
	o                      Options
	minSpeech, minSilence  float64 // samples
	longest                float64
	spans                  []audio.Part
	speaking               bool
	start                  int64
	silence                int64 // start of a silence that may end the speech; 0: none
	lastSilence, nextStart int64 // around the last silence long enough to split at
}

// splitSilence is how long a silence must be, in samples, for speech that is too long to
// be split there: 98 ms.
const splitSilence = audio.SampleRate * 98 / 1000

// spans follows get_speech_timestamps of faster-whisper.
func (o Options) spans(probs []float32, length int64) []audio.Part {
	o = o.defaults()
	pad := audio.SampleRate * float64(o.SpeechPadMS) / 1000
	s := splitter{
		o: o, minSpeech: audio.SampleRate * float64(o.MinSpeechDurationMS) / 1000,
		minSilence: audio.SampleRate * float64(o.MinSilenceDurationMS) / 1000,
		longest:    audio.SampleRate*o.MaxSpeechDurationS - StepSize - 2*pad,
	}
	for i, p := range probs {
		s.chunk(int64(i)*StepSize, float64(p))
	}
	if s.speaking {
		s.end(length, s.minSpeech)
	}
	return widen(s.spans, int64(pad), length)
}

// end closes the open span, and drops it if it is not longer than least.
func (s *splitter) end(at int64, least float64) {
	if float64(at-s.start) > least {
		s.spans = append(s.spans, audio.Part{Start: s.start, End: at})
	}
	s.speaking = false
	s.silence, s.lastSilence, s.nextStart = 0, 0, 0
}

// chunk processes the probability of the chunk at a sample.
func (s *splitter) chunk(at int64, p float64) {
	speech := p >= s.o.Threshold
	if speech && s.silence > 0 {
		s.silence = 0
		if s.nextStart < s.lastSilence {
			s.nextStart = at
		}
	}
	if speech && !s.speaking {
		s.speaking, s.start = true, at
		return
	}
	if s.speaking && float64(at-s.start) > s.longest && !s.split(at) {
		return
	}
	if p < s.o.NegThreshold && s.speaking {
		if s.silence == 0 {
			s.silence = at
		}
		if at-s.silence > splitSilence {
			s.lastSilence = s.silence
		}
		if float64(at-s.silence) >= s.minSilence {
			s.end(s.silence, s.minSpeech)
		}
	}
}

// split ends speech that has become too long, at its last silence if there was one, and
// reports whether the chunk still has to be processed.
func (s *splitter) split(at int64) bool {
	if s.lastSilence == 0 {
		s.end(at, -1)
		return false
	}
	next, goesOn := s.nextStart, s.nextStart >= s.lastSilence
	s.end(s.lastSilence, -1)
	if goesOn {
		s.speaking, s.start = true, next
	}
	return true
}

// widen adds pad samples on either side of each span. Two spans that would meet share the
// silence between them.
func widen(spans []audio.Part, pad, length int64) []audio.Part {
	for i := range spans {
		if i == 0 {
			spans[i].Start = max(0, spans[i].Start-pad)
		}
		if i == len(spans)-1 {
			spans[i].End = min(length, spans[i].End+pad)
			break
		}
		next := &spans[i+1]
		if gap := next.Start - spans[i].End; gap < 2*pad {
			spans[i].End += gap / 2
			next.Start = max(0, next.Start-gap/2)
		} else {
			spans[i].End = min(length, spans[i].End+pad)
			next.Start = max(0, next.Start-pad)
		}
	}
	return spans
}
