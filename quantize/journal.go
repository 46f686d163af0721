package quantize

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"verity/internal/input"
	"verity/internal/output"
	"verity/internal/quant"
)

// workDir holds finished weights, in the directory to be written, until all are done.
const workDir = ".quantize"

// A journal records finished weights, so that a run can be stopped and continued.
type journal struct {
	dir  string // of the checkpoint
	done map[string]Layer
}

// openJournal begins the work in a directory, or continues work of the same key.
func openJournal(dir, key string) (*journal, error) {
	j := &journal{dir, map[string]Layer{}}
	if err := j.mayReplace(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(key))
	mark := hex.EncodeToString(sum[:])
	if j.mark() != mark {
		if err := j.remove(); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(j.path(), 0o777); err != nil {
			return nil, err
		}
		return j, output.WriteFile(j.path(), "options", []byte(mark))
	}
	all, err := filepath.Glob(j.path("*.json"))
	for _, name := range all {
		var l Layer
		b, err := os.ReadFile(name)
		if err == nil && json.Unmarshal(b, &l) == nil && l.Name != "" {
			j.done[l.Name] = l
		}
	}
	return j, err
}

// mayReplace refuses a directory that holds anything but a checkpoint of this program, or
// the journal of one: its weights may be valuable.
func (j *journal) mayReplace() error {
	all, err := os.ReadDir(j.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range all {
		if e.Name() == workDir && (!e.IsDir() || j.mark() == "") || e.Name() != workDir && !quantised(j.dir) {
			return fmt.Errorf("%s holds %s, which this program did not make: it is not overwritten; name another directory",
				j.dir, e.Name())
		}
	}
	return nil
}

// mark returns what identifies the options of the journal that is there; empty if none is.
func (j *journal) mark() string {
	b, err := os.ReadFile(j.path("options"))
	if _, odd := hex.DecodeString(string(b)); err != nil || odd != nil || len(b) != 2*sha256.Size {
		return ""
	}
	return string(b)
}

// quantised reports whether a directory holds a checkpoint of this program.
func quantised(dir string) bool {
	b, err := input.Read(context.Background(), filepath.Join(dir, "config.json"), mostJSON)
	var c struct {
		Quantization struct {
			Method string `json:"quant_method"`
		} `json:"quantization_config"`
	}
	return err == nil && json.Unmarshal(b, &c) == nil && c.Quantization.Method == quantMethod
}

func (j *journal) path(name ...string) string {
	return filepath.Join(append([]string{j.dir, workDir}, name...)...)
}

// put stores a weight: the bytes first, then the record that they are complete.
func (j *journal) put(l Layer, m *quant.Matrix) error {
	var all []byte
	for _, part := range [][]byte{m.Codes, m.Scales, m.Zeros} {
		all = append(all, part...)
	}
	if err := output.WriteFile(j.path(), l.Name+".bin", all); err != nil {
		return err
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	j.done[l.Name] = l
	return output.WriteFile(j.path(), l.Name+".json", b)
}

// get returns a stored weight.
func (j *journal) get(name string, rows, cols int) (*quant.Matrix, error) {
	f, err := quant.Parse(j.done[name].Format)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(j.path(name + ".bin"))
	if err != nil {
		return nil, err
	}
	codes, scales, zeros := f.Sizes(cols)
	if len(b) != rows*(codes+scales+zeros) {
		return nil, fmt.Errorf("%s: %d bytes, want %d: remove %s and start again",
			j.path(name+".bin"), len(b), rows*(codes+scales+zeros), j.path())
	}
	m := &quant.Matrix{Format: f, Rows: rows, Cols: cols, Codes: b[:rows*codes],
		Scales: b[rows*codes : rows*(codes+scales)], Zeros: b[rows*(codes+scales):]}
	return m, m.Check()
}

func (j *journal) remove() error { return os.RemoveAll(j.path()) }
