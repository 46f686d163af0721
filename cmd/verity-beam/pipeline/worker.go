package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"verity/cmd/internal/measure"
	"verity/datasets"
	"verity/eval"
	"verity/eval/report"
	"verity/parallel"
	"verity/transcript"

	"verity/cmd/verity-beam/store"
)

// A worker is what a process needs to run rows: the model, loaded once.
type worker struct {
	spec   Spec
	job    *measure.Job
	engine eval.Engine
	made   transcript.Provenance // named in its records
	data   *datasets.Dataset     // for rows of Parquet files; nil until one comes
	mu     sync.Mutex            // for data
}

// workers are the workers of this process. Beam calls Setup for every bundle or more often, and a
// model takes seconds to load and gigabytes of memory.
var workers = struct {
	sync.Mutex
	by    map[string]*worker
	loads int // for tests
}{by: map[string]*worker{}}

// workerOf returns the worker of a job. Models load one at a time; a failed load is retried.
func workerOf(ctx context.Context, s Spec) (*worker, error) {
	key, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	workers.Lock()
	defer workers.Unlock()
	if w := workers.by[string(key)]; w != nil {
		return w, nil
	}
	job, err := measure.ParseJob(s.Args, os.Stderr)
	if err != nil {
		return nil, err
	}
	// The model outlives the bundle that loads it.
	engine, made, err := job.Load(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	w := &worker{spec: s, job: job, engine: engine, made: made}
	workers.by[string(key)] = w
	workers.loads++
	return w, nil
}

// transcribe returns the records of a chunk, in the order of its rows.
func (w *worker) transcribe(ctx context.Context, c chunk) ([]*report.Record, error) {
	all, err := w.existing(ctx, c)
	if err != nil {
		return nil, err
	}
	var todo []int // rows without a record
	for at, r := range all {
		if r == nil {
			todo = append(todo, at)
		}
	}
	if len(todo) == 0 {
		return all, nil
	}
	rows, err := w.rows(ctx, c)
	if err != nil {
		return nil, err
	}
	o := w.job.Options()
	o.Run = w.made
	for failed := range parallel.Ordered(o.Workers, len(todo), slices.Values(todo), func(_ int, at int) (err error) {
		all[at], err = runRow(ctx, w.engine, rows[at], o)
		return err
	}) {
		err = errors.Join(err, failed)
	}
	if err != nil {
		return nil, err
	}
	return all, w.store(ctx, c, all)
}

// runRow runs a row. A panic of the engine becomes the row's error, so that the worker can run the
// others.
func runRow(ctx context.Context, e eval.Engine, r eval.Row, o eval.Options) (rec *report.Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.Broken = &datasets.RowError{Err: fmt.Errorf("the engine failed: %v", p)}
			rec, err = eval.RunRow(ctx, e, r, o)
		}
	}()
	return eval.RunRow(ctx, e, r, o)
}

// rows returns the rows that verity eval would run, with the sound of those in a Parquet file.
func (w *worker) rows(ctx context.Context, c chunk) ([]eval.Row, error) {
	rows := make([]eval.Row, len(c))
	var sounds map[int]datasets.Source
	if c[0].Audio.Place.Row > 0 {
		var err error
		if sounds, err = w.sounds(ctx, c); err != nil {
			return nil, err
		}
	}
	for i, r := range c {
		if at, path := r.Audio.Place, r.Audio.Path; at.Row > 0 {
			if r.Audio = sounds[at.Row]; r.Audio.Data == nil && r.Broken == "" {
				r.Broken = fmt.Sprintf("%s: row %d is no longer there", at.File, at.Row)
			}
			r.Audio.Path = path
		}
		rows[i] = r.evalRow()
	}
	return rows, nil
}

// sounds reads the sounds of a chunk from its row group, by row number.
func (w *worker) sounds(ctx context.Context, c chunk) (map[int]datasets.Source, error) {
	at, last := c[0].Audio.Place, c[len(c)-1].Audio.Place.Row
	local, err := store.Fetch(ctx, w.spec.cache(), []string{at.File})
	if err != nil {
		return nil, err
	}
	data, err := w.dataset(ctx, local)
	if err != nil {
		return nil, err
	}
	found := map[int]datasets.Source{}
	for u, err := range data.Group(ctx, local[0], at.Group) {
		var bad *datasets.RowError
		if err != nil && !errors.As(err, &bad) {
			return nil, err
		}
		if err == nil && u.Audio.Place.Row >= at.Row {
			found[u.Audio.Place.Row] = u.Audio
		}
		if err == nil && u.Audio.Place.Row >= last {
			break
		}
	}
	return found, nil
}

// cache is the local folder for files of an object store, shared by the processes of a user.
func (s Spec) cache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir() // without $HOME, as in a small container
	}
	h := sha256.Sum256([]byte(fmt.Sprint(s.Data, s.Args)))
	return filepath.Join(dir, fmt.Sprintf("verity-beam-%x", h[:8]))
}

func (w *worker) dataset(ctx context.Context, files []string) (*datasets.Dataset, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.data != nil {
		return w.data, nil
	}
	d, err := w.job.Open(ctx, files)
	if err == nil {
		w.data = d
	}
	return d, err
}

// chunkFile names the file of a chunk's records. The name follows from everything that the text
// depends on.
func (w *worker) chunkFile(c chunk) string {
	run := w.made
	run.Machine, run.Threads = "", 0
	raw, _ := json.Marshal(run) // cannot fail: strings, numbers and a map of strings
	h := sha256.Sum256(raw)
	return store.Join(w.spec.Out, "chunks", "records-"+hex.EncodeToString(h[:6]),
		fmt.Sprintf("%09d-%d.jsonl", c[0].Seq, len(c)))
}

// existing returns the records of an earlier attempt at the chunk, nil where there is none.
// A record of a failure, of another run, or of a row that has changed does not count.
func (w *worker) existing(ctx context.Context, c chunk) ([]*report.Record, error) {
	all := make([]*report.Record, len(c))
	name := w.chunkFile(c)
	raw, err := store.Read(ctx, name)
	if err != nil || raw == nil {
		return all, err
	}
	records, _, err := report.Read(name, bytes.NewReader(raw)) // rows of lines of another version are run again
	by := map[string]*report.Record{}
	for _, r := range records {
		by[r.ID] = r
	}
	for i, row := range c {
		r := by[row.ID]
		if r == nil || r.Error != "" || row.Broken != "" || r.Audio != row.Audio.Path || r.Reference != row.Text || r.Offset != row.Offset {
			continue
		}
		if thing, _, _ := r.Run.FirstDifference(w.made); thing == "" {
			all[i] = r
		}
	}
	return all, err
}

// store writes the records of a chunk.
func (w *worker) store(ctx context.Context, c chunk, records []*report.Record) error {
	var b bytes.Buffer
	for _, r := range records {
		line, err := r.Line()
		if err != nil {
			return fmt.Errorf("record %s: %w", r.ID, err)
		}
		b.Write(line)
	}
	return store.Write(ctx, w.chunkFile(c), b.Bytes())
}
