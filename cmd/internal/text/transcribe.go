package text

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/internal/show"
	"verity/transcript"
)

const transcribeHelp = `Transcribe writes the transcripts of audio files to standard output, in
paragraphs, as soon as text is ready and in the order given. It reads WAV, MP3, FLAC, Ogg Opus
and WebM files with any sample rate, bit depth and number of channels; ffmpeg, if it is
installed, reads M4A, MP4 and most others for it. "-" reads standard input to its end;
"raw:RATE" reads headerless samples from it (16 bits, little-endian, one channel). A directory
means the audio files in it, and a URL (http, https) the file that it points to.

--output-dir writes files instead: NAME.txt for NAME.wav, and likewise for the other
formats, and with --recursive in the same subdirectories. Files whose outputs would have
the same name keep their endings: NAME.wav.txt, NAME.mp3.txt. Existing files are
overwritten only with --force; --skip-existing keeps them, so that an interrupted run can
be resumed.

With several files, transcripts are printed one after another without a separator; each
file's name goes to standard error first. JSON for several files is one object per line.

A file that cannot be transcribed does not stop the others. After an interrupt, finished
outputs remain.

"none" turns a threshold off; --NAME=false turns a switch off.

  verity transcribe talk.wav
  verity transcribe --model ~/whisper-small --language de talk.flac
  verity transcribe --output-format srt,json --output-dir subs *.wav
  find . -name '*.wav' -print0 | verity transcribe --files-from - -o texts
  ffmpeg -i talk.mp4 -f wav - | verity transcribe -
  verity transcribe --show-drafts --stats talk.wav`

// A transcribeCommand is the transcribe command.
type transcribeCommand struct {
	fileRun
	drafted string // --show-drafts
	list    string // file with names of sound files
}

func Transcribe(e cli.Env) *cobra.Command {
	t := &transcribeCommand{fileRun: fileRun{Run: cli.Run{Env: e}, name: "transcribe"}}
	c := cli.New("transcribe [flags] FILE...", "Transcribe audio files", transcribeHelp+cli.ExitHelp, t.transcribe)
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 || t.list != "" {
			return nil
		}
		if info, err := os.Stat(t.dir); err == nil && !info.IsDir() || t.dir != "" && audio.HasEnding(t.dir) {
			return cli.Usagef("no sound files are named: -o took %s as the directory to write to; want -o DIRECTORY %[1]s, or "+
				"%[1]s alone for standard output", show.Name(t.dir))
		}
		return cli.UsageError{
			Err: errors.New("no sound files are named; want one, as in verity talk.mp3; - is standard input"), NeedHelp: true,
		}
	}
	t.register(c, func(f *pflag.FlagSet) {
		cli.Bind(f, "files-from", &t.list)
		cli.Bind(f, "force", &t.force)
		cli.Bind(f, "skip-existing", &t.skip)
		cli.Bind(f, "timestamps", &t.timed)
		cli.Bind(f, "show-drafts", &t.drafted)
	})
	cli.CompleteSound(c)
	return c
}

// transcribe checks flags and arguments, loads the model and transcribes the files.
func (t *transcribeCommand) transcribe(ctx context.Context, args []string) error {
	opt := t.Decoding.Result(t.Log.Logger(t.Env))
	files, err := t.prepare(ctx, args)
	if t.to.files != nil {
		defer t.to.files.undo()
	}
	if err != nil || len(files) == 0 {
		return err
	}
	opt.TokenOrigins = t.drafted == "always" || t.drafted == "auto" && t.OutTerminal
	model, err := t.load(ctx, opt)
	if err != nil {
		return err
	}
	defer model.Close()
	err = t.runAll(ctx, files)
	t.totals.sum(t.Err)
	return err
}

