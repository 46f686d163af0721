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

// A Spec is what the steps of a job need to know. Workers receive it with the pipeline.
type Spec struct {
	Args   []string // of the verity job: measure.Job
	Data   []string // files to read instead of what --dataset names; empty for that
	Out    string   // folder
	Chunk  int      // rows, at most
	Shards int      // record files
}

// A row is a row of the dataset on its way to a worker. JSON holds only the place of sound that is
// inside a Parquet file.
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

// evalRow returns the row that verity eval would run.
func (r row) evalRow() eval.Row {
	out := eval.Row{Utterance: r.Utterance, Number: r.Seq + 1}
	if r.Broken != "" {
		out.Broken = &datasets.RowError{Err: errors.New(r.Broken)}
	}
	return out
}

// A chunk is consecutive rows, of one row group if they are in Parquet.
type chunk []row

// add appends a row, or reports that it belongs to the next chunk.
func (c *chunk) add(r row, most int) bool {
	if n := len(*c); n > 0 && (n >= most || !sameGroup((*c)[n-1].Audio.Place, r.Audio.Place)) {
		return false
	}
	*c = append(*c, r)
	return true
}

// sameGroup reports whether two rows can be read together.
func sameGroup(a, b datasets.Place) bool { return a.File == b.File && a.Group == b.Group }

func decodeChunk(b []byte) (c chunk, err error) {
	if err = json.Unmarshal(b, &c); err == nil && len(c) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("chunk of %d bytes: %w", len(b), err)
	}
	return c, nil
}

// valueOf returns the result of a row on its way to its shard: the number of the row, so that values
// sort by it, then the line of its record.
func valueOf(seq int, line []byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(seq)), line...)
}

func splitValue(v []byte) (seq int, line []byte, err error) {
	if len(v) < 8 {
		return 0, nil, fmt.Errorf("value of %d bytes: want 8 at least", len(v))
	}
	return int(binary.BigEndian.Uint64(v)), v[8:], nil
}

// key names the shard of a row, from 1, as verity eval --shard counts them.
func (s Spec) key(seq int) string { return strconv.Itoa(seq%s.Shards + 1) }

// file returns the record file of a shard, named as verity eval names it.
func (s Spec) file(i int) string {
	if s.Shards == 1 {
		return store.Join(s.Out, eval.Shard{}.File())
	}
	return store.Join(s.Out, eval.Shard{I: i, Of: s.Shards}.File())
}

// Files returns all record files of the job.
func (s Spec) Files() (names []string) {
	for i := range s.Shards {
		names = append(names, s.file(i+1))
	}
	return names
}
