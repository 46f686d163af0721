package cli

import (
	"strings"
	"testing"

	"verity/internal/command"
)

// TestHabits: what people type who know another program means the same here.
func TestHabits(t *testing.T) {
	root := newRoot(command.Env{})
	for _, tt := range [][2]string{
		{"transcribe a.wav --word_timestamps True", "transcribe a.wav --word-timestamps=true"},
		{"transcribe a.wav --condition_on_previous_text False --vad_filter True", "transcribe a.wav --condition-on-previous-text=false --vad"},
		{"transcribe -m base -osrt -ovtt a.wav", "transcribe -m base -f srt,vtt a.wav"},
		{"transcribe -tr -t 4 a.wav", "transcribe --task translate --threads 4 a.wav"},
		{"transcribe --compute_type int8 --device=cpu a.wav", "transcribe --precision int8 a.wav"},
		{"transcribe --compute_type=float32 --fp16 False a.wav", "transcribe --precision f32 --precision f32 a.wav"},
		{"transcribe --device cuda a.wav", "transcribe --device cuda a.wav"},
		{"transcribe -of out a.wav", "transcribe --output-file out a.wav"},
		{"transcribe --initial-prompt -tr a.wav", "transcribe --initial-prompt -tr a.wav"},
		{"transcribe --output_dir -nt -- -tr", "transcribe --output_dir -nt -- -tr"},
		{"transcribe -q - --highlight True --vad off", "transcribe -q - --highlight=auto --vad=off"}, {"transcribe --vad False -ojf a.wav", "transcribe --vad=off -f json a.wav"},
		{"models list", "models"}, {"pull small", "models pull small"}, {"eval -t 4", "eval -t 4"},
	} {
		if got := strings.Join(translated(root, strings.Fields(tt[0])), " "); got != tt[1] {
			t.Errorf("%s: got %s, want %s", tt[0], got, tt[1])
		}
	}
}
