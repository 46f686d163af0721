package text

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"verity"
	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/internal/show"
	"verity/parallel"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// load loads the model, and prepares what depends on it.
func (t *fileRun) load(ctx context.Context, opt transcribe.Options) (*verity.Model, error) {
	model, err := t.Load(ctx, opt)
	if err != nil {
		return nil, err
	}
	t.madeBy, t.transcriber = t.Maker(model), model.Transcriber()
	t.highlighter = newHighlighter(model.Tokenizer)
	if t.stats {
		t.bandwidth = measureBandwidth(model.Pool, t.Log.Logger(t.Env))
	}
	t.totals.began = time.Now()
	return model, nil
}

// runAll transcribes files, t.batch of them at a time: their decoding shares every pass over the
// weights. On standard output the text comes in the order of the files, as soon as it is known.
// In a directory each file is written when it is done. Failures are reported at once; the error
// returned is a summary, or that of the only file.
func (t *fileRun) runAll(ctx context.Context, files []string) error {
	label := "files"
	if len(files) == 1 {
		label = filepath.Base(files[0])
	}
	bar := t.NewProgress(&t.Log, label, len(files))
	defer bar.Clear()
	jobs := make([]*job, len(files))
	for i, name := range files {
		jobs[i] = &job{index: i, name: name, ended: make(chan struct{})}
	}
	done := make(chan *job, len(jobs)) // in the order in which they end
	ctx, stop := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop(nil)
	wg.Go(func() {
		for range parallel.Ordered(t.batch, len(jobs), slices.Values(jobs), func(_ int, j *job) error {
			j.result, j.err = t.runFile(ctx, j, bar)
			bar.End(j.index)
			close(j.ended)
			done <- j
			return nil
		}) {
		}
	})
	return t.showAll(ctx, stop, jobs, done, bar)
}

// showAll prints or writes the text of all jobs, and reports those that failed. It stops all if nothing can be printed.
func (t *fileRun) showAll(
	ctx context.Context, stop context.CancelCauseFunc, jobs []*job, done <-chan *job, bar *cli.Progress,
) error {
	failed := 0
	for _, j := range jobs {
		if t.dir != "" {
			j = <-done
		} else if len(jobs) > 1 && !t.Log.Quiet {
			bar.Clear()
			t.Note("%s:\n", show.Name(j.name))
		}
		err := t.show(j, bar, stop)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && len(jobs) == 1 || errors.Is(err, errOutput):
			return err
		case err != nil:
			t.Complain(fmt.Sprintf("verity %s: %v", t.name, err))
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d files failed", failed, len(jobs))
	}
	return nil
}

// runFile transcribes the file of a job.
func (t *fileRun) runFile(ctx context.Context, j *job, bar *cli.Progress) (*transcript.Transcript, error) {
	within := func(done, total float64) { bar.Within(j.index, done, total) }
	if t.Speakers.Channels {
		return t.eachChannel(ctx, j, within)
	}
	clip, err := t.Sound.Clip(ctx, t.Env, j.name)
	if err != nil {
		return nil, err
	}
	defer clip.Close()
	reportTrack(clip)
	w := transcribe.Callbacks{Estimate: within}
	if t.to.printed && t.Speakers.Voices == nil {
		w.Segment = j.add
	}
	tr, err := t.transcribeClip(ctx, j.name, clip, w)
	if err == nil && t.Speakers.Voices != nil {
		t.warnUnheard(tr)
		t.printWhole(j, tr)
	}
	return tr, err
}

// printWhole prints a transcript, if segments are printed.
func (t *fileRun) printWhole(j *job, tr *transcript.Transcript) {
	for _, s := range tr.Segments {
		if t.to.printed {
			j.add(s)
		}
	}
}

// reportTrack writes which of several audio tracks is read.
func reportTrack(clip *audio.Clip) {
	if choice := clip.TrackChoice(); choice != "" {
		slog.Warn(choice+"; --audio-track chooses", "audio", clip.Name())
	}
}

// transcribeClip transcribes the clip of a file, or aligns its text, and drafts from its text if there is one.
func (t *fileRun) transcribeClip(
	ctx context.Context, name string, clip *audio.Clip, w transcribe.Callbacks,
) (*transcript.Transcript, error) {
	written, err := t.Drafts.Lines(ctx, name, "", "")
	if err != nil {
		return nil, err
	}
	by := t.transcriber.WithDraft(written)
	if t.Texts != nil {
		lines, err := t.Texts.Lines(ctx, name, "", "")
		if err == nil {
			by, err = by.WithText(lines)
		}
		if err != nil {
			return nil, t.inFile(name, err)
		}
	}
	tr, err := by.Transcribe(ctx, clip, w)
	if err == nil {
		err = t.beyondEnd(tr)
	} else if errors.As(err, new(*transcribe.TextError)) {
		err = t.Texts.Wrong(name, err)
	}
	if err != nil {
		return nil, t.inFile(name, err)
	}
	tr.MadeBy = t.madeBy
	return tr, nil
}

