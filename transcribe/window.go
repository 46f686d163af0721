package transcribe

import (
	"context"
	"time"

	"verity/audio"
	"verity/transcript"
)

// A window is a stretch of sound on its way to text. The stages fill it in, one after the other (see
// transcribeWindow). What an earlier stage has done ahead of time is not done again.
type window struct {
	seek, size int  // frames: where it begins, and how much sound it has
	frames     int  // that are encoded: the sound and the silence after it
	retry      bool // it covers a gap, and is decoded without the previous text

	encoded  encodedWindow // nil until then
	language detection
	attempt  *attempt // that stands; nil until it is decoded
	verdict  verdict
	segments []transcript.Segment
	advance  int  // frames to the next window
	dropped  bool // the segments are not part of the transcript
}

// A verdict says whether the text of a window counts.
type verdict int

const (
	speech   verdict = iota
	silent           // it has no text; but the detector may hear speech
	invented         // the detector hears no speech
)

func (w *window) begin() float64 { return seconds(w.seek) }
func (w *window) end() float64   { return seconds(w.seek + w.size) }

// close frees the memory of an encoded window. w may be nil.
func (w *window) close() {
	if w != nil && w.encoded != nil {
		w.encoded.close()
		w.encoded = nil
	}
}

// windowFrames returns the length of a whole window.
func (t *Transcriber) windowFrames() int {
	if n := t.opt.AudioContext; n > 0 {
		return framesPerStep * n
	}
	return t.model.Dims.WindowFrames()
}

// nextWindow returns the window at the cursor, with size frames of sound: ahead, if that is it.
func (r *transcription) nextWindow(size int, ahead *window) *window {
	w := &window{seek: r.cursor.seek, size: size, frames: r.encodedFrames(size)}
	if ahead == nil {
		return w
	}
	if ahead.seek == w.seek {
		if ahead.attempt != nil {
			return ahead
		}
		if ahead.size == w.size || !r.cutShort(w) {
			w.encoded, w.frames, w.language = ahead.encoded, ahead.frames, ahead.language // encoding costs as much as decoding
			return w
		}
	}
	ahead.close()
	return w
}

// cutShort reports whether other sound follows within the reach of the window.
func (r *transcription) cutShort(w *window) bool {
	return w.seek+w.size < r.src.Frames() && w.size < w.frames
}

// encode encodes a window. Silence follows its sound.
func (r *transcription) encode(ctx context.Context, w *window) error {
	if w.encoded != nil {
		return nil
	}
	return r.encodeFrom(ctx, w, r.src.Window)
}

// encodeFrom encodes a window of mel.
func (r *transcription) encodeFrom(ctx context.Context, w *window, melAt func(context.Context, int) (*audio.Mel, error)) error {
	began := time.Now()
	mel, err := melAt(ctx, w.seek)
	if err != nil {
		return err
	}
	mel = mel.First(w.frames)
	if r.cutShort(w) {
		fillFrom(mel, w.size, r.silence())
	}
	if err := r.endInSpeech(ctx, mel, w); err != nil {
		return err
	}
	r.stats.Seconds.Mel += time.Since(began).Seconds()
	e, err := r.t.network.encode(ctx, mel, &r.stats.Seconds, func(share float64) { r.reportShare(w, share/2) })
	if err == nil {
		w.encoded = e
	}
	return err
}

// silence returns the value of mel cells after the end of a span.
func (r *transcription) silence() float32 {
	if r.t.opt.Pad == audio.PadMel {
		return 0
	}
	return r.src.Silence()
}

// fillFrom sets all frames of mel from size on to v.
func fillFrom(mel *audio.Mel, size int, v float32) {
	for b := range mel.Bins {
		row := mel.Data[b*mel.Frames : (b+1)*mel.Frames]
		for i := size; i < len(row); i++ {
			row[i] = v
		}
	}
}
