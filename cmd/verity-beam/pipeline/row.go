package pipeline

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"verity/datasets"
	"verity/eval"

	"verity/cmd/verity-beam/store"
)

// A Spec is all that the steps of a job have to know. Workers get it with the pipeline.
type Spec struct {
	Args   []string // of the verity job: measure.Job
	Data   []string // files to read instead of what --dataset names; empty for that
	Out    string   // folder
	Chunk  int      // rows, at most
	Shards int      // record files
}

// A row is one of the dataset on its way to a worker. Of sound inside a Parquet file JSON
// has the place alone.
type row struct {
	datasets.Utterance
	Seq    int    // in the dataset, from 0
	Broken string `json:",omitempty"` // why the row cannot be used
}

func rowOf(seq int, r eval.Row) row {
	out := row{Utterance: r.Utterance, Seq: seq}
	if r.Broken != nil {
		out.Broken = r.Broken.Err.Error()
	}
	return out
}

// evalRow is the row that verity eval would run.
func (r row) evalRow() eval.Row {
	out := eval.Row{Utterance: r.Utterance}
	if r.Broken != "" {
		out.Broken = &datasets.RowError{Err: errors.New(r.Broken)}
	}
	return out
}

// A chunk is rows that follow one another, of one row group if they are in Parquet.
type chunk []row

// add appends a row, or reports that it belongs to the next chunk.
func (c *chunk) add(r row, most int) bool {
	if n := len(*c); n > 0 && (n >= most || !beside((*c)[n-1].Audio.Place, r.Audio.Place)) {
		return false
	}
	*c = append(*c, r)
	return true
}

// beside reports whether two rows can be read together.
func beside(a, b datasets.Place) bool { return a.File == b.File && a.Group == b.Group }

func decodeChunk(b []byte) (c chunk, err error) {
	if err = json.Unmarshal(b, &c); err == nil && len(c) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("chunk of %d bytes: %w", len(b), err)
	}
	return c, nil
}

// A value is what a row came to, on its way to its shard: the number of the row, so
// that values sort by it, then a line.
func valueOf(seq int, line []byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(seq)), line...)
}

func splitValue(v []byte) (seq int, line []byte, err error) {
	if len(v) < 8 {
		return 0, nil, fmt.Errorf("value of %d bytes: want 8 at least", len(v))
	}
	return int(binary.BigEndian.Uint64(v)), v[8:], nil
}

// key names the shard that a row goes to, from 1, as verity eval --shard deals them out.
func (s Spec) key(seq int) string { return strconv.Itoa(seq%s.Shards + 1) }

// file is the record file of a shard, named as verity eval names it.
func (s Spec) file(i int) string {
	if s.Shards == 1 {
		return store.Join(s.Out, eval.Shard{}.File())
	}
	return store.Join(s.Out, eval.Shard{I: i, Of: s.Shards}.File())
}

// Files are all record files of the job.
func (s Spec) Files() (names []string) {
	for i := range s.Shards {
		names = append(names, s.file(i+1))
	}
	return names
}
