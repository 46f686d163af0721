package text

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity"
	"verity/audio"
	"verity/audio/vad"
	"verity/cmd/internal/cli"
	"verity/internal/show"
	"verity/transcribe"
	"verity/transcript"
)

const pipeHelp = `Pipe transcribes for the program that starts it: it loads the model once, reads requests
from standard input and writes answers to standard output, both as JSON, one object per
line. When standard input ends, requests that still run are canceled and the program ends.
The Python package verity_asr uses it.

  {"id": 1, "file": "talk.mp3", "flags": ["--language=en", "--word-timestamps"]}
  {"cancel": 1}

The flags of a request are those of transcribe that decide the text. "temperatures" and
"vad" replace lists that have no flag. Requests are transcribed at the same time. The
first line of the answer describes the model; then each request gets a line with the
language and the length of the sound, one for every segment as soon as it is final, and
at last one with its transcript or its error, and in base64 the formats that
--output-format names. A file that is "temporary" is removed after its request. An id is
a number from 1 up that no other running request has; else an error without an id
follows.`

// maxRequest is how many bytes a request may have.
const maxRequest = 1 << 20

// A pipeCommand is the pipe command.
type pipeCommand struct {
	cli.Env
	model cli.ModelFlags
	log   cli.LogFlags
	batch int

	loaded *verity.Model
	mu     sync.Mutex // of the output and of running
	// The functions that end the running requests, by their ids.
	running map[int64]context.CancelFunc
}

// A pipeRequest is a line of the input.
type pipeRequest struct {
	ID           int64        `json:"id"`
	File         string       `json:"file"`
	Flags        []string     `json:"flags"`
	Temperatures []float64    `json:"temperatures"` // nil: those of the flags
	VAD          *vad.Options `json:"vad"`          // nil: that of the flags
	Cancel       int64        `json:"cancel"`       // id of a request to end
	Temporary    bool         `json:"temporary"`    // remove File after the request, whatever becomes of the caller
}

// A pipeModel is the first line of the output.
type pipeModel struct {
	Version      string   `json:"version"`
	Model        string   `json:"model"`
	Multilingual bool     `json:"multilingual"`
	Languages    []string `json:"languages"`
	Assisted     bool     `json:"assisted"`
	Precision    string   `json:"precision"`
}

// A pipeInfo is what is known before the first segment.
type pipeInfo struct {
	Language    string  `json:"language"`
	Probability float64 `json:"language_probability"` // 0 if the language was not detected
	Duration    float64 `json:"duration"`             // s

	Probabilities map[string]float64 `json:"language_probabilities,omitempty"` // of all languages, if it was detected
}

// A pipeAnswer is a line of the output: the model, what is known of a sound, a segment, a transcript or an error.
type pipeAnswer struct {
	ID         int64               `json:"id,omitempty"`
	Ready      *pipeModel          `json:"ready,omitempty"`
	Info       *pipeInfo           `json:"info,omitempty"`
	Segment    *transcript.Segment `json:"segment,omitempty"`
	Transcript json.RawMessage     `json:"transcript,omitempty"`
	// The transcript in the formats that the request names, with its last line.
	Formats  map[transcript.Format][]byte `json:"formats,omitempty"`
	Warnings []string                     `json:"warnings,omitempty"` // of the request, with its last line
	Error    *pipeError                   `json:"error,omitempty"`
}

// A pipeError says why a request failed. Kind is usage, missing, permission, directory, audio, canceled or other.
type pipeError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Pipe returns the command that transcribes for another program.
func Pipe(e cli.Env) *cobra.Command {
	p := &pipeCommand{Env: e, running: map[int64]context.CancelFunc{}}
	c := cli.New("pipe [flags]", "Transcribe for the program that starts this one", pipeHelp, p.run)
	c.Hidden = true
	cli.AddFlags(c, p.model.RegisterModel, p.model.RegisterSpeed, p.model.Assistant.Register, p.log.Register,
		func(f *pflag.FlagSet) {
			cli.Bind(f, "batch", &p.batch)
			cli.Precision(f, "assistant-precision", &p.model.Assistant.Precision)
		})
	return c
}