// prepare checks the flags and the arguments, and returns the files to transcribe.
func (t *transcribeCommand) prepare(ctx context.Context, args []string) (files []string, err error) {
	list, err := readList(ctx, t.list, t.In)
	if err != nil {
		return nil, err
	}
	found := func(name string) bool {
		_, err := os.Stat(name)
		_, piped := cli.Stdin(name)
		return err == nil || piped || cli.IsAddress(name)
	}
	if len(list) > 0 && !slices.ContainsFunc(list, found) {
		return nil, cli.Usagef("--files-from %s: its first name is no file: %.60q; want the name of a file on each line", show.Name(t.list), list[0])
	}
	in, err := inputs(args, list, t.recursive)
	if err == nil {
		err = t.prepareOutput(in)
	}
	if err != nil {
		return nil, err
	}
	if n := in.others.directories; n > 0 {
		t.Note("verity transcribe: subdirectories are not read (%d); --recursive reads them, too\n", n)
	}
	if others := in.others.String(); others != "" {
		t.Note("verity transcribe: %s\n", others)
	}
	files = in.names
	if t.to.files != nil {
		if files, err = t.to.files.missing(files); err != nil {
			return nil, err
		}
		if n := len(in.names) - len(files); n > 0 {
			t.Note("%s skipped of %d: the outputs exist\n", show.Some(n, "file"), len(in.names))
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	return files, t.OpenTexts(ctx, len(files), files...)
}

// prepareOutput checks the flags and prepares where transcripts go: a directory, or standard output.
func (t *transcribeCommand) prepareOutput(in *inputFiles) error {
	files := in.names
	if err := t.check(files, t.list == "-"); err != nil {
		return err
	}
	format := t.outputs()[0]
	if t.drafted != "never" && (t.dir != "" || format != transcript.TXT) {
		return cli.Usagef("--show-drafts marks text on standard output; it needs the format txt, and no --output-dir")
	}
	if t.dir == "" {
		if asked := t.flags.Lookup("output-format").Annotations[cli.AskedKey]; asked != nil {
			t.Note("verity: %s prints here, and -o DIRECTORY writes files\n", asked[0])
		}
		t.to.printed = format == transcript.TXT
		t.to.write = func(_ string, tr *transcript.Transcript) error {
			if t.to.printed {
				return nil
			}
			return cannotWrite(t.written().Write(t.Out, format, tr))
		}
		return nil
	}
	d := t.newOutputDir(outputNames(files, in.below, t.outputs(), t.pattern))
	if len(files) == 1 && !t.ErrTerminal {
		d.log = nil
	}
	if err := d.make(files); err != nil {
		return err
	}
	t.to.write, t.to.files = d.write, d
	return nil
}

// check refuses flags and files that do not go together. listed means that standard input is the list of files.
func (t *fileRun) check(files []string, listed bool) error {
	if len(t.formats) == len(transcript.Formats()) && t.Speakers.None() { // of all, one would be empty
		t.formats = slices.DeleteFunc(t.formats, func(f transcript.Format) bool { return f == transcript.RTTM })
	}
	err := cmp.Or(t.checkNames(files), t.checkInputs(files, listed), t.checkOutputs(len(files)), t.checkLimits(), t.Check())
	if err == nil {
		t.warnIneffective()
	}
	return err
}

// checkNames refuses names for the outputs that files cannot have.
func (f *outputFlags) checkNames(files []string) error {
	for _, format := range f.outputs() {
		if name, ok := strings.CutSuffix(f.pattern, "."+string(format)); ok {
			return cli.Usagef("--name %s: want the name without the ending, %s", show.Name(f.pattern), show.Name(name))
		}
	}
	return checkName(f.pattern, len(files) == 1)
}

// checkInputs refuses files that cannot be read.
func (t *fileRun) checkInputs(files []string, listed bool) error {
	piped := 0
	for _, name := range files {
		if _, ok := cli.Stdin(name); ok {
			piped++
		}
		if t.Model.Offline && cli.IsAddress(name) {
			return cli.Usagef("%s: --offline downloads nothing", show.Name(name))
		}
	}
	switch {
	case piped > 1 || piped > 0 && listed:
		return cli.Usagef("standard input can be read only once")
	case t.Speakers.Channels && (t.batch > 1 || piped > 0):
		return cli.Usagef("--speakers channels reads each file once for every channel: name files, not standard input, and leave --batch out")
	}
	return nil
}

// checkOutputs refuses formats of several files that cannot be written where they are to go.
func (t *fileRun) checkOutputs(files int) error {
	formats, printed, dir := t.outputs(), t.dir == "", show.Name(t.dir)
	first := formats[0]
	info, err := os.Stat(t.dir)
	extension := transcript.Format(strings.TrimPrefix(filepath.Ext(t.dir), "."))
	for _, r := range []struct {
		wrong   bool
		problem string
		args    []any
	}{
		{err == nil && !info.IsDir(), "--output-dir %s: is a file, want a directory", []any{dir}},
		{t.dir == "-", "--output-dir -: leave it out for standard output; ./- is a directory of that name", nil},
		{slices.Contains(transcript.Formats(), extension) && !exists(t.dir),
			"--output-dir %s: want a directory; that file is --output-format %s --output-dir %s --name %s",
			[]any{dir, extension, show.Name(filepath.Dir(t.dir)), show.Name(stem(t.dir))}},
		{slices.Contains([]transcript.Format{"doc", "odt", "rtf", "pdf", "html"}, extension) && !exists(t.dir),
			"--output-dir %s: want a directory; word processors open --output-format docx", []any{dir}},
		{printed && first == transcript.DOCX, "--output-format docx is a binary file: add -o DIRECTORY", nil},
		{printed && len(formats) > 1, "several formats cannot share standard output: add -o DIRECTORY", nil},
		{printed && t.timed && first != transcript.TXT && first != transcript.MD,
			"--timestamps writes text on standard output; %s has times of its own", []any{first}},
		{printed && files > 1 && first != transcript.TXT && first != transcript.JSON,
			"%s of several files needs --output-dir", []any{first}},
		{slices.Contains(t.formats, transcript.RTTM) && t.Speakers.None(),
			"--output-format rttm: says who speaks when; add --speakers voice", nil},
	} {
		if r.wrong {
			return cli.Usagef(r.problem, r.args...)
		}
	}
	return nil
}
