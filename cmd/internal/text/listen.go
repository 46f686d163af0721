package text

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/cmd/internal/options"
	"verity/cmd/internal/setup"
	"verity/internal/output"
	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcribe/live"
	"verity/transcript"
)

const listenHelp = `Listen transcribes the microphone live. On a terminal, tentative words follow the
confirmed ones and may change until two passes agree. Otherwise, or with --timestamps,
each sentence is printed on its own line once it is confirmed. Formats other than txt,
and the file of --out, are written at the end. Ctrl-C stops listening after transcribing
the last words.

With --speakers, text appears when somebody pauses, with the speaker as far as the voices
until then tell. Formats that are written at the end have speakers found in the whole.

Verity records through arecord, parec or ffmpeg. "-" reads audio from standard input
instead; "raw:RATE" reads headerless samples from it (16 bits, little-endian, one
channel).

  verity listen
  verity listen --language de --timestamps
  verity listen -o talk.srt
  ffmpeg -i http://example.org/radio -f wav - | verity listen -`

// Of commands that run until they are stopped.
const (
	endHelp    = "\n\nExit status: 0 stopped, 1 failed, 2 wrong usage, 130 interrupted while starting."
	listenEnds = "\n\nExit status: 0 stopped or the audio ended, 1 failed, 2 wrong usage,\n130 interrupted while starting."
)

// A listenCommand is the listen command with its flags.
type listenCommand struct {
	cli.Env
	model     setup.ModelFlags
	speakers  setup.SpeakerFlags
	writing   transcript.Options
	decoding  options.Decoding
	log       cli.LogFlags
	textFlags *pflag.FlagSet
	formats   []transcript.Format
	file      string // gets the text at the end; the words are also printed
	timed     bool
	drawn     bool // a screen shows the words, also before they are confirmed

	words   []transcript.Word // confirmed, and not yet written
	speaker string            // of the last line
	tr      transcript.Transcript
}

func Listen(e cli.Env) *cobra.Command {
	l := &listenCommand{Env: e}
	c := cli.New("listen [flags] [-]", "Transcribe the microphone live", listenHelp+listenEnds, l.run)
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return cli.Usagef("got %d arguments, want none for the microphone, or -", len(args))
		}
		for _, name := range args {
			switch rate, piped := setup.Stdin(name); {
			case !piped:
				return cli.Usagef("%s: want - or raw:RATE; transcribe takes files", show.Name(name))
			case rate < 0:
				return setup.BadRate(name)
			}
		}
		return nil
	}
	cli.AddFlags(c, l.model.Register, func(f *pflag.FlagSet) {
		bindFormats(f, &l.formats, &l.writing.Lines)
		cli.Bind(f, "out", &l.file)
		cli.Redefine(f, "out", "", "write the text to this `file` at the end, in the format of its ending; the words are still printed")
		cli.Bind(f, "timestamps", &l.timed)
	}, l.log.Register)
	l.textFlags = cli.AddFlags(c, setup.Decoding(&l.decoding, options.Request),
		func(f *pflag.FlagSet) { l.speakers.Register(f, false, true) })
	return c
}