func (p *pipeCommand) run(ctx context.Context, _ []string) error {
	p.model.Serving = true
	logger := p.log.Logger(p.Env)
	var err error
	if p.loaded, err = p.model.Load(ctx, transcribe.Options{Log: logger}); err != nil {
		p.answer(pipeAnswer{Error: describe(err)})
		return err
	}
	defer p.loaded.Close()
	about := &pipeModel{
		Version: cli.Version, Model: p.model.Name, Multilingual: p.loaded.Generation.Multilingual,
		Assisted: p.loaded.Model.Assisted(), Precision: p.loaded.Encoder.Precision().String(),
	}
	for _, l := range p.loaded.Tokenizer.Languages() {
		about.Languages = append(about.Languages, l.Code)
	}
	if err := p.answer(pipeAnswer{Ready: about}); err != nil {
		return err
	}
	return p.serve(ctx)
}

// serve reads requests until the input ends, or ctx, and then ends those that run.
func (p *pipeCommand) serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	turns := make(chan struct{}, max(p.batch, 1))
	requests, ended := make(chan pipeRequest), make(chan error, 1)
	go func() { ended <- readRequests(ctx, p.In, requests) }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return err
		case r := <-requests:
			if r.Cancel != 0 {
				p.cancel(r.Cancel)
				continue
			}
			one, err := p.start(ctx, r.ID)
			if err != nil {
				// Without the id, which would end the request that has it.
				p.answer(pipeAnswer{Error: describe(err)})
				continue
			}
			work.Go(func() {
				select {
				case turns <- struct{}{}:
					defer func() { <-turns }()
				case <-one.Done():
				}
				p.transcribe(one, r)
			})
		}
	}
}

// readRequests reads lines until the input ends, or ctx.
func readRequests(ctx context.Context, in io.Reader, to chan<- pipeRequest) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxRequest)
	for lines.Scan() {
		var r pipeRequest
		strict := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&r); err != nil {
			return fmt.Errorf("got a line that is no request: %w", err)
		}
		select {
		case to <- r:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return lines.Err()
}

// start returns the context of a request that begins.
func (p *pipeCommand) start(ctx context.Context, id int64) (context.Context, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id < 1 || p.running[id] != nil {
		return nil, cli.Usagef("id %d: want a number from 1 up that no other running request has", id)
	}
	one, cancel := context.WithCancel(ctx)
	p.running[id] = cancel
	return one, nil
}

// cancel ends a request, if it runs. Its id stays in use until it has answered.
func (p *pipeCommand) cancel(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if end := p.running[id]; end != nil {
		end()
	}
}

// release makes the id of a request free again.
func (p *pipeCommand) release(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[id]() // frees what its context holds
	delete(p.running, id)
}

// transcribe answers a request.
func (p *pipeCommand) transcribe(ctx context.Context, r pipeRequest) {
	var warnings warningLog
	last := pipeAnswer{ID: r.ID}
	t, err := p.prepare(ctx, r, slog.New(&warnings))
	if err == nil {
		err = p.answerRequest(ctx, t, r, &last)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		last.Transcript, last.Formats, last.Error = nil, nil, describe(err)
	}
	last.Warnings = warnings.texts()
	if r.Temporary {
		os.Remove(r.File)
	}
	p.release(r.ID) // first: who has the answer may use the id again
	p.answer(last)
}

// prepare returns a run with the flags of a request.
func (p *pipeCommand) prepare(ctx context.Context, r pipeRequest, log *slog.Logger) (*fileRun, error) {
	t := &fileRun{Env: cli.Env{Err: io.Discard}, name: "pipe"}
	t.model, t.log.Quiet = p.model, true
	c := cli.New("pipe", "", "", nil)
	cli.AddFlags(c, func(f *pflag.FlagSet) {
		t.registerSubtitles(f)
		bindFormats(f, &t.formats, &t.writing.Lines)
		cli.Bind(f, "draft-from", &t.model.Assistant.From)
	})
	t.textFlags = cli.AddFlags(c, cli.DecodingFlags(&t.decoding, 0), t.sound.Register, t.registerSpeakers)
	if err := c.ParseFlags(r.Flags); err != nil {
		return nil, cli.FlagError(c, err)
	}
	if _, piped := cli.Stdin(r.File); piped {
		return nil, cli.Usagef("%s: standard input has the requests; want the path of a file", r.File)
	}
	err := cmp.Or(cli.Contradiction(c.Flags()), t.sound.Check(), t.checkLimits(), t.checkSpeakers())
	if err != nil {
		return nil, err
	}
	opt := t.decoding.Result(log)
	opt.WordTimestamps = opt.WordTimestamps || t.rules.Composed
	if r.Temperatures != nil {
		opt.Temperatures = r.Temperatures
	}
	opt.VAD = cmp.Or(r.VAD, opt.VAD)
	if opt.Speakers, err = t.speakers.Options(ctx, t.Env, &t.sound); err != nil {
		return nil, err
	}
	if t.drafts, err = cli.OpenDrafts(ctx, &t.model.Assistant, 1); err == nil {
		err = t.drafts.Check(ctx, []string{r.File})
	}
	if err != nil {
		return nil, err
	}
	model, err := p.loaded.With(opt)
	if err != nil {
		return nil, cli.InFlag(err)
	}
	t.transcriber, t.madeBy = model.Transcriber(), cli.Maker(model, &t.model, t.textFlags)
	return t, nil
}

