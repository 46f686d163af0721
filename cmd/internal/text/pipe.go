package text

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
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
	cli.Run
	batch int

	loaded  *verity.Model
	mu      sync.Mutex // of the output
	running sync.Map   // the function that ends a request, by its id
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
	p := &pipeCommand{Run: cli.Run{Env: e}}
	c := cli.New("pipe [flags]", "Transcribe for the program that starts this one", pipeHelp, p.run)
	c.Hidden = true
	cli.AddFlags(c, p.Model.RegisterModel, p.Model.RegisterSpeed, p.Model.Assistant.Register, p.Log.Register,
		func(f *pflag.FlagSet) {
			cli.Bind(f, "batch", &p.batch)
			cli.Precision(f, "assistant-precision", &p.Model.Assistant.Precision)
		})
	return c
}

func (p *pipeCommand) run(ctx context.Context, _ []string) error {
	p.Model.Serving = true
	logger := p.Log.Logger(p.Env)
	var err error
	if p.loaded, err = p.Model.Load(ctx, transcribe.Options{Log: logger}); err != nil {
		p.answer(pipeAnswer{Error: describe(err)})
		return err
	}
	defer p.loaded.Close()
	about := &pipeModel{
		Version: cli.Version, Model: p.Model.Name, Multilingual: p.loaded.Generation.Multilingual,
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
			if end, ok := p.running.Load(r.Cancel); ok {
				end.(context.CancelFunc)() // the id stays in use until the request has answered
			}
			if r.Cancel != 0 {
				continue
			}
			one, end := context.WithCancel(ctx)
			if _, twice := p.running.LoadOrStore(r.ID, end); twice || r.ID < 1 {
				// Without the id, which would end the request that has it.
				p.answer(pipeAnswer{Error: describe(cli.Usagef("id %d: want a number from 1 up that no other running request has", r.ID))})
				end()
				continue
			}
			work.Go(func() {
				defer end()
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

// mostWarnings is how many warnings of a request are sent.
const mostWarnings = 20

// transcribe answers a request.
func (p *pipeCommand) transcribe(ctx context.Context, r pipeRequest) {
	var mu sync.Mutex
	last := pipeAnswer{ID: r.ID}
	warn := func(_, text string) { // the caller knows which file it is
		mu.Lock()
		defer mu.Unlock()
		if len(last.Warnings) < mostWarnings {
			last.Warnings = append(last.Warnings, show.Line(text))
		}
	}
	t, err := p.prepare(ctx, r, cli.Sentences(slog.LevelWarn, warn))
	if err == nil {
		err = p.answerRequest(ctx, t, r, &last)
	}
	if err = cmp.Or(ctx.Err(), err); err != nil {
		last.Transcript, last.Formats, last.Error = nil, nil, describe(err)
	}
	if r.Temporary {
		os.Remove(r.File)
	}
	p.running.Delete(r.ID) // first: who has the answer may use the id again
	mu.Lock()
	defer mu.Unlock()
	p.answer(last)
}

// prepare returns a run with the flags of a request.
func (p *pipeCommand) prepare(ctx context.Context, r pipeRequest, log *slog.Logger) (*fileRun, error) {
	t := &fileRun{Run: cli.Run{Env: cli.Env{Err: io.Discard}, Model: p.Model}, name: "pipe"}
	t.Log.Quiet = true
	c := cli.New("pipe", "", "", nil)
	cli.AddFlags(c, func(f *pflag.FlagSet) {
		t.registerSubtitles(f)
		bindFormats(f, &t.formats, &t.writing.Lines)
		cli.Bind(f, "draft-from", &t.Model.Assistant.From)
	})
	t.TextFlags = cli.AddFlags(c, cli.DecodingFlags(&t.Decoding, 0), t.Sound.Register, t.registerSpeakers, t.registerAlign)
	if err := c.ParseFlags(r.Flags); err != nil {
		return nil, cli.FlagError(c, err)
	}
	if _, piped := cli.Stdin(r.File); piped {
		return nil, cli.Usagef("%s: standard input has the requests; want the path of a file", r.File)
	}
	if err := cmp.Or(cli.Contradiction(c.Flags()), t.checkLimits(), t.Check()); err != nil {
		return nil, err
	}
	opt := t.Decoding.Result(log)
	opt.WordTimestamps = opt.WordTimestamps || t.rules.Composed
	if r.Temperatures != nil {
		opt.Temperatures = r.Temperatures
	}
	opt.VAD = cmp.Or(r.VAD, opt.VAD)
	var err error
	if opt.Speakers, err = t.Speakers.Options(ctx, t.Env, &t.Sound); err == nil {
		err = t.OpenTexts(ctx, 1, r.File)
	}
	if err != nil {
		return nil, err
	}
	model, err := p.loaded.With(opt)
	if err != nil {
		return nil, cli.InFlag(err)
	}
	t.transcriber, t.madeBy = model.Transcriber(), t.Maker(model)
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
	if t.Speakers.Channels {
		if tr, err = t.eachChannel(ctx, &job{name: name}, nil); err == nil {
			w.Begin(tr.Language, tr.LanguageProb, tr.Duration)
			for _, s := range tr.Segments {
				w.Segment(s)
			}
		}
		return tr, err
	}
	clip, err := t.Sound.Clip(ctx, t.Env, name)
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
	kind := "other"
	_, format := errors.AsType[*audio.FormatError](err)
	_, track := errors.AsType[*audio.TrackError](err)
	usage, wrong := errors.AsType[cli.UsageError](err)
	switch {
	case errors.Is(err, context.Canceled):
		kind = "canceled"
	case wrong && !usage.Named || errors.Is(err, errBeyondEnd):
		kind = "usage"
	case errors.Is(err, syscall.EISDIR):
		kind = "directory"
	case errors.Is(err, fs.ErrNotExist):
		kind = "missing"
	case errors.Is(err, fs.ErrPermission):
		kind = "permission"
	case format || track || errors.Is(err, audio.ErrMalformed) || errors.Is(err, audio.ErrNoSound):
		kind = "audio"
	}
	return &pipeError{kind, show.Text(err.Error())}
}

const decodeHelp = `Decode writes the sound of a file to standard output: one channel of samples at 16,000 Hz,
32-bit floats, little-endian. The Python package verity_asr uses it.`

// Decode returns the command that writes the samples of a file.
func Decode(e cli.Env) *cobra.Command {
	var sound cli.SoundFlags
	c := cli.New("decode FILE", "Write the samples of a sound file", decodeHelp, func(ctx context.Context, args []string) error {
		clip, err := sound.Clip(ctx, e, args[0])
		if err != nil {
			return err
		}
		defer clip.Close()
		return writeSamples(e, clip)
	})
	c.Args, c.Hidden = cli.OneArg("one sound file"), true
	cli.AddFlags(c, sound.Register)
	return c
}

// writeSamples writes the samples of a clip, and then its warnings to standard error.
func writeSamples(e cli.Env, clip *audio.Clip) (err error) {
	out := bufio.NewWriter(e.Out)
	for pcm := make([]float32, audio.SampleRate); err == nil; {
		var n int
		n, err = clip.Read(pcm)
		binary.Write(out, binary.LittleEndian, pcm[:n]) // Flush returns its error
	}
	if err != io.EOF {
		return err
	}
	for _, w := range clip.Warnings() {
		fmt.Fprintln(e.Err, w)
	}
	return cannotWrite(out.Flush())
}
