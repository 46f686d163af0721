package transcribe

import (
	"testing"

	"verity/model"
)

// TestWindowFrames checks how long a whole window and a short one are.
func TestWindowFrames(t *testing.T) {
	for _, tt := range []struct {
		why        string
		opt        Options
		live       bool
		size, want int // frames
	}{
		{"the model's", Options{}, false, 100, 3000},
		{"as chosen", Options{AudioContext: 600}, false, 100, 1200},
		{"fit: the sound and 2.56 s", Options{AudioContext: FitAudioContext}, false, 101, 102 + 256},
		{"fit, but the window is nearly whole", Options{AudioContext: FitAudioContext}, false, 2900, 3000},
		{"fit, in several languages", Options{AudioContext: FitAudioContext, Multilingual: true}, false, 100, 3000},
		{"a short live pass", Options{}, true, 100, 1200},
		{"a live pass: 6 s more, in whole seconds", Options{AudioContext: 600}, true, 601, 1300},
		{"a long live pass", Options{}, true, 2900, 3000},
	} {
		tr := &Transcriber{model: &Model{Dims: model.Dims{AudioPositions: 1500}}, opt: tt.opt,
			pass: Pass{Provisional: tt.live, SoundFrames: tt.size}}
		r := &transcription{t: tr, frames: tr.windowFrames()}
		if got := r.encodedFrames(tt.size); got != tt.want {
			t.Errorf("%s: %d frames, want %d", tt.why, got, tt.want)
		}
	}
}
