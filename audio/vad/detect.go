package vad

import (
	stdcontext "context"
	"errors"
	"io"

	"verity/audio"
)

// Detect reads a clip to its end. It returns the parts with speech, in order and with gaps between, and the
// length of the clip in samples.
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

// Speech returns the parts with speech of samples at audio.SampleRate.
func (o Options) Speech(pcm []float32) []audio.Part {
	parts, _, _ := Detect(stdcontext.Background(), audio.FromSamples("", pcm), o) // memory is read without errors
	return parts
}

// spans follows get_speech_timestamps of faster-whisper.
func (o Options) spans(probs []float32, length int64) (spans []audio.Part) {
	o = o.defaults()
	samples := func(ms int) int64 { return int64(ms) * audio.SampleRate / 1000 }
	quiet, longEnough, ends := Quiet(o.Threshold), samples(o.MinSpeechDurationMS), samples(o.MinSilenceDurationMS)
	var start, silence int64 // silence is where it began; 0 is none
	speaking := false
	end := func(at int64) {
		if at-start > longEnough {
			spans = append(spans, audio.Part{Start: start, End: at})
		}
		speaking, silence = false, 0
	}
	for i, p := range probs {
		at := int64(i) * StepSize
		switch p := float64(p); {
		case p >= o.Threshold:
			silence = 0
			if !speaking {
				speaking, start = true, at
			}
		case speaking && p < quiet:
			if silence == 0 {
				silence = at
			}
			if at-silence >= ends {
				end(silence)
			}
		}
	}
	if speaking {
		end(length)
	}
	return widen(spans, samples(o.SpeechPadMS), length)
}

// widen adds pad samples on either side of each span. Two spans that would overlap share the silence between
// them.
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
