package text

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/internal/input"
	"verity/internal/output"
	"verity/internal/show"
	"verity/transcript"
)

const watchHelp = `Watch transcribes every audio file in a directory, including files that appear later.
It writes NAME.txt in --output-dir for NAME.wav, and likewise for the other formats;
with --recursive, subdirectories too, mirroring their structure in the output. Files
whose outputs would have the same name keep their endings: NAME.wav.txt, NAME.mp3.txt.

A file is transcribed once it has not been written to for five seconds. A file counts as
done once its outputs exist, even after a restart; delete them to transcribe it again. A
file that cannot be transcribed is reported, and tried again when it changes. If a
transcript cannot be written, watch tries again after a minute, then with increasing
delays. It runs until it is stopped, and never leaves a half-written output.

  verity watch recordings -o texts
  verity watch recordings -o texts --recursive --model small -f srt,json`

// A watchCommand transcribes the files of a directory as they come.
type watchCommand struct {
	fileRun
	root     string
	seen     map[string]fileState
	names    map[string]string // of the outputs of each file
	others   string            // what was passed over at the last scan
	reported map[string]bool   // files whose problem has been reported
}

// A fileState is the state of a file at the last scan.
type fileState struct {
	size   int64
	time   time.Time // of its last change
	due    time.Time // when it counts as complete, or is tried again
	failed bool
	wait   time.Duration // before the next try to write its text; 0 if writing has not failed
}

const (
	scanEvery = time.Second
	quietFor  = 5 * time.Second // how long a complete file is unchanged

	// Shortest and longest wait before retrying to write a text: the disk may be full, or gone.
	minWait = time.Minute
	maxWait = time.Hour
)

func Watch(e cli.Env) *cobra.Command {
	w := &watchCommand{fileRun: fileRun{Run: cli.Run{Env: e}, name: "watch"}}
	c := cli.New("watch [flags] DIRECTORY", "Transcribe files as they appear in a directory", watchHelp+cli.EndHelp, w.watch)
	c.Args = cli.OneArg("one DIRECTORY, as verity watch recordings --output-dir texts")
	w.register(c, func(*pflag.FlagSet) {})
	cli.Redefine(c.Flags(), "output-dir", "", "`directory` of the texts, which is needed")
	return c
}

func (w *watchCommand) watch(ctx context.Context, args []string) error {
	w.root, w.seen, w.reported = args[0], map[string]fileState{}, map[string]bool{}
	switch st, err := os.Stat(w.root); {
	case err != nil:
		return cli.Usagef("%s: there is no such directory; make it, or name another", show.Name(w.root))
	case !st.IsDir():
		return cli.Usagef("%s: is a file, want a directory; transcribe takes files", show.Name(w.root))
	case w.dir == "":
		return cli.Usagef("--output-dir is missing: want the directory for the texts")
	}
	err := w.check(nil, false)
	if err == nil {
		_, err = makeOutputDir(w.dir)
	}
	if err != nil {
		return err
	}
	const several = 2 // sounds: no single file can be the text of all
	if err := w.OpenTexts(ctx, several); err != nil {
		return err
	}
	model, err := w.load(ctx, w.Decoding.Result(w.Log.Logger(w.Env)))
	if err != nil {
		return err
	}
	defer model.Close()
	w.to.write = w.writeWhole
	w.Note("watching %s\n", show.Name(w.root))
	for ctx.Err() == nil {
		if files := w.scan(time.Now()); len(files) > 0 {
			if err := w.runAll(ctx, files); err != nil && len(files) == 1 && ctx.Err() == nil {
				w.Complain(fmt.Sprintf("verity watch: %v", err)) // runAll reports each of several itself
			}
			w.markFailed(files, time.Now())
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(scanEvery):
		}
	}
	return nil // an interrupt ends it
}

// scan returns the files that are complete and not done.
func (w *watchCommand) scan(now time.Time) (ready []string) {
	files, others, err := soundIn(w.root, w.recursive)
	w.report("", input.Cause(err))
	if text := others.String(); err == nil && text != w.others {
		if w.others = text; text != "" {
			w.Note("%s: %s\n", show.Name(w.root), text)
		}
	}
	below := map[string]string{}
	for _, name := range files {
		if dir, err := filepath.Rel(w.root, filepath.Dir(name)); err == nil {
			below[name] = dir
		}
	}
	w.names = outputNames(files, below, w.outputs(), cmp.Or(w.pattern, nameField))
	there := make(map[string]bool, len(files))
	for _, name := range files {
		there[name] = true
		f, err := w.outputDir(name)
		if w.report(name, err); err != nil {
			continue
		}
		if todo, err := f.missing([]string{name}); err == nil && len(todo) == 0 {
			continue
		}
		st, err := os.Stat(name)
		if err != nil {
			continue // it was removed
		}
		s, known := w.seen[name]
		if !known || s.size != st.Size() || !s.time.Equal(st.ModTime()) {
			s = fileState{size: st.Size(), time: st.ModTime(), due: now.Add(quietFor)}
			w.seen[name] = s
		}
		if s.size > 0 && !s.failed && !now.Before(s.due) {
			ready = append(ready, name)
		}
	}
	maps.DeleteFunc(w.seen, func(name string, _ fileState) bool { return !there[name] })
	return ready
}

// report writes what is wrong with a file, once until it is right again.
func (w *watchCommand) report(name string, err error) {
	if err != nil && !w.reported[name] {
		w.Complain(fmt.Sprintf("verity watch: %s: %v", cmp.Or(name, w.root), err))
	}
	w.reported[name] = err != nil
}

// markFailed marks files without outputs as failed until they change. If only their text could not
// be written, they become due again later.
func (w *watchCommand) markFailed(files []string, now time.Time) {
	for _, name := range files {
		if f, err := w.outputDir(name); err == nil {
			if todo, _ := f.missing([]string{name}); len(todo) == 0 {
				delete(w.seen, name)
				continue
			}
		}
		s := w.seen[name]
		s.failed, s.due = s.wait == 0, now.Add(s.wait)
		w.seen[name] = s
	}
}

// outputDir returns where the outputs of a file go. A link that leads out of the directory is an error.
func (w *watchCommand) outputDir(name string) (*outputDir, error) {
	_, err := output.Below(w.dir, filepath.Dir(w.names[name]))
	w.skip = true // what exists is done
	return w.newOutputDir(w.names), err
}

// writeWhole writes the outputs of a file, unless the file has changed since the scan and was
// not complete.
func (w *watchCommand) writeWhole(name string, t *transcript.Transcript) error {
	st, err := os.Stat(name)
	s := w.seen[name]
	if err == nil && (st.Size() != s.size || !st.ModTime().Equal(s.time)) {
		return fmt.Errorf("%s: changed while it was read: it is transcribed again when it is complete", show.Name(name))
	}
	f, err := w.outputDir(name)
	if err == nil {
		err = f.make([]string{name})
	}
	if err == nil {
		err = f.write(name, t)
		f.undo()
	}
	if err != nil {
		s.wait = min(max(2*s.wait, minWait), maxWait)
		w.seen[name] = s
	}
	return err
}
