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
	"verity/internal/output"
	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcribe/live"
	"verity/transcript"
)

const listenHelp = `Listen transcribes the microphone live. On a terminal, tentative words follow the
confirmed ones and may change until two passes agree. Otherwise, or with --timestamps,
each sentence is printed on its own line once it is confirmed. The file of --out is
written at the end. Ctrl-C stops listening after transcribing the last words.

With --speakers, text appears when somebody pauses, with the speaker as far as the voices
until then tell. The file of --out has speakers found in the whole.

Verity records through arecord, parec or ffmpeg. "-" reads audio from standard input
instead; "raw:RATE" reads headerless samples from it (16 bits, little-endian, one
channel).

  verity listen
  verity listen --language de --timestamps
  verity listen -o talk.srt
  ffmpeg -i http://example.org/radio -f wav - | verity listen -`

const listenEnds = "\n\nExit status: 0 stopped or the audio ended, 1 failed, 2 wrong usage,\n130 interrupted while starting."

// A listenCommand is the listen command with its flags.
type listenCommand struct {
	cli.Run
	writing transcript.Options
	file    string            // gets the text at the end; the words are also printed
	format  transcript.Format // of the file
	timed   bool
	drawn   bool // a screen shows the words, also before they are confirmed

	words   []transcript.Word // confirmed, and not yet written
	unnamed []transcript.Word // confirmed, but their speakers are not known yet
	speaker string            // of the last line
	heard   bool              // some words are written
	tr      transcript.Transcript
}

func Listen(e cli.Env) *cobra.Command {
	l := &listenCommand{Run: cli.Run{Env: e}}
	c := cli.New("listen [flags] [-]", "Transcribe the microphone live", listenHelp+listenEnds, l.listen)
	const files = "; -o talk.srt writes a file in the format of its ending"
	c.Annotations = map[string]string{"f": files, "output": files, "output-dir": files, "output-format": files}
	c.SuggestFor = []string{"stream", "live", "mic", "microphone", "record", "dictate"}
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return cli.Usagef("got %d arguments, want none for the microphone, or -", len(args))
		}
		for _, name := range args {
			switch rate, piped := cli.Stdin(name); {
			case !piped:
				return cli.Usagef("%s: want - or raw:RATE; transcribe takes files", show.Name(name))
			case rate < 0:
				return cli.BadRate(name)
			}
		}
		return nil
	}
	cli.AddFlags(c, l.Model.Register, func(f *pflag.FlagSet) {
		cli.Bind(f, "out", &l.file)
		cli.Redefine(f, "out", "", "write the text to this `file` at the end, in the format of its ending; the words are still printed")
		cli.Bind(f, "timestamps", &l.timed)
	}, l.Log.Register)
	l.TextFlags = cli.AddFlags(c, cli.DecodingFlags(&l.Decoding, cli.Request),
		func(f *pflag.FlagSet) { l.Speakers.Register(f, false, true) })
	return c
}

func (l *listenCommand) listen(ctx context.Context, args []string) error {
	if err := l.check(); err != nil {
		return err
	}
	decoding := l.Decoding.Result(l.Log.Logger(l.Env))
	l.drawn = l.OutTerminal && !l.timed && l.Speakers.Voices == nil
	model, err := l.Load(ctx, decoding)
	if err != nil {
		return err
	}
	defer model.Close()
	decoding.Speakers = l.Speakers.Voices
	by, err := live.New(model.Model, decoding)
	if err != nil {
		return cli.InFlag(err)
	}
	l.tr.MadeBy = l.Maker(model)
	return l.transcribe(ctx, by, args)
}

// check sets the format of the file, and refuses flags that do not go together.
func (l *listenCommand) check() error {
	if l.writing.Times, l.writing.Locale = l.timed, cli.Locale(); l.file != "" {
		formats, lines, err := cli.Formats(strings.TrimPrefix(filepath.Ext(l.file), "."))
		switch {
		case err != nil:
			return cli.Usagef("--out %s: want the ending of a format, as in talk.srt", show.Name(l.file))
		case exists(l.file):
			return cli.Usagef("--out %s: exists; name another file", show.Name(l.file))
		}
		l.format, l.writing.Lines = formats[0], lines
	}
	if err := output.Check(l.file); err != nil {
		return fmt.Errorf("--out %w", err)
	}
	return l.Check()
}

// transcribe writes text until the sound ends or ctx is cancelled. It ends the recorder and
// closes the clip.
func (l *listenCommand) transcribe(ctx context.Context, by *live.Transcriber, args []string) error {
	listening, stop := context.WithCancel(ctx)
	defer stop()
	clip, end, err := l.open(listening, args)
	if err != nil {
		return err
	}
	defer clip.Close() // it is only read
	if !l.Log.Quiet && l.ErrTerminal {
		fmt.Fprintf(l.Err, "listening to %s; Ctrl-C ends it\n", show.Name(l.tr.Name))
	}
	if err = l.write(listening, by, clip); err != nil {
		stop()
	}
	if ended := end(); err == nil && ctx.Err() == nil {
		err = ended
	}
	return err
}

