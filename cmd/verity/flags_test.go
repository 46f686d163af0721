package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
)

// flagNames returns the flags of all commands.
func flagNames() []string {
	names := map[string]bool{}
	eachFlag(newRoot(cli.Env{}), func(_ *cobra.Command, f *pflag.Flag) {
		if !f.Hidden && f.Name != "no-descriptions" {
			names[f.Name] = true
		}
	})
	return slices.Sorted(maps.Keys(names))
}

// eachFlag visits the flags of a command, and of those under it.
func eachFlag(c *cobra.Command, visit func(*cobra.Command, *pflag.Flag)) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			visit(c, f)
		}
	})
	for _, sub := range c.Commands() {
		eachFlag(sub, visit)
	}
}

// TestRepeated: no flag loses one of two values. A value twice, and one over a variable's, are none lost.
func TestRepeated(t *testing.T) {
	var many []string
	eachFlag(newRoot(cli.Env{}), func(c *cobra.Command, f *pflag.Flag) {
		flag, values := "--"+f.Name, []string{"1", "0"}
		if err := cli.Repeated(c.Flags(), []string{flag + "=1", flag + "=1"}); err != nil {
			t.Error(err)
		}
		err := cli.Repeated(c.Flags(), []string{flag + "=" + values[0], flag + "=" + values[1]})
		if err == nil {
			many = append(many, strings.TrimPrefix(c.CommandPath(), "verity ")+" "+f.Name)
		} else if want := flag + " 0: " + flag + " 1 is given too; want one of them"; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	})
	want := "transcribe output-format, watch output-format, serve origin, compare assistant, compare draft-tokens"
	if got := strings.Join(many, ", "); got != want {
		t.Errorf("%s take several values, want %s", got, want)
	}
	code, _, stderr := program(t, nil, "talk.wav", "-l", "en", "--language", "de")
	if code != 2 || !strings.Contains(stderr, "transcribe: --language de: --language en is given too; want one of them, or both as --language en,de") {
		t.Errorf("status %d, %s", code, stderr)
	}
	t.Setenv("VERITY_LANGUAGE", "de")
	if code, _, stderr := program(t, nil, "talk.wav", "-l", "en"); code != 1 {
		t.Errorf("status %d, %s", code, stderr)
	}
}

// TestOtherPrograms: a flag of another program works, or the message says what does its work, for all of them at once.
func TestOtherPrograms(t *testing.T) {
	for args, want := range map[string]string{
		"--batched True --batch_size 8": "", "--vad_filter True": "", "--vad_filter False": "", "--print_progress True": "", "-t 2": "", "-vt 0.5": "",
		"-ojf": "", "--output-json-full": "", "-np": "", "--vad_filter=maybe": "want auto, on or off",
		"-p 4": "--chunked", "-vspd 250": "--vad-threshold", "-debug": "--log-level debug",
		"--device cuda": "--device: want auto or cpu; leave it out", "-fp": "leave it out", "-z": "no flag -z; if it is another program's, leave it out",
		"--fp16 False --device cpu --compute_type float32 --print_colors=False --verbose False --hf_token x": "",
		"-ng -nt -sow -ml 20 -mc -1 -nf -tr -p 1 -dev 0":                                                     "", "--patience 1.0 --beam_size None": "", "--compute_type int4": "int8_float32; leave it out, or use --precision",
		"-mc 9 --hf_token=x --device cuda -l en --foo=1": "no flags -mc (want -1 or 0; leave it out: context is not limited), " +
			"--device (want auto or cpu; leave it out: Verity computes on processors alone), --foo\n",
		"-f some.wav --min_speakers 2 --diarize -ot 0 -d 0 -ac 0": "", "--max_speakers 0": "--speakers 1-0: want one, channels, voice", "-osrt": "-osrt prints here", "-f flag": "want txt",
		"--diarize --max_speakers 3 --": "", "-di -nf -tpi 0.2 --suppress_numerals -pr": "", "--srt --overwrite -o x": "nope.wav: there is no such", "--start 5": "--start: use --clip-timestamps START,END", "---": "bad flag syntax: ---; want --NAME", "-vspd 250 -vo 0.1": "no flags -vspd, -vo (leave it out: only --vad",
		"-model base": "transcribe: -model: write --model\n", "-lang=en": "-lang: write --language\n", "—vad": "write two hyphens", "--vad no": "", "-c 1 --capture 1": "no flags -c, --capture (pipe it in, as arecord", "--step 9": "--step: leave it out",
	} {
		_, _, stderr := program(t, nil, append(strings.Fields(args), "nope.wav")...)
		if want == "" && !strings.Contains(stderr, "nope.wav: there is no such sound file") || !strings.Contains(stderr, want) {
			t.Errorf("%s: %s", args, stderr)
		}
	}
}

