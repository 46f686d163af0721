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
		{"transcribe --output_format=vtt -ml 30 a.wav", "transcribe --output_format vtt --max-line-width 30 a.wav"},
		{"transcribe -ml 30 -f=vtt -osrt a.wav", "transcribe --max-line-width 30 -f vtt,srt a.wav"},
		{"watch in -t 2", "watch in --threads 2"}, {"ls", "models"}, {"translate -t 2 a.wav", "transcribe --task translate --threads 2 a.wav"},
		{"models list", "models"}, {"pull small", "models pull small"}, {"eval -t 4", "eval --threads 4"},
	} {
		got, _, err := cli.Translate(root, strings.Fields(tt[0]))
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
		"transcribe --print-special a.wav":   "there is no flag --print-special: use -f json",
		"transcribe -t five -tp 9 a.wav":     "-t five: want a whole number from 0 to 1024\nverity transcribe: -tp 9: must be from 0 to 2",
		"compare --model a --model b":        "--model is given more than once: run verity eval",
		"transcribe --api-key-file k a.wav":  "there is no flag --api-key-file: use verity serve --api-key-file",
		"transcribe -mc 9 --grammar x --langauge en": "there is no flag -mc: use --condition-on-previous-text=false to hide the earlier text from each window\n" +
			"verity transcribe: there is no flag --grammar: there are no grammars; --suppress-expression forbids tokens\n" +
			"verity transcribe: there is no flag --langauge; did you mean --language?",
		"transcribe -mc 9 a.wav":           "there is no flag -mc: use --condition-on-previous-text=false",
		"listen --device 1":                "there is no flag --device: for another microphone",
		"transcribe --json a.wav":          "there is no flag --json: use -f json",
		"transcribe --compute-type=bf16 a": "there is no flag --compute-type: use --precision",
	} {
		if _, _, err := cli.Translate(root, strings.Fields(args)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}

// TestHabitsWithoutEffect: what changes nothing that a person would miss is left out with a note, as are all values of a
// flag but the last.
func TestHabitsWithoutEffect(t *testing.T) {
	root := newRoot(cli.Env{})
	for _, tt := range [][3]string{
		{"transcribe -wt 0.01 -dl a.wav", "transcribe a.wav",
			"-wt has no effect: words need no threshold; -dl has no effect: the language is detected where --language does not name it"},
		{"transcribe --vad-model=x.bin --vad_min_speech_duration_ms 250 a.wav", "transcribe a.wav", "--vad-model has no effect: Silero VAD is part of this " +
			"program, and --vad turns it on; --vad_min_speech_duration_ms has no effect: --vad counts speech of any length"},
		{"transcribe -tdrz a.wav", "transcribe --speakers voice a.wav", ""},
		{"transcribe --diarize a.wav", "transcribe --speakers voice a.wav",
			"--diarize is --speakers voice here: it tells voices apart; if each speaker has a channel, use --speakers channels"},
		{"transcribe -ml 1 -sow a.wav", "transcribe -f srt --max-words-per-line 1 a.wav", ""},
		{"transcribe -ml 30 -ovtt a.wav", "transcribe --max-line-width 30 -f vtt a.wav", ""}, {"transcribe -ml 0 a.wav", "transcribe a.wav", ""},
		{"transcribe -l en --language=de -t 2 --threads 2 a.wav", "transcribe -l en --language=de --threads 2 --threads 2 a.wav",
			"--language is given more than once: the last value counts"},
		{"transcribe -ml 30 --max-len 40 a.wav", "transcribe -f srt --max-line-width 30 --max-line-width 40 a.wav",
			"--max-len, here --max-line-width, is given more than once: the last value counts"},
		{"compare -a self -a ngram a.wav", "compare -a self -a ngram a.wav", ""},
		{"compare --draft-tokens 3 --draft-tokens 5 a.wav", "compare --draft-tokens 3 --draft-tokens 5 a.wav", ""},
		{"serve -m base -m small --alias=a=b --alias=c=d", "serve -m base -m small --alias=a=b --alias=c=d", ""},
		{"transcribe --num-speakers 2 --diarize a.wav", "transcribe --speakers 2 a.wav",
			"--diarize is --speakers voice here: it tells voices apart; if each speaker has a channel, use --speakers channels"},
		{"transcribe -tdrz --num_speakers 2 a.wav", "transcribe --speakers voice --speakers 2 a.wav", ""},
		{"transcribe --num_speakers 2 --speaker_num=3 --diarize a.wav", "transcribe --speakers 2 --speakers 3 a.wav",
			"--speaker_num, here --speakers, is given more than once: the last value counts; " +
				"--diarize is --speakers voice here: it tells voices apart; if each speaker has a channel, use --speakers channels"},
		{"transcribe -l en --language=de -l fr --align_model x a.wav", "transcribe -l en --language=de -l fr a.wav",
			"--language is given more than once: the last value counts; --align_model has no effect: --word-timestamps times words with the model itself"},
		{"transcribe --suppress_blank False a.wav", "transcribe a.wav", "--suppress_blank has no effect: a text never begins with a space alone"},
		{"info --offline small", "info small", "--offline has no effect: info never uses the network"},
	} {
		got, notes, err := cli.Translate(root, strings.Fields(tt[0]))
		if strings.Join(got, " ") != tt[1] || strings.Join(notes, "; ") != tt[2] || err != nil {
			t.Errorf("%s: got %s, %q, %v, want %s, %q", tt[0], got, notes, err, tt[1], tt[2])
		}
	}
}

// peers are the flags of other programs: openai-whisper 20250625, whisper.cpp's whisper-cli of 2026-11,
// whisper-ctranslate2 0.5.8 and whisperX 3.8.6. Behind = is a value.
const peers = `--model=base --model_dir=d --device=cpu --output_dir=d -o=d --output_format=srt -f=srt --verbose=False --task=translate
--language=en --temperature=0 --best_of=5 --beam_size=5 --patience=1 --length_penalty=0.5 --suppress_tokens=-1 --initial_prompt=x
--carry_initial_prompt=True --condition_on_previous_text=False --fp16=False --temperature_increment_on_fallback=0.2
--compression_ratio_threshold=2.4 --logprob_threshold=-1 --no_speech_threshold=0.6 --word_timestamps=True --prepend_punctuations=x
--append_punctuations=x --highlight_words=True --max_line_width=42 --max_line_count=2 --max_words_per_line=5 --threads=2
--clip_timestamps=0,5 --hallucination_silence_threshold=2
--batch_size=8 --batched=True --compute_type=int8_float32 --device_index=0 --hf_token=x --hotwords=x --live_input_device=1
--live_input_device_sample_rate=16000 --live_transcribe=True --live_volume_threshold=0.2 --local_files_only=True
--model_directory=d --multilingual=True --no_repeat_ngram_size=3 -p=True --prefix=x --pretty_json=True --print_colors=True
--prompt_reset_on_temperature=0.5 --repetition_penalty=1.1 --speaker_name=x --speaker_num=2 --suppress_blank=True
--vad_filter=True --vad_max_speech_duration_s=30 --vad_min_silence_duration_ms=2000 --vad_min_speech_duration_ms=250
--vad_threshold=0.5
--align_model=x --chunk_size=30 --diarize --diarize_model=x --interpolate_method=nearest --max_speakers=3 --min_speakers=2
--model_cache_only=True --no_align --print_progress=True --return_char_alignments --segment_resolution=sentence
--speaker_embeddings --suppress_numerals --vad_method=silero --vad_method=pyannote --vad_offset=0.3 --vad_onset=0.5
-t=4 -p=2 -ot=500 -on=0 -d=4000 -mc=0 -mc=-1 -mc=64 -ml=30 -bo=5 -bs=5 -ac=768 -wt=0.01 -et=2.4 -lpt=-1 -nth=0.6 -tp=0 -tpi=0.2
-debug -tr -di -tdrz -sow -nf -otxt -ovtt -osrt -owts -olrc -fp=x.ttf -ocsv -oj -ojf -of=x -np -ps -pc --print-confidence -pp -nt
-l=en -dl --prompt=x --carry-initial-prompt -m=base -oved=CPU -dtw=base -ls -ng -dev=0 -fa -nfa -sns --suppress-regex=x
--grammar=x --grammar-rule=x --grammar-penalty=100 --vad -vm=x.bin -vt=0.5 -vspd=250 -vsd=100 -vmsd=30 -vp=30 -vo=0.1
--processors=2 --offset-t=500 --offset-n=0 --duration=4000 --max-context=64 --max-len=30 --audio-ctx=768 --word-thold=0.01
--entropy-thold=2.4 --logprob-thold=-1 --no-speech-thold=0.6 --temperature-inc=0.2 --debug-mode --translate --tinydiarize
--split-on-word --no-fallback --output-txt --output-vtt --output-srt --output-words --output-lrc --font-path=x.ttf --output-csv
--output-json --output-json-full --output-file=x --no-prints --print-special --print-colors --print-progress --no-timestamps
--detect-language --ov-e-device=CPU --dtw=base --log-score --no-gpu --flash-attn --no-flash-attn --suppress-nst --vad-model=x.bin
--vad-speech-pad-ms=30 --vad-samples-overlap=0.1`

// TestHabitsOfPeers: every flag of the other programs works, or the error says what to do instead.
func TestHabitsOfPeers(t *testing.T) {
	for flag := range strings.FieldsSeq(peers) {
		root := newRoot(cli.Env{})
		args, _, err := cli.Translate(root, append([]string{"transcribe"}, strings.Split(flag, "=")...))
		if err == nil {
			c, rest, _ := root.Find(args)
			err = c.ParseFlags(rest)
		}
		if err != nil && !strings.Contains(err.Error(), ": use ") && !strings.Contains(err.Error(), ": there are no grammars") &&
			!strings.Contains(err.Error(), ": set $HF") {
			t.Errorf("%s: %v", flag, err)
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
		if !strings.ContainsAny(h.Ours[:min(1, len(h.Ours))], "-{") && h.Ours != "" {
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