// open opens standard input or the microphone, which a recorder reads; end waits for the recorder.
func (l *listenCommand) open(ctx context.Context, args []string) (clip *audio.Clip, end func() error, err error) {
	if len(args) > 0 {
		l.tr.Name = "standard input"
		sound := cli.SoundFlags{Live: true}
		if clip, err = sound.Clip(ctx, l.Env, args[0]); err == nil {
			reportTrack(clip)
		}
		return clip, func() error { return nil }, err
	}
	rec, err := record(ctx)
	if err != nil {
		return nil, nil, err
	}
	l.tr.Name = "the microphone, by " + rec.name
	clip, err = audio.Input{Raw: audio.SampleRate}.OpenStream(ctx, rec.name, rec)
	return clip, rec.end, err
}

// silenceMS is the silence that ends an utterance, as on the server's page: a fifth fewer words
// are wrong than with OpenAI's 500 ms, and no later.
const silenceMS = 1200

// write writes text until the sound ends or ctx is cancelled, and what needs the whole text after that.
func (l *listenCommand) write(ctx context.Context, by *live.Transcriber, clip *audio.Clip) error {
	turns := live.DefaultTurns()
	turns.SilenceMS = silenceMS
	sound := &liveClip{ctx, clip.Arrivals(ctx, 0)}
	s := &screen{w: l.Out, color: l.Color()}
	var failed error
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
		if err := l.add(r, s); err != nil {
			return cannotWrite(err)
		}
	}
	transcribe.ReportDamage(clip, &l.tr, l.Log.Logger(l.Env))
	if l.words = append(l.words, l.unnamed...); len(l.words) > 0 { // a pass failed within a sentence
		if err := l.phrase(l.words); err != nil {
			return cmp.Or(failed, cannotWrite(err))
		}
	}
	if !l.heard && failed == nil {
		warnSilent(l.tr.Name)
	}
	if l.file == "" {
		return failed
	}
	return cmp.Or(failed, output.Write(l.file, l.Out, func(w io.Writer) error { return l.writing.Write(w, l.format, &l.tr) }))
}

// A liveClip ends when its context does, even while a read waits.
type liveClip struct {
	ctx  context.Context
	next func(context.Context, []float32) (int, error) // from Clip.Arrivals
}

func (l *liveClip) Read(dst []float32) (n int, err error) {
	if n, err = l.next(l.ctx, dst); l.ctx.Err() != nil {
		err = io.EOF
	}
	return n, err
}

// add draws what a pass heard, and writes the phrases that are whole.
func (l *listenCommand) add(r live.Result, s *screen) (err error) {
	l.tr.Duration, l.tr.Language = r.Start+r.SoundEnd, r.Language
	l.tr.Stats.Add(r.Stats)
	fresh := r.Confirmed
	if l.Speakers.Voices != nil {
		if fresh, l.unnamed = r.Words, append(l.unnamed, r.Confirmed...); r.Last { // of a whole utterance, with speakers
			l.unnamed = nil
		}
	}
	for _, w := range fresh {
		w.Start, w.End = w.Start+r.Start, w.End+r.Start
		l.words = append(l.words, w)
	}
	if l.drawn {
		err = s.show(r.Confirmed, r.Tentative, r.Last)
	}
	for n := live.PhraseLength(l.words, r.Last); n > 0 && err == nil; n = live.PhraseLength(l.words, r.Last) {
		err = l.phrase(l.words[:n])
		l.words = l.words[n:]
	}
	return err
}

// phrase writes confirmed words as a segment.
func (l *listenCommand) phrase(words []transcript.Word) (err error) {
	l.heard = true
	s := transcript.Segment{
		ID: len(l.tr.Segments), Start: words[0].Start, End: words[len(words)-1].End,
		Text: transcript.JoinWords(words), Words: words, Tokens: []tokenizer.Token{}, Speaker: words[0].Speaker,
	}
	if l.file != "" {
		l.tr.Text += s.Text
		l.tr.Segments = append(l.tr.Segments, s)
	}
	if !l.drawn {
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
	out := "\r\x1b[K"
	for _, w := range confirmed {
		word := show.Line(w.Word)
		if s.row != "" && uniseg.StringWidth(s.row+word) > width {
			out += s.row + "\n"
			s.row = ""
		}
		s.row = strings.TrimLeft(s.row+word, " ")
	}
	out += s.row
	rest := show.Line(tentative)
	if s.row == "" {
		rest = strings.TrimLeft(rest, " ")
	}
	rest = fitting(rest, width-uniseg.StringWidth(s.row))
	switch {
	case last && s.row != "":
		out += "\n"
		s.row = ""
	case last:
	case s.color && rest != "":
		out += "\x1b[2m" + rest + "\x1b[22m"
	default:
		out += rest
	}
	_, err := io.WriteString(s.w, out)
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
