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
		{"the model's", Options{AudioContext: WholeWindows}, false, 100, 3000},
		{"as upstream", Options{Strategy: Upstream}, false, 100, 3000},
		{"as chosen", Options{AudioContext: 600}, false, 100, 1200},
		{"the sound and 2.56 s", Options{}, false, 101, 102 + 256},
		{"long", Options{}, false, 1501, 3000},
		{"in several languages", Options{Multilingual: true}, false, 100, 3000},
		{"a long live pass", Options{}, true, 1501, 1502 + 256},
		{"a live pass, in several languages", Options{Multilingual: true}, true, 101, 102 + 256},
	} {
		tr := &Transcriber{model: &Model{Dims: model.Dims{AudioPositions: 1500}}, opt: tt.opt,
			pass: Pass{Provisional: tt.live}}
		r := &transcription{t: tr, frames: tr.windowFrames()}
		if got := r.encodedFrames(tt.size); got != tt.want {
			t.Errorf("%s: %d frames, want %d", tt.why, got, tt.want)
		}
	}
}
