package main

import (
	"strings"
	"testing"

	"verity/cmd/internal/cli"
)

// TestHabits: what people type who know another program means the same here.
func TestHabits(t *testing.T) {
	root := newRoot(cli.Env{})
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
		{"transcribe -m models/ggml-base.bin -f a.wav -bs 5 -nf -sow", "transcribe -m models/ggml-base.bin a.wav --beam-size 5 --temperature-increment-on-fallback none"},
		{"transcribe --file=a.wav -f srt,vtt -f b.txt.mp3", "transcribe a.wav -f srt,vtt b.txt.mp3"}, {"transcribe -f docx a.wav", "transcribe -f docx a.wav"},
		{"transcribe --batched True --print_colors False --model_directory x --cpu_threads=4", "transcribe --chunked --model x --threads 4"},
		{"transcribe -di -mc 0 -mc 9 -owts -model small", "transcribe --diarize --condition-on-previous-text=false --max-context 9 --output-words --model small"},
		{"transcribe -out o --srt -i a.wav -lang en", "transcribe --output-dir o -f srt a.wav --language en"},
		{"watch in -t 2", "watch in --threads 2"}, {"ls", "models"}, {"translate -t 2 a.wav", "transcribe --task translate --threads 2 a.wav"},
		{"models list", "models"}, {"pull small", "models pull small"}, {"eval -t 4", "eval --threads 4"},
	} {
		if got := strings.Join(cli.Translated(root, strings.Fields(tt[0])), " "); got != tt[1] {
			t.Errorf("%s: got %s, want %s", tt[0], got, tt[1])
		}
	}
}
