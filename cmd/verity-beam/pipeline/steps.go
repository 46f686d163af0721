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

	"verity/cmd/internal/measure"
	"verity/eval"

	"verity/cmd/verity-beam/store"
)

// Registered by reflection: the generic functions of package register take minutes to compile and
// save only microseconds.
func init() {
	beam.RegisterDoFn(reflect.TypeFor[indexFn]())
	beam.RegisterDoFn(reflect.TypeFor[transcribeFn]())
	beam.RegisterDoFn(reflect.TypeFor[writeFn]())
}

// Build returns the pipeline of a job.
func Build(s Spec) *beam.Pipeline {
	p, root := beam.NewPipelineWithRoot()
	chunks, marks := beam.ParDo2(root.Scope("index"), &indexFn{Spec: s}, beam.Impulse(root))
	// Without this, one worker would do everything: a runner fuses a read with the steps after it.
	chunks = beam.Reshuffle(root, chunks)
	records := beam.ParDo(root.Scope("transcribe"), &transcribeFn{Spec: s}, chunks)
	shards := beam.GroupByKey(root, beam.Flatten(root, marks, records))
	beam.ParDo0(root.Scope("write"), &writeFn{Spec: s}, shards)
	return p
}

// An indexFn reads the dataset and emits its rows in chunks. One worker reads them in order, since
// the name of a row depends on those before it; that is cheap beside transcribing them.
type indexFn struct{ Spec Spec }

// ProcessElement emits the chunks by name, and a mark for every shard, so that shards without rows
// get a file, too.
func (f *indexFn) ProcessElement(ctx context.Context, _ []byte, emit func(string, []byte), mark func(string, []byte)) error {
	job, err := measure.ParseJob(f.Spec.Args, os.Stderr)
	if err != nil {
		return err
	}
	for i := range f.Spec.Shards {
		mark(f.Spec.key(i), nil)
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
	files, err := store.Fetch(ctx, f.Spec.cache(), f.Spec.Data)
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
		out.Audio.Place.File = original(out.Audio.Place.File, files, f.Spec.Data)
		// A row without an identifier is named after its file.
		if i := strings.LastIndexByte(out.ID, ':'); i >= 0 {
			out.ID = original(out.ID[:i], files, f.Spec.Data) + out.ID[i:]
		}
		if err := do(out); err != nil {
			return err
		}
		seq++
	}
	return nil
}

// original returns the name that a fetched file has in the object store.
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

// Setup loads the model unless it is loaded already.
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
	records, err := f.worker.transcribe(ctx, c)
	if err != nil {
		return err
	}
	for at, r := range records {
		line, err := r.Line()
		if err != nil {
			return fmt.Errorf("record %s: %w", r.ID, err)
		}
		emit(f.Spec.key(c[at].Seq), valueOf(c[at].Seq, line))
	}
	return nil
}

// A writeFn writes the records of a shard.
type writeFn struct{ Spec Spec }

// ProcessElement writes the file of a shard.
func (f *writeFn) ProcessElement(ctx context.Context, key string, values func(*[]byte) bool) error {
	i, err := strconv.Atoi(key)
	if err != nil {
		return err
	}
	lines, err := onePerRow(values)
	if err != nil {
		return fmt.Errorf("shard %s: %w", key, err)
	}
	return store.Write(ctx, f.Spec.file(i), bytes.Join(lines, nil))
}

// onePerRow returns the lines of values in the order of their rows. A row may have several, which
// differ in times only, or of which one records a failure. It prefers a success, then the first by
// bytes, so that the choice does not depend on the order of arrival. Marks have no line.
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
