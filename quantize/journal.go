package quantize

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

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
	if err := mayReplace(dir); err != nil {
		return nil, err
	}
	j := &journal{dir, map[string]Layer{}}
	if err := os.MkdirAll(j.path(), 0o777); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(key))
	mark := hex.EncodeToString(sum[:])
	if old, err := os.ReadFile(j.path("options")); err != nil || string(old) != mark {
		if err := j.remove(); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(j.path(), 0o777); err != nil {
			return nil, err
		}
		return j, os.WriteFile(j.path("options"), []byte(mark), 0o666)
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

// mayReplace refuses a directory with a checkpoint of another program.
func mayReplace(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var c struct {
		Quantization struct {
			Method string `json:"quant_method"`
		} `json:"quantization_config"`
	}
	if err != nil || json.Unmarshal(b, &c) != nil || c.Quantization.Method != quantMethod {
		return fmt.Errorf("%s holds a checkpoint that was not quantised by this program: "+
			"it is not overwritten; name another directory", dir)
	}
	return nil
}

func (j *journal) path(name ...string) string {
	return filepath.Join(append([]string{j.dir, workDir}, name...)...)
}

func (j *journal) has(name string) (Layer, bool) {
	l, ok := j.done[name]
	return l, ok
}

// put stores a weight: the bytes first, then the record that they are complete.
func (j *journal) put(ctx context.Context, l Layer, m *quant.Matrix) error {
	var all []byte
	for _, part := range [][]byte{m.Codes, m.Scales, m.Zeros} {
		all = append(all, part...)
	}
	if err := os.WriteFile(j.path(l.Name+".bin"), all, 0o666); err != nil {
		return err
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	j.done[l.Name] = l
	return output.Write(ctx, j.path(l.Name+".json"), nil, func(w io.Writer) error { _, err := w.Write(b); return err })
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
