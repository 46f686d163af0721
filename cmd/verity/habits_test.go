package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
)

// TestHabitsTranslated: the words of another program mean the same here.
func TestHabitsTranslated(t *testing.T) {
	root := newRoot(cli.Env{})
	for _, tt := range [][2]string{
		{"transcribe a.wav --word_timestamps True", "transcribe a.wav --word-timestamps=true"},
		{"transcribe a.wav --condition_on_previous_text False --vad_filter True", "transcribe a.wav --condition-on-previous-text=false --vad"},
		{"transcribe -m base -osrt -ovtt a.wav", "transcribe -m base -f srt,vtt a.wav"},
		{"transcribe -tr -t 4 a.wav", "transcribe --task translate --threads 4 a.wav"},
		{"transcribe --compute_type int8 --device=cpu a.wav", "transcribe --precision int8 a.wav"},
		{"transcribe --compute_type=float32 --fp16 False a.wav", "transcribe --precision f32 --precision f32 a.wav"},
		{"transcribe --initial-prompt -tr a.wav", "transcribe --initial-prompt -tr a.wav"},
		{"transcribe --output_dir -nt -- -tr", "transcribe --output_dir -nt -- -tr"},
		{"transcribe -q - --highlight True --vad off", "transcribe -q - --highlight=auto --vad=off"}, {"transcribe --vad False -ojf a.wav", "transcribe --vad=off -f json --whisper-cpp-json a.wav"},
		{"transcribe -m models/ggml-base.bin -f a.wav -bs 5 -nf -sow", "transcribe -m models/ggml-base.bin a.wav --beam-size 5 --temperature-increment-on-fallback none"},
		{"transcribe --file=a.wav -f srt,vtt -f b.txt.mp3", "transcribe a.wav -f srt,vtt b.txt.mp3"}, {"transcribe -f docx a.wav", "transcribe -f docx a.wav"},
		{"transcribe --batched True --print_colors False --model_directory x --cpu_threads=4", "transcribe --chunked --model x --threads 4"},
		{"transcribe -mc 0 -model small", "transcribe --condition-on-previous-text=false --model small"},
		{"transcribe -out o --srt -i a.wav -lang en", "transcribe --output-dir o -f srt a.wav --language en"},
		{"transcribe -osrt -of sub/out2 a.wav", "transcribe -f srt --output-dir sub --name out2 a.wav"}, {"transcribe --word-timestamps true a.wav", "transcribe --word-timestamps=true a.wav"},
		{"transcribe -p 1 --print_colors --vad_filter false --no-vad -t 1 a.wav", "transcribe --vad=off --threads 1 a.wav"},
		{"transcribe -d 4000 -ot 1500 a.wav", "transcribe a.wav --clip-timestamps 1.5,5.5"}, {"transcribe -ot 2000 a.wav", "transcribe a.wav --clip-timestamps 2"},
		{"transcribe -osrt -oj -ovtt a.wav", "transcribe -f srt,json,vtt --whisper-cpp-json a.wav"},
		{"transcribe -osrt -of - a.wav", "transcribe -f srt a.wav"},
		{"watch in -t 2", "watch in --threads 2"}, {"ls", "models"}, {"translate -t 2 a.wav", "transcribe --task translate --threads 2 a.wav"},
		{"models list", "models"}, {"pull small", "models pull small"}, {"eval -t 4", "eval --threads 4"},
	} {
		got, err := cli.Translate(root, strings.Fields(tt[0]))
		if strings.Join(got, " ") != tt[1] || err != nil {
			t.Errorf("%s: got %s, %v, want %s", tt[0], got, err, tt[1])
		}
	}
}

// TestHabitsExplained: a word that means nothing here is an error that says what to do.
func TestHabitsExplained(t *testing.T) {
	root := newRoot(cli.Env{})
	for args, want := range map[string]string{
		"transcribe --device cuda a.wav":     "--device cuda: want cpu",
		"transcribe --verbose maybe a.wav":   "--verbose maybe: want True or False; or use --log-level",
		"transcribe --word_timestamps maybe": "--word_timestamps maybe: want True or False",
		"transcribe --vad_filter no a.wav":   "--vad_filter no: want True or False",
		"transcribe --word-timestamps off":   "--word-timestamps off: want True or False",
		"transcribe -osrt yes":               "-osrt yes: want True or False",
		"transcribe --speed_up True a.wav":   "there is no flag --speed_up: leave it out; --audio-context",
		"transcribe --api-key-file k a.wav":  "there is no flag --api-key-file: use verity serve --api-key-file",
		"transcribe -mc 9 --speed_up --langauge en": "there is no flag -mc: use --condition-on-previous-text=false to hide the earlier text from each window\n" +
			"verity transcribe: there is no flag --speed_up: leave it out; --audio-context fit is faster for short files\n" +
			"verity transcribe: there is no flag --langauge; did you mean --language?",
		"transcribe -mc 9 a.wav":           "there is no flag -mc: use --condition-on-previous-text=false",
		"listen --device 1":                "there is no flag --device: for another microphone",
		"transcribe --json a.wav":          "there is no flag --json: use -f json",
		"transcribe --compute-type=bf16 a": "there is no flag --compute-type: use --precision",
	} {
		if _, err := cli.Translate(root, strings.Fields(args)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}

// TestHabitsExist: what the table of habits names exists, and what it translates does not.
func TestHabitsExist(t *testing.T) {
	root, long := newRoot(cli.Env{}), regexp.MustCompile(`--[a-z][a-z-]*`)
	names := flagNames()
	if len(cli.Habits()) < 150 {
		t.Errorf("only %d habits", len(cli.Habits()))
	}
	for word, h := range cli.Habits() {
		if name, ok := strings.CutPrefix(word, "--"); ok && slices.Contains(names, name) {
			t.Errorf("%s exists", word)
		}
		for _, flag := range long.FindAllString(h.Ours+" "+h.Note, -1) {
			if !slices.Contains(names, flag[2:]) {
				t.Errorf("%s: %s%s: there is no flag %s", word, h.Ours, h.Note, flag)
			}
		}
		ours := strings.Fields(h.Ours)
		if !strings.HasPrefix(h.Ours, "-") && h.Ours != "" {
			if c, rest, err := root.Find(ours); err != nil || c == root || len(rest) > 0 && rest[0][0] != '-' {
				t.Errorf("%s: %s: there is no such command", word, h.Ours)
			}
		}
		if len(ours) == 2 && ours[0] == "-f" {
			if _, err := options.Formats(ours[1]); err != nil {
				t.Errorf("%s: %s: %v", word, h.Ours, err)
			}
		}
	}
}