var errBeyondEnd = errors.New("begins after the end")

// beyondEnd returns an error if all parts to transcribe begin after the end.
func (t *fileRun) beyondEnd(tr *transcript.Transcript) error {
	spans := t.Decoding.Spans
	if !transcribe.Beyond(spans, tr.Duration) {
		return nil
	}
	return fmt.Errorf("--clip-timestamps %g %w, at %.4g s", spans[0].Start, errBeyondEnd, tr.Duration)
}

// inFile adds the name of the file to the error of its transcription, unless err has it.
func (t *fileRun) inFile(name string, err error) error {
	var format *audio.FormatError
	var read *audio.ReadError
	switch {
	case errors.As(err, &format) && t.Sound.Strict:
		return fmt.Errorf("%w, or leave out --strict to transcribe the rest", err)
	case format != nil || errors.As(err, &read):
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// warnSilent logs that nothing was heard.
func warnSilent(name string) {
	slog.Warn("no speech was found: check that the sound is not silent, and that the microphone was on", "audio", name)
}

// warnUnheard logs which known voices the recording does not have.
func (t *fileRun) warnUnheard(tr *transcript.Transcript) {
	if len(tr.Turns) == 0 {
		return // no speech was found
	}
	var unheard []string
	for _, v := range t.Speakers.Voices.Known {
		if !slices.ContainsFunc(tr.Turns, func(turn transcript.Turn) bool { return turn.Speaker == v.Name }) {
			unheard = append(unheard, v.Name)
		}
	}
	if len(unheard) > 0 {
		slog.Warn("--speaker-names: no voice here is like that of "+show.JoinOr(unheard), "audio", tr.Name)
	}
}

// show prints a job's text as it comes, waits for its end, and writes what needs the whole
// text.
func (t *fileRun) show(j *job, bar *cli.Progress, stop context.CancelCauseFunc) error {
	text := t.newPrinter()
	j.begin(func(s transcript.Segment) {
		if t.OutTerminal {
			bar.Clear() // it may be on the same terminal
		}
		if err := text.add(s); err != nil {
			stop(cannotWrite(err))
		}
	})
	<-j.ended
	bar.Clear()
	if err := cmp.Or(cannotWrite(text.end()), j.err); err != nil {
		return err
	}
	if strings.TrimSpace(j.result.Text) == "" && j.result.Duration >= 0.01 { // else that was said
		warnSilent(j.result.Name)
	}
	j.result.Stats.Bandwidth = t.bandwidth
	if err := t.to.write(j.name, j.result); err != nil {
		return err
	}
	t.warnHurried(j.result)
	t.noteDifferences(j.result)
	if t.stats {
		t.totals.add(t.Err, j.name, j.result)
	}
	// A wrong guess explains a strange text. The probability is 0 if nothing was guessed.
	if p := j.result.LanguageProb; p > 0 && j.result.Text != "" && t.ErrTerminal {
		l, _ := tokenizer.FindLanguage(j.result.Language)
		t.Note("%s: %s (detected, %.0f %%); --language names another\n",
			show.Name(j.name), cmp.Or(l.Name, j.result.Language), 100*p)
	}
	return nil
}

// noteDifferences writes where a text that was aligned and the sound do not agree.
func (t *fileRun) noteDifferences(tr *transcript.Transcript) {
	const most = 20
	for _, d := range tr.Differences[:min(len(tr.Differences), most)] {
		t.Note("%s: %s\n", show.Name(tr.Name), show.Line(d.Line()))
	}
	if n := len(tr.Differences) - most; n > 0 {
		t.Note("%s: %d more differences between text and sound; json has all\n", show.Name(tr.Name), n)
	}
}

// warnHurried logs how many subtitles are too short to be read.
func (t *fileRun) warnHurried(tr *transcript.Transcript) {
	o := t.written().Subtitles
	if !o.Composed || !t.writesAny(cli.Find("subtitles").Formats) {
		return
	}
	if hurried, all, cps := o.Hurried(tr, t.outputs()); hurried > 0 {
		slog.Warn(fmt.Sprintf("%d of %s must be read faster than %v characters a second, since the speech is faster",
			hurried, show.Some(all, "subtitle"), cps), "audio", tr.Name)
	}
}