func (l *listenCommand) run(ctx context.Context, args []string) error {
	if l.file != "" && len(l.formats) == 0 {
		var err error
		if l.formats, _, err = options.Formats(strings.TrimPrefix(filepath.Ext(l.file), ".")); err != nil {
			return cli.Usagef("--out %s: want the ending of a format, as in talk.srt, or --output-format", show.Name(l.file))
		}
	}
	format, printed := transcript.TXT, l.file == ""
	if len(l.formats) > 0 {
		format = l.formats[0]
	}
	switch {
	case len(l.formats) > 1:
		return cli.Usagef("--output-format: listen writes one format")
	case !printed && exists(l.file):
		return cli.Usagef("--out %s: exists; name another file", show.Name(l.file))
	case printed && format == transcript.DOCX:
		return cli.Usagef("--output-format docx is a binary file: add --out talk.docx")
	case printed && l.timed && format != transcript.TXT:
		return cli.Usagef("--timestamps writes text on standard output; %s has times of its own", format)
	}
	if err := cmp.Or(output.Check(l.file), l.speakers.Check()); err != nil {
		return err
	}
	l.writing.Times = l.timed
	decoding := l.decoding.Result(l.log.Logger(l.Env))
	var err error
	if decoding.Speakers, err = l.speakers.Options(ctx, l.Env, &setup.SoundFlags{}); err != nil {
		return err
	}
	l.drawn = l.OutTerminal && (format == transcript.TXT || !printed) && !l.timed && decoding.Speakers == nil
	done := l.Loading(&l.log, l.model.Name)
	model, err := l.model.Load(ctx, decoding)
	done()
	if err != nil {
		return err
	}
	defer model.Close()
	by, err := live.New(model.Model, decoding)
	if err != nil {
		return setup.InFlag(err)
	}
	l.tr.MadeBy = setup.Maker(model, &l.model, l.textFlags)
	return l.transcribe(ctx, by, args, format)
}

// transcribe writes text until the sound ends or ctx is cancelled. It ends the recorder and
// closes the clip.
func (l *listenCommand) transcribe(
	ctx context.Context, by *live.Transcriber, args []string, format transcript.Format,
) error {
	listening, stop := context.WithCancel(ctx)
	defer stop()
	clip, rec, err := l.open(listening, args)
	if err != nil {
		return err
	}
	l.tr.Name = "standard input"
	if rec != nil {
		l.tr.Name = "the microphone, by " + rec.name
	}
	if !l.log.Quiet && l.ErrTerminal {
		fmt.Fprintf(l.Err, "listening to %s; Ctrl-C ends it\n", show.Name(l.tr.Name))
	}
	err = l.write(listening, by, clip, format)
	if err != nil {
		stop()
	}
	if rec != nil {
		if ended := rec.end(); ended != io.EOF && err == nil && ctx.Err() == nil {
			err = fmt.Errorf("%s: %w", rec.name, ended)
		}
	}
	clip.Close() // it is only read
	return err
}

// open opens standard input or the microphone, which a recorder reads.
func (l *listenCommand) open(ctx context.Context, args []string) (clip *audio.Clip, rec *recorder, err error) {
	if len(args) > 0 {
		sound := setup.SoundFlags{Input: audio.Input{Live: true}, Live: true}
		if clip, err = sound.Clip(ctx, l.Env, args[0]); err == nil {
			reportTrack(clip, &sound)
		}
		return clip, nil, err
	}
	if rec, err = record(ctx); err != nil {
		return nil, nil, err
	}
	if clip, err = (audio.Input{Raw: audio.SampleRate, Live: true}).OpenStream(ctx, rec.name, rec); err != nil {
		rec.stop()
		rec.end()
	}
	return clip, rec, err
}

// silenceMS is the silence that ends an utterance, as on the server's page: a fifth fewer words
// are wrong than with OpenAI's 500 ms, and no later.
const silenceMS = 1200

