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
// what is said in it.
type job struct {
	index    int
	name     string
	segments feed
	result   *transcript.Transcript
	err      error
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
		jobs[i] = &job{index: i, name: name}
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
		j.segments.close()
		done <- j
		return nil
	}) {
	}
}

func (j *job) segment(_ *command.Progress, s transcript.Segment) error {
	j.segments.put(s)
	return nil
}

func (j *job) finish(_ context.Context, _ string, t *transcript.Transcript) error {
	j.result = t
	return nil
}

// show writes a job's text as it comes, and waits for its end.
func (j *job) show(ctx context.Context, bar *command.Progress, out sink) error {
	for s := range j.segments.all {
		if err := out.segment(bar, s); err != nil {
			return err
		}
	}
	if j.err != nil {
		return j.err
	}
	bar.Hide()
	return out.finish(ctx, j.name, j.result)
}

// A feed passes segments from the goroutine that transcribes them to the one that
// writes them, which may be busy with another file for a long time. The zero value is
// ready.
type feed struct {
	mu     sync.Mutex
	more   sync.Cond
	list   []transcript.Segment
	closed bool
}

func (f *feed) put(s transcript.Segment) { f.change(func() { f.list = append(f.list, s) }) }

func (f *feed) close() { f.change(func() { f.closed = true }) }

func (f *feed) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.more.L = &f.mu
	do()
	f.more.Broadcast()
}

// all yields the segments until the feed is closed.
func (f *feed) all(yield func(transcript.Segment) bool) {
	for i := 0; ; i++ {
		f.mu.Lock()
		f.more.L = &f.mu
		for i >= len(f.list) && !f.closed {
			f.more.Wait()
		}
		if i >= len(f.list) {
			f.mu.Unlock()
			return
		}
		s := f.list[i]
		f.mu.Unlock()
		if !yield(s) {
			return
		}
	}
}
