package transcribe

import (
	"testing"

	"verity/audio"
	"verity/model"
)

// TestEncodedFrames checks how long a window of the encoder is.
func TestEncodedFrames(t *testing.T) {
	for _, tt := range []struct {
		why        string
		context    int
		live       bool
		clip, want int // frames
	}{
		{"the model's", 0, false, 100, 3000},
		{"as chosen", 600, false, 100, 1200},
		{"fit: the clip and 2.56 s", FitAudioContext, false, 101, 102 + 256},
		{"fit, but the clip is long", FitAudioContext, false, 2900, 3000},
		{"fit, before the length is known", FitAudioContext, false, audio.Unknown, 3000},
		{"a short live pass", 0, true, 100, 1200},
		{"a live pass: 6 s more, in whole seconds", 600, true, 601, 1300},
		{"a long live pass", 0, true, 2900, 3000},
	} {
		tr := &Transcriber{model: &Model{Dims: model.Dims{AudioPositions: 1500}}, opt: Options{AudioContext: tt.context},
			pass: Pass{Provisional: tt.live, SoundFrames: tt.clip}}
		if got := tr.encodedFrames(tt.clip); got != tt.want {
			t.Errorf("%s: %d frames, want %d", tt.why, got, tt.want)
		}
	}
}
