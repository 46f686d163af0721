package text

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity"
	"verity/cmd/internal/cli"
	"verity/cmd/internal/setup"
	"verity/internal/kernel"
	"verity/internal/show"
	"verity/transcribe"
	"verity/transcript"
)

const transcribeHelp = `Transcribe writes the text of sound files to standard output, a line per segment,
as soon as it is known, in the order given. WAV, FLAC, MP3, Ogg Opus, Ogg Vorbis,
WebM, AIFF, CAF and AU files of any rate, width and number of channels are
read; "-" is standard input, "raw:RATE" samples on it that have no header (16 bits,
little-endian, one channel). Sound that comes in as it is spoken is transcribed as it
comes. A directory stands for the sound files in it, and an address (http, https) for
the file that it leads to.

--output-dir writes files instead: NAME.txt for NAME.wav, and likewise for the other
formats. A file that exists is replaced only with --force;
--skip-existing leaves it, so that an interrupted run can be resumed.

With several files, texts are printed one after another without a separator; each
file's name goes to standard error first. JSON of several files is one object a line.

A file that cannot be transcribed does not stop the others. On an interrupt, what
was finished stays written.

"none" turns a threshold off; --NAME=false turns a switch off.

  verity transcribe talk.wav
  verity transcribe --model ~/whisper-small --language de talk.flac
  verity transcribe --output-format srt,json --output-dir subs *.wav
  ffmpeg -i talk.mp4 -f wav - | verity transcribe -
  verity transcribe --highlight --stats talk.wav`

// A transcribeCommand is the transcribe command.
type transcribeCommand struct {
	cli.Env
	name string // of the command
	transcribeFlags

	printed    bool                                               // segments are printed as they come
	write      func(name string, tr *transcript.Transcript) error // when a file is done
	mark       marker
	transcribe *transcribe.Transcriber
	by         *transcript.Provenance
	drafts     *setup.DraftSource
	bandwidth  float64 // bytes a second, for statistics
	totals     totals
}

func Transcribe(e cli.Env) *cobra.Command {
	t := &transcribeCommand{Env: e, name: "transcribe"}
	c := cli.New("transcribe [flags] FILE...", "Write the text of sound files", transcribeHelp+cli.ExitHelp, t.run)
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cli.Usagef("no sound files are named; - is standard input")
		}
		return nil
	}
	t.register(c, func(f *pflag.FlagSet) {
		cli.Bind(f, "force", &t.force)
		cli.Bind(f, "skip-existing", &t.skip)
		cli.Bind(f, "timestamps", &t.timed)
		cli.Bind(f, "highlight", &t.highlight)
	})
	cli.CompleteSound(c)
	return c
}

func (t *transcribeCommand) run(ctx context.Context, args []string) error {
	opt := t.decoding.Result(t.log.Logger(t.Env))
	if err := t.sound.Check(); err != nil {
		return err
	}
	files, err := inputs(args, t.deep)
	if err != nil {
		return err
	}
	out, err := t.output(files)
	if err != nil {
		return err
	}
	if opt.TokenOrigins, err = t.marks(); err != nil {
		return err
	}
	if out != nil {
		defer out.undo()
		all := len(files)
		if files, err = out.missing(files); err != nil {
			return err
		}
		if n := all - len(files); n > 0 && !t.log.Quiet {
			fmt.Fprintf(t.Err, "%s of %d: the outputs are there\n", show.Some(n, "file")+" skipped", all)
		}
		if len(files) == 0 {
			return nil
		}
	}
	if t.drafts, err = setup.OpenDrafts(ctx, t.model.Assistant.From, len(files)); err == nil {
		err = t.drafts.Check(ctx, files)
	}
	if err != nil {
		return err
	}
	model, err := t.load(ctx, opt)
	if err != nil {
		return err
	}
	defer model.Close()
	err = t.all(ctx, files)
	var object io.Writer
	if out == nil && t.outputs()[0] == transcript.JSON {
		object = t.Out
	}
	return cmp.Or(err, t.totals.sum(t.Err, object))
}

// load loads the model.
func (t *transcribeCommand) load(ctx context.Context, opt transcribe.Options) (*verity.Model, error) {
	done := t.Loading(&t.log, t.model.Name)
	model, err := t.model.Load(ctx, opt)
	done()
	if err != nil {
		return nil, err
	}
	t.by, t.transcribe = setup.Maker(model, &t.model, t.decisive), model.Transcriber()
	t.mark = newMarker(model.Tokenizer)
	if t.stats {
		t.bandwidth = kernel.ReadBandwidth(model.Pool, bandwidthTime)
	}
	t.totals.began = time.Now()
	return model, nil
}

// output says where transcripts go: what it returns is nil for standard output. An error is
// about the flags.
func (t *transcribeCommand) output(files []string) (*folder, error) {
	if s := t.subtitles; s.MaxLineCount > 0 && s.MaxLineWidth == 0 && !s.Composed {
		return nil, cli.Usagef("--max-line-count needs --max-line-width or --subtitles")
	}
	if err := t.checkInputs(files); err != nil {
		return nil, err
	}
	if err := checkFolder(t.dir); err != nil {
		return nil, err
	}
	if t.dir == "" {
		return nil, t.standardOutput(len(files))
	}
	f := &folder{dir: t.dir, formats: t.outputs(), subtitles: t.subtitles, force: t.force, skip: t.skip}
	if !t.log.Quiet && (t.ErrTerminal || len(files) > 1) {
		f.told = t.Err
	}
	t.write = f.write
	return f, f.make(files)
}

// checkInputs refuses what cannot be read, or not as often as the flags ask.
func (t *transcribeCommand) checkInputs(files []string) error {
	piped := 0
	for _, name := range files {
		if _, ok := setup.Stdin(name); ok {
			piped++
		}
		if t.model.Offline && setup.IsAddress(name) {
			return cli.Usagef("%s: --offline downloads nothing", show.Name(name))
		}
	}
	if piped > 1 {
		return cli.Usagef("standard input can be read only once")
	}
	if t.speakers == "channels" && (t.batch > 1 || piped > 0) {
		return cli.Usagef("--speakers channels reads each file once for every channel: neither standard input nor --batch")
	}
	return nil
}

// checkFolder refuses what is meant as something else than a directory.
func checkFolder(dir string) error {
	if dir == "-" {
		return cli.Usagef("--output-dir -: leave it out for standard output; ./- is a directory of that name")
	}
	if ext := transcript.Format(strings.TrimPrefix(filepath.Ext(dir), ".")); slices.Contains(transcript.Formats(), ext) && !exists(dir) {
		return cli.Usagef("--output-dir %s: want a directory; one file is --output-format %s FILE > %[1]s", show.Name(dir), ext)
	}
	return nil
}

// standardOutput makes it the place for the transcripts of so many files.
func (t *transcribeCommand) standardOutput(files int) error {
	formats := t.outputs()
	f := formats[0]
	switch {
	case len(formats) > 1:
		return cli.Usagef("--output-format: several formats need --output-dir")
	case t.timed && f != transcript.TXT:
		return cli.Usagef("--timestamps writes text on standard output; %s has times of its own", f)
	case files > 1 && f != transcript.TXT && f != transcript.JSON:
		return cli.Usagef("%s of several files needs --output-dir", f)
	}
	t.printed = f == transcript.TXT
	t.write = func(_ string, tr *transcript.Transcript) error {
		if t.printed {
			return nil
		}
		return cannotWrite(t.subtitles.Write(t.Out, f, tr))
	}
	return nil
}