// answerRequest transcribes the file of a request. It sends segments, and sets the transcript of the last answer.
func (p *pipeCommand) answerRequest(ctx context.Context, t *fileRun, r pipeRequest, last *pipeAnswer) error {
	var all map[string]float64
	tr, err := t.answerFile(ctx, r.File, transcribe.Callbacks{
		Languages: func(probabilities []float32) {
			all = map[string]float64{}
			for i, l := range p.loaded.Tokenizer.Languages() {
				all[l.Code] = float64(probabilities[i])
			}
		},
		Begin: func(language string, probability, length float64) {
			p.answer(pipeAnswer{ID: r.ID, Info: &pipeInfo{language, probability, length, all}})
		},
		Segment: func(s transcript.Segment) {
			s = s.Rounded()
			p.answer(pipeAnswer{ID: r.ID, Segment: &s})
		},
	})
	if err != nil {
		return err
	}
	last.Formats = map[transcript.Format][]byte{}
	for _, f := range t.formats {
		b := bytes.NewBuffer([]byte{}) // not nil, which would be null
		if err := t.written().Write(b, f, tr); err != nil {
			return err
		}
		last.Formats[f] = b.Bytes()
	}
	var text bytes.Buffer
	err = t.written().Write(&text, transcript.JSON, tr)
	last.Transcript = text.Bytes()
	return err
}

// answerFile transcribes a file, and reports each segment as soon as it is final; with speakers, that is at the end.
func (t *fileRun) answerFile(
	ctx context.Context, name string, w transcribe.Callbacks,
) (tr *transcript.Transcript, err error) {
	if t.speakers.Channels {
		if tr, err = t.eachChannel(ctx, &job{name: name}, nil); err == nil {
			w.Begin(tr.Language, tr.LanguageProb, tr.Duration)
			for _, s := range tr.Segments {
				w.Segment(s)
			}
		}
		return tr, err
	}
	clip, err := t.sound.Clip(ctx, t.Env, name)
	if err != nil {
		return nil, err
	}
	defer clip.Close()
	return t.transcribeClip(ctx, name, clip, w)
}

// answer writes a line of the output.
func (p *pipeCommand) answer(a pipeAnswer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := json.NewEncoder(p.Out)
	e.SetEscapeHTML(false)
	return cannotWrite(e.Encode(a))
}

// describe returns the kind of an error and its text.
func describe(err error) *pipeError {
	e := &pipeError{Kind: "other", Message: show.Text(err.Error())}
	_, format := errors.AsType[*audio.FormatError](err)
	_, track := errors.AsType[*audio.TrackError](err)
	usage, wrong := errors.AsType[cli.UsageError](err)
	for _, k := range []struct {
		is   bool
		kind string
	}{
		{errors.Is(err, context.Canceled), "canceled"},
		{wrong && !usage.Named, "usage"},
		{errors.Is(err, syscall.EISDIR), "directory"},
		{errors.Is(err, fs.ErrNotExist), "missing"},
		{errors.Is(err, fs.ErrPermission), "permission"},
		{format || track || errors.Is(err, audio.ErrMalformed) || errors.Is(err, audio.ErrNoSound), "audio"},
	} {
		if k.is {
			e.Kind = k.kind
			break
		}
	}
	return e
}

// A warningLog is a log handler that collects the first warnings of a request.
type warningLog struct {
	mu    sync.Mutex
	lines []string
}

// mostWarnings is how many warnings of a request are sent.
const mostWarnings = 20

func (w *warningLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}
func (w *warningLog) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w *warningLog) WithGroup(string) slog.Handler      { return w }

func (w *warningLog) Handle(_ context.Context, r slog.Record) error {
	_, text := cli.Sentence(r) // the caller knows which file it is
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lines) < mostWarnings {
		w.lines = append(w.lines, show.Line(text))
	}
	return nil
}

func (w *warningLog) texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines
}
