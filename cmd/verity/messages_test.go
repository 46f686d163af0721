package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/cmd/internal/options"
	"verity/model/digits"
)

// TestMessages: a mistake gets a message that says what to do. Each row is a kind of mistake that people make, with a
// part of what helps them. $WAV is a recording, $OTHER another, $EMPTY a file without bytes, $TEXT one of text, and $DIR
// an empty directory.
func TestMessages(t *testing.T) {
	t.Setenv("HF_HUB_OFFLINE", "1")
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	dir := t.TempDir()
	names := map[string]string{
		"$DIR": filepath.Join(dir, "empty"), "$UP": dir, "$OUT": filepath.Join(dir, "texts"), "$TYPO": filepath.Join(dir, "tlak.mp3"), "$MY": filepath.Join(dir, "My"), "$SPACED": filepath.Join(dir, "my texts"),
	}
	if err := os.Mkdir(names["$DIR"], 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"a.wav": digits.Sample(), "b.mp3": digits.Sample(), "empty.wav": {}, "notes.txt": []byte("one two three\n"), "notes.docx": []byte("PK\x03\x04\x00\x01 document"), "talk.mp3": digits.Sample(), "My talk.wav": digits.Sample(),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		names[map[string]string{"a.wav": "$WAV", "b.mp3": "$OTHER", "empty.wav": "$EMPTY", "notes.txt": "$TEXT", "notes.docx": "$ZIP"}[name]] = path
	}
	for _, row := range []struct{ args, want string }{
		// A file where something else belongs, and the other way round.
		{"transcribe -o $OTHER", "-o took"}, {"transcribe -o new.mp3", "-o took new.mp3"}, {"transcribe -o $OTHER $WAV", "is a file, want a directory"},
		{"transcribe -o new.srt $WAV", "that file is --output-format srt --output-dir . --name new"}, {"transcribe -o a/new.pdf $WAV", "word processors open --output-format docx"}, {"transcribe -m $WAV $WAV", "want the directory of a"},
		{"transcribe $EMPTY", "the file is empty; record or copy it again"}, {"transcribe -", "nothing came on standard input"}, {"transcribe $TEXT", "is a text file, want WAV"},
		{"transcribe $DIR", "--recursive"}, {"transcribe --draft-from $OTHER $WAV", "is a sound file, want a transcript"},
		{"transcribe --draft-from nowhere.txt $WAV", "--draft-from nowhere.txt: there is no such file"}, {"transcribe nowhere.wav", "no such sound file"},
		{"transcribe 'a.wav'", "the quotes are part of the name: leave them out, a.wav"}, {"transcribe ~/a.wav", "the shell has not replaced ~: write "},
		{"transcribe --files-from nowhere.txt", "--files-from nowhere.txt: there is no such file"}, {"watch $WAV -o out", "transcribe takes files"},
		{"listen $WAV", "transcribe takes files"}, {"serve $WAV", "takes no arguments"}, {"eval $WAV", "use --dataset PATH"},
		{"transcribe $TYPO", "there is no such sound file; did you mean talk.mp3?"}, {"$MY talk.wav", "a name with spaces needs quotes: verity"}, {"-f srt -o out $MY talk.wav", "a name with spaces needs quotes: verity -f srt"},
		{"-o $SPACED $MY talk.wav", `my texts" "`}, {"transcribe —demo.wav", "no such sound file"}, {"–output_dir=out $WAV", "type two hyphens, --output_dir"},
		{"transcribe --output_format=word $WAV", "add --output-dir"}, {"info owner/none", "if it is published, verity models pull owner/none downloads it"},
		{"transcribe –o out $WAV", "type a hyphen, -o"},
		{"–language de $WAV", "type two hyphens, --language"}, {"transcribe none/such.mp3", "none: go to its folder with cd, or drag the file"},
		{"transcribe $ZIP", "is a Word document or another ZIP archive, want WAV"}, {"transcribe -f srt,txt $WAV", "add -o DIRECTORY"},
		{"report $WAV", "records.jsonl"}, {"eval --dataset nowhere", "no such file"},
		{"eval --dataset $DIR", "manifest.jsonl"},

		// Models.
		{"transcribe -m models/ggml-base.en.bin $WAV", "did you mean base.en"}, {"transcribe -m ggml-base.en-q5_1 $WAV", "did you mean base.en"},
		{"transcribe -m smal $WAV", "did you mean small"}, {"transcribe -m whisper-9 $WAV", "tiny, base, small"},
		{"transcribe -m $DIR $WAV", "CTranslate2 model"}, {"transcribe -m tiny $WAV", "verity models pull"}, {"models rm", "verity models lists those"},
		{"models pull smal", "did you mean small"}, {"models pull", "such as small, got 0"}, {"info tiny", "verity models pull tiny downloads it"}, {"transcribe -a nowhere/at/all $WAV", "want auto, none, encoder"},
		{"transcribe -m digits -l de $WAV", "verity info lists the languages"},

		// Values.
		{"transcribe -l klingon-US $WAV", "such as en or English"}, {"transcribe -l germna $WAV", "did you mean german?"}, {"transcribe -l en,klingon $WAV", "got klingon"},
		{"transcribe --task Translate $WAV", "did you mean translate?"}, {"transcribe -f sft $WAV", "did you mean srt?"},
		{"transcribe -f odt $WAV", "want txt, md"}, {"transcribe -f docx $WAV", "add --output-dir"}, {"transcribe --beam-size five $WAV", "want a whole number from 0 to 64"},
		{"transcribe --no_speech_threshold 60% $WAV", "want a number from 0 to 1, or none"}, {"transcribe --temperature 0,0.2 $WAV", "--temperature-increment-on-fallback"},
		{"transcribe --clip-timestamps 0:05-0:10 $WAV", "60,90 means from 60 s to 90 s"}, {"transcribe --clip-timestamps 0,500 $WAV", "after the end of the audio at 9.981 s"},
		{"transcribe --clip-timestamps 400,500 $WAV", "--clip-timestamps 400 begins after the end, at "}, {"transcribe --channel 5 $WAV", "the file has only 1 channel"},
		{"transcribe --audio-track 2 $WAV", "there is no audio track 2, want 1"}, {"transcribe --precision fp16 $WAV", "did you mean f16?"},
		{"transcribe --precision q5_0 $WAV", "mxfp6 or int4"}, {"transcribe --speakers auto $WAV", "use --speakers voice"},
		{"transcribe --speakers 500 $WAV", "from 1 to 100"}, {"transcribe --subtitles hulu $WAV", "want off, on, bbc"},
		{"serve --listen 8000", "as 127.0.0.1:8000"}, {"serve --listen 0.0.0.0:1", "--api-key-file none to allow anyone"},
		{"serve --api-key-file nowhere", "--api-key-file nowhere: there is no such file; want a file with one key a line"},
		{"serve --ffmpeg nowhere", "there is no such program"}, {"serve --wyoming 10300", "as :10300"}, {"transcribe --hotwords a --terms $TEXT $WAV", "together lose words"},
		{"transcribe --speakers voice --speaker-names Anna,Ben $WAV", "want a file with lines NAME: FILE"}, {"report nowhere", "want a directory that eval or compare"},
		{"info $TEXT", "or a sound file"}, {"eval --dataset no.tsv", "--dataset no.tsv: there is no such file"}, {"transcribe --name {name}.{langage} -o new $WAV", "got {langage}, want {name}"},
		{"transcribe --condition-on-previous-text no $WAV", "--condition-on-previous-text no: want True or False"},

		// Options that change nothing, or contradict each other.
		{"transcribe --subtitles=netflix -f txt $WAV", "verity: --subtitles has no effect on txt; it is for srt, vtt or ass"},
		{"transcribe --word-timestamps $WAV", "--word-timestamps has no effect on txt"}, {"transcribe --lines -f srt $WAV", "--lines has no effect on srt; it is for txt"},
		{"transcribe --audio-track German $WAV", "a.wav: --audio-track German has no effect: the only audio track names no language"},
		{"transcribe -f rttm $WAV", "add --speakers voice"}, {"transcribe --name {name}.x $WAV", "--name needs --output-dir"},
		{"transcribe --subtitles=netflix --max-duration 0.5 $WAV", "is less than the minimum of --subtitles=netflix, 0.83 s"},
		{"transcribe --subtitles --min-duration 8 $WAV", "is more than the maximum of --subtitles, 7 s"},
		{"transcribe --subtitles --min-duration 3 --max-duration 2 $WAV", "--min-duration 3: is more than --max-duration 2"},
		{"transcribe --max-line-width 0 --max-line-count 1 -f srt $WAV", "--max-line-count needs --max-line-width above 0"},
		{"transcribe -o $OUT $UP", "subdirectories are not read (1); --recursive reads them, too"},
		{"transcribe --multilingual -l en $WAV", "--multilingual: cannot be combined with one language, en"},
		{"serve --listen 127.0.0.1:99999", "--listen 127.0.0.1:99999: the port must be from 0 to 65535"}, {"transcribe htp://x/a.mp3", "want an address that begins with http"},
		{"transcribe --draft-from $TEXT.json $WAV", "there is no such file"}, {"models foo", "want pull or rm"}, {"transcribe -m bsae $WAV", "did you mean base?"},
		{"eval -d $DIR --columns audio", "want two names"}, {"serve --listen 127.0.0.1:0 --tls-cert $TEXT", "holds no certificate"}, {"serve --listen 127.0.0.1:0 --tls-cert no.pem", "--tls-cert no.pem: there is no such file"},

		// Flags of other programs.
		{"transcribe --align_model x $WAV", "--align_model has no effect: --word-timestamps"}, {"update", "run git pull in the folder verity"}, {"models update", "want pull or rm"}, {"transcribe -t five $WAV", "-t five: want a whole number"},
		{"transcribe --prompt_file p.txt $WAV", "--initial-prompt"}, {"transcribe -vv $WAV", "--log-level debug"}, {"serve --workers 4", "--batch"},
		{"serve --port 80", "--listen"}, {"transcribe --langauge en $WAV", "did you mean --language?"}, {"transcrbe $WAV", "did you mean transcribe?"},
		{"transcribe -osrt $WAV", "--output-dir . writes files"}, {"transcribe --output_format srt $WAV", "--output-dir . writes files"},
	} {
		args := strings.Fields(row.args)
		for i, a := range args {
			if path, ok := names[a]; ok {
				args[i] = path
			}
		}
		code, out, stderr := program(t, strings.NewReader(""), args...)
		works := strings.Contains(row.want, "writes files") || strings.Contains(row.want, "no effect") || strings.Contains(row.want, "lose words") || strings.Contains(row.want, "after the end of the audio at 9.981 s")
		if !strings.Contains(stderr, row.want) || (code == 0) != works {
			t.Errorf("verity %s: status %d, %s\nwant %q", row.args, code, stderr, row.want)
		}
		if strings.Contains(stderr, "strconv") || strings.Contains(stderr, "lookup") || !works && out != "" {
			t.Errorf("verity %s: the message is not for users, or the output is not empty: %s%s", row.args, out, stderr)
		}
	}
	for _, quiet := range []string{"--output_format=srt -q", "-osrt -o " + filepath.Join(dir, "out"), "--output-format=srt"} {
		if _, _, stderr := program(t, nil, append(strings.Fields("transcribe "+quiet), names["$WAV"])...); strings.Contains(stderr, "went to standard output") {
			t.Errorf("verity %s: %s", quiet, stderr)
		}
	}
}

// TestValueMessages: every option refuses a value that it cannot have with what it wants, and a number out of its range
// with the range.
func TestValueMessages(t *testing.T) {
	for _, o := range options.All() {
		if o.Kind == options.Text && o.Check == nil {
			continue
		}
		_, err := o.Parse("(no such value]")
		if err == nil || !strings.Contains(err.Error(), "want ") && !strings.Contains(err.Error(), "error parsing regexp") && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", o.Name, err)
		}
		if o.Kind == options.Whole || o.Kind == options.Real {
			if _, err := o.Parse("-123456789"); err == nil || !strings.Contains(err.Error(), o.Range()) {
				t.Errorf("%s: -123456789: %v, want %s", o.Name, err, o.Range())
			}
		}
	}
}