// TestFlagCount limits the number of flags of all commands together. A new flag replaces an old
// one, or the limit here rises with a reason. The last rise was for what people asked for by name: limits of
// subtitles, lists of files, names of outputs, tracks, speakers, names of voices, terms; top-k and top-p, with which
// people sample elsewhere; then for report --table, which evaluators asked for, for operators an address for metrics and a
// check before a restart, for those who know transformers --min-tokens and --max-new-tokens, for desktops on which serve
// must not open the page --no-open, and for those who have the text --align.
func TestFlagCount(t *testing.T) {
	const most = 102
	if names := flagNames(); len(names) > most || len(names) < 50 {
		t.Errorf("%d flags, want at most %d: %s", len(names), most, strings.Join(names, " "))
	}
}

// TestValueAfterSpace: a flag that may stand alone has the next argument as its value if that can be one and is no file.
func TestValueAfterSpace(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("on", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"a.wav --subtitles youtube -o s":          "transcribe a.wav --subtitles=youtube -o s",
		"--subtitles netflix,cps=15 a.wav":        "transcribe --subtitles=netflix,cps=15 a.wav",
		"--subtitles a.wav":                       "transcribe --subtitles a.wav",
		"--condition_on_previous_text false":      "transcribe --condition_on_previous_text=false",
		"--vad_filter TRUE --word_timestamps off": "transcribe --vad_filter=TRUE --word_timestamps=off",
		"--vad on":                           "transcribe --vad on", // a file
		"--vad maybe -l en --progress never": "transcribe --vad=maybe -l en --progress=never",
		"-- --vad off":                       "transcribe -- --vad off",
		"serve --check true":                 "serve --check=true",
		"--max_len 20 -sow a.wav --compute_type INT8": "transcribe --max-line-width=20 --max-line-count=1 a.wav --precision=int8",
		"-ml 1 -- -tr":                      "transcribe --max-words-per-line=1 -- -tr",
		"-ot 1500 -d 4000 a.wav":            "transcribe --clip-timestamps=1.5,5.5 a.wav",
		"--duration=250 a.wav --offset_t 0": "transcribe --clip-timestamps=0,0.25 a.wav",
		"-ot 90000 a.wav -d 0":              "transcribe --clip-timestamps=90 a.wav",
		"-ot 1s a.wav":                      "transcribe --clip-timestamps=1s, a.wav",
		"-di -f -":                          "transcribe --speakers=channels -",
		"--verbose True a.wav":              "transcribe --timestamps a.wav",
		"--verbose True a.wav -f srt":       "transcribe a.wav -f srt",
		"serve --host 0.0.0.0 --port 8080 -t 4 -fa --convert": "serve --listen=0.0.0.0:8080 --t 4",
		"serve --port=80":      "serve --listen=127.0.0.1:80",
		"serve --host ::1 -tr": "serve --listen=[::1]:8000 -tr",
		"--port 80 a.wav":      "transcribe --port 80 a.wav",
	} {
		if got := strings.Join(commandLine(newRoot(cli.Env{}), strings.Fields(args)), " "); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	for _, o := range cli.All() {
		for word, bare := range map[string]string{"true": "true", "on": "true", "False": "false", "off": "false"} {
			v, err := o.Parse(word)
			if other, _ := o.Parse(bare); (o.Kind == cli.Switch || o.BareValue != "") && (err != nil || v != other || bare == "true" && o.BareValue != "" && v.Text != o.BareValue) {
				t.Errorf("--%s=%s is %+v, %v", o.Name, word, v, err)
			}
		}
	}
}
