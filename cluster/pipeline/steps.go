package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"verity/eval"
	"verity/internal/measure"
	"verity/report"

	"verity/cluster/store"
)

// Registered by reflection: the generic functions of package register take the compiler
// minutes, and save microseconds beside seconds of transcribing.
func init() {
	beam.RegisterDoFn(reflect.TypeFor[indexFn]())
	beam.RegisterDoFn(reflect.TypeFor[transcribeFn]())
	beam.RegisterDoFn(reflect.TypeFor[writeFn]())
	beam.RegisterDoFn(reflect.TypeFor[saveFn]())
	beam.RegisterType(reflect.TypeFor[sumFn]())
}

// An indexFn reads the dataset and deals its rows out in chunks. Rows are read in one
// place and in order, since what a row is called depends on those before it; that is
// cheap beside transcribing them.
type indexFn struct{ Spec Spec }

// ProcessElement emits the chunks, by their name, and for every shard a mark, so that
// one without rows has a file, too.
func (f *indexFn) ProcessElement(ctx context.Context, _ []byte, emit func(string, []byte), mark func(string, []byte)) error {
	job, err := measure.ParseJob(f.Spec.Args, os.Stderr)
	if err != nil {
		return err
	}
	for _, arm := range job.ArmNames() {
		for i := range f.Spec.Shards {
			mark(f.Spec.key(arm, i), nil)
		}
	}
	var c chunk
	send := func() error {
		if len(c) == 0 {
			return nil
		}
		raw, err := json.Marshal(c)
		if err == nil {
			emit(fmt.Sprintf("%09d", c[0].Seq), raw)
		}
		c = nil
		return err
	}
	err = f.each(ctx, job, func(r row) error {
		if c.add(r, f.Spec.Chunk) {
			return nil
		}
		err := send()
		c.add(r, f.Spec.Chunk)
		return err
	})
	if err != nil {
		return err
	}
	return send()
}

// each calls do with every row.
func (f *indexFn) each(ctx context.Context, job *measure.Job, do func(row) error) error {
	files, err := store.Fetch(ctx, f.Spec.cache(), f.Spec.Files)
	if err != nil {
		return err
	}
	data, err := job.Open(ctx, files)
	if err != nil {
		return err
	}
	seq := 0
	for r, err := range eval.Rows(data.All(ctx), job.Options().Limit) {
		if err != nil {
			return err
		}
		out := rowOf(seq, r)
		out.Audio.Place.File = original(out.Audio.Place.File, files, f.Spec.Files)
		// A row without an identifier is called by its file.
		if i := strings.LastIndexByte(out.ID, ':'); i >= 0 {
			out.ID = original(out.ID[:i], files, f.Spec.Files) + out.ID[i:]
		}
		if err := do(out); err != nil {
			return err
		}
		seq++
	}
	return nil
}

// original returns the name that a fetched file has where it came from.
func original(file string, local, names []string) string {
	if i := slices.Index(local, file); i >= 0 {
		return names[i]
	}
	return file
}

// A transcribeFn turns chunks into records.
type transcribeFn struct {
	Spec   Spec
	worker *worker
}

// Setup loads the model, or finds it loaded.
func (f *transcribeFn) Setup(ctx context.Context) (err error) {
	f.worker, err = workerOf(ctx, f.Spec)
	return err
}

// ProcessElement emits the records of a chunk by their shard.
func (f *transcribeFn) ProcessElement(ctx context.Context, _ string, raw []byte, emit func(string, []byte)) error {
	c, err := decodeChunk(raw)
	if err != nil {
		return err
	}
	all, err := f.worker.run(ctx, c)
	if err != nil {
		return err
	}
	for i, a := range f.worker.arms {
		for at, r := range all[i] {
			line, err := r.Line()
			if err != nil {
				return fmt.Errorf("record %s: %w", r.ID, err)
			}
			emit(f.Spec.key(a.Name, c[at].Seq), valueOf(c[at].Seq, line))
		}
	}
	return nil
}

// A writeFn writes the records of a shard and counts them.
type writeFn struct{ Spec Spec }

// ProcessElement emits the tally of a shard.
func (f *writeFn) ProcessElement(ctx context.Context, key string, values func(*[]byte) bool, emit func([]byte)) error {
	arm, number, _ := strings.Cut(key, "/")
	i, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	lines, err := onePerRow(values)
	if err != nil {
		return fmt.Errorf("shard %s: %w", key, err)
	}
	job, err := measure.ParseJob(f.Spec.Args, os.Stderr)
	if err != nil {
		return err
	}
	tally, err := report.NewTally(job.Normalizer())
	if err != nil {
		return err
	}
	name := store.Join(f.Spec.Out, f.Spec.File(arm, i))
	content := bytes.Join(lines, nil)
	for r, err := range report.Read(name, bytes.NewReader(content)) {
		if err == nil {
			err = tally.Add(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	if err := store.Write(ctx, name, content); err != nil {
		return err
	}
	raw, err := json.Marshal(Sum{map[string]*report.Tally{arm: tally}})
	if err == nil {
		emit(raw)
	}
	return err
}

// onePerRow returns the lines of values in the order of their rows. Of several of one
// row, which are the same but for times, or a failure and a success of two attempts, it
// takes the success, and of those the first by bytes: the choice does not depend on the
// order in which they came. Marks have no line.
func onePerRow(values func(*[]byte) bool) ([][]byte, error) {
	var all [][]byte
	var v []byte
	for values(&v) {
		if len(v) > 0 {
			all = append(all, slices.Clone(v))
		}
	}
	slices.SortFunc(all, bytes.Compare)
	var lines [][]byte
	last := -1
	for _, v := range all {
		seq, line, err := splitValue(v)
		switch {
		case err != nil:
			return nil, err
		case seq != last:
			lines, last = append(lines, line), seq
		case failed(lines[len(lines)-1]) && !failed(line):
			lines[len(lines)-1] = line
		}
	}
	return lines, nil
}

// failed reports whether a line is a record of a failure.
func failed(line []byte) bool {
	var r struct {
		Error string `json:"error"`
	}
	return json.Unmarshal(line, &r) != nil || r.Error != ""
}

// A saveFn writes what all shards come to.
type saveFn struct{ Spec Spec }

// ScoreFile is the name of what all shards come to, in the folder of the job.
const ScoreFile = "score.json"

// ProcessElement writes the sum.
func (f *saveFn) ProcessElement(ctx context.Context, sum []byte) error {
	return store.Write(ctx, store.Join(f.Spec.Out, ScoreFile), sum)
}

// Names are the record files of an arm, as a report takes them.
func (s Spec) Names(arm string) []string {
	var names []string
	for i := range s.Shards {
		names = append(names, store.Join(s.Out, s.File(arm, i+1)))
	}
	return names
}
