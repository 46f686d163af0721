package scribe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"verity/internal/command"
	"verity/internal/show"
	"verity/parallel"
	"verity/transcript"
)

// A job is one of several files that are transcribed at the same time, and a sink that keeps
// what is said in it until its turn to be written has come.
type job struct {
	index int
	name  string

	mu     sync.Mutex
	kept   []transcript.Segment
	write  func(transcript.Segment) error // nil before its turn
	result *transcript.Transcript
	err    error
	ended  chan struct{}
}

// together transcribes t.batch files at a time, whose decoding shares every pass
// over the weights. On standard output the text comes in the order of files, as if one
// came after the other, and is the same; files are written as soon as each is done.
func (t *transcribeCommand) together(ctx context.Context, files []string, out sink) error {
	ctx, cancel := context.WithCancel(ctx)
	bar := t.NewProgress(&t.log, "files", len(files))
	defer bar.Clear()
	jobs := make([]*job, len(files))
	for i, name := range files {
		jobs[i] = &job{index: i, name: name, ended: make(chan struct{})}
	}
	done := make(chan *job, len(jobs)) // in the order in which they end
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { t.work(ctx, jobs, done, bar) })

	failed := 0
	for _, j := range jobs {
		if t.dir != "" {
			j = <-done
		}
		if t.headed() {
			bar.Hide()
			fmt.Fprintf(t.Err, "%s:\n", show.Name(j.name))
		}
		err := j.show(ctx, bar, out)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errOutput):
			return err
		case err != nil:
			bar.Hide()
			t.Complain(files, fmt.Sprintf("verity %s: %v", t.name, err))
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d files failed", failed, len(files))
	}
	return nil
}

// work runs the jobs, t.batch of them at a time.
func (t *transcribeCommand) work(ctx context.Context, jobs []*job, done chan<- *job, bar *command.Progress) {
	for range parallel.Ordered(t.batch, len(jobs), slices.Values(jobs), func(_ int, j *job) error {
		j.err = t.file(ctx, j.name, j, bar, j.index)
		bar.End(j.index)
		close(j.ended)
		done <- j
		return nil
	}) {
	}
}

func (j *job) segment(_ *command.Progress, s transcript.Segment) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.write != nil {
		return j.write(s)
	}
	j.kept = append(j.kept, s)
	return nil
}

func (j *job) finish(_ context.Context, _ string, t *transcript.Transcript) error {
	j.result = t
	return nil
}

// show writes a job's text, from now on as it comes, and waits for its end.
func (j *job) show(ctx context.Context, bar *command.Progress, out sink) error {
	j.mu.Lock()
	j.write = func(s transcript.Segment) error { return out.segment(bar, s) }
	var err error
	for i := 0; i < len(j.kept) && err == nil; i++ {
		err = j.write(j.kept[i])
	}
	j.mu.Unlock()
	if err != nil {
		return err
	}
	<-j.ended
	if j.err != nil {
		return j.err
	}
	bar.Hide()
	return out.finish(ctx, j.name, j.result)
}