// write writes text until the sound ends or ctx is cancelled.
func (l *listenCommand) write(
	ctx context.Context, by *live.Transcriber, clip *audio.Clip, format transcript.Format,
) error {
	s := &screen{w: l.Out, color: l.Color()}
	turns := live.DefaultTurns()
	turns.SilenceMS = silenceMS
	sound := &liveClip{ctx, clip.Arrivals(ctx, 0)}
	var failed error
	var unnamed []transcript.Word // confirmed words whose speakers are not known yet
	for r, err := range by.Listen(context.WithoutCancel(ctx), sound, turns) {
		if failed = err; failed != nil {
			break // the words until then are still written
		}
		if r.Speakers != nil {
			r.Speakers.Label(&l.tr)
			l.tr.CutAtSpeakers(nil) // live segments have no tokens
			l.tr.SetTurnTexts()
			break // nothing follows
		}
		l.tr.Duration, l.tr.Language = r.Start+r.SoundEnd, r.Language
		l.tr.Stats.Add(r.Stats)
		fresh := r.Confirmed
		if l.speakers.Voices != nil {
			if fresh, unnamed = r.Words, append(unnamed, r.Confirmed...); r.Last { // of a whole utterance, with speakers
				unnamed = nil
			}
		}
		for _, w := range fresh {
			w.Start, w.End = w.Start+r.Start, w.End+r.Start
			l.words = append(l.words, w)
		}
		if l.drawn {
			err = s.show(r.Confirmed, r.Tentative, r.Last)
		}
		for n := live.SentenceLength(l.words, r.Last); n > 0 && err == nil; n = live.SentenceLength(l.words, r.Last) {
			err = l.phrase(l.words[:n], format)
			l.words = l.words[n:]
		}
		if err != nil {
			return cannotWrite(err)
		}
	}
	transcribe.ReportDamage(clip, &l.tr, l.log.Logger(l.Env))
	var err error
	if l.words = append(l.words, unnamed...); len(l.words) > 0 { // a pass failed within a sentence
		err = l.phrase(l.words, format)
	}
	written := func(w io.Writer) error { return l.writing.Write(w, format, &l.tr) }
	switch {
	case err != nil:
	case l.file != "":
		return cmp.Or(failed, output.Write(l.file, l.Out, written))
	case format != transcript.TXT:
		err = written(l.Out)
	}
	return cmp.Or(failed, cannotWrite(err))
}

// phrase writes confirmed words as a segment.
func (l *listenCommand) phrase(words []transcript.Word, format transcript.Format) (err error) {
	var text strings.Builder
	for _, w := range words {
		text.WriteString(w.Word)
	}
	s := transcript.Segment{
		ID: len(l.tr.Segments), Start: words[0].Start, End: words[len(words)-1].End,
		Text: text.String(), Words: words, Tokens: []tokenizer.Token{}, Speaker: words[0].Speaker,
	}
	if format != transcript.TXT || l.file != "" {
		l.tr.Text += s.Text
		l.tr.Segments = append(l.tr.Segments, s)
	}
	if (format == transcript.TXT || l.file != "") && !l.drawn {
		_, err = fmt.Fprintln(l.Out, s.Line(l.speaker, l.timed))
		l.speaker = s.Speaker
	}
	return err
}

// A screen shows confirmed words on a terminal, followed by words that may still change. It
// breaks rows itself, since it cannot redraw text that has wrapped.
type screen struct {
	w     io.Writer
	color bool
	row   string // confirmed words in the last row
}

func (s *screen) show(confirmed []transcript.Word, tentative string, last bool) error {
	width := columns()
	var out strings.Builder
	out.WriteString("\r\x1b[K")
	for _, w := range confirmed {
		word := show.Line(w.Word)
		if s.row != "" && uniseg.StringWidth(s.row+word) > width {
			out.WriteString(s.row + "\n")
			s.row = ""
		}
		if s.row == "" {
			word = strings.TrimLeft(word, " ")
		}
		s.row += word
	}
	out.WriteString(s.row)
	if last {
		if s.row != "" {
			out.WriteString("\n")
		}
		s.row = ""
	} else {
		rest := show.Line(tentative)
		if s.row == "" {
			rest = strings.TrimLeft(rest, " ")
		}
		rest = fitting(rest, width-uniseg.StringWidth(s.row))
		if s.color && rest != "" {
			rest = "\x1b[2m" + rest + "\x1b[22m"
		}
		out.WriteString(rest)
	}
	_, err := io.WriteString(s.w, out.String())
	return err
}

// columns is how many columns of a terminal a row may fill.
func columns() int {
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 1 {
		return w - 1
	}
	return 79
}

// fitting returns the beginning of a text that fits into n columns.
func fitting(text string, columns int) string {
	at, width := 0, 0
	for g := uniseg.NewGraphemes(text); g.Next(); {
		if width += g.Width(); width > columns {
			break
		}
		_, at = g.Positions()
	}
	return text[:at]
}
