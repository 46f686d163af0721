package tune

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"verity/internal/input"
	"verity/internal/kernel"
	"verity/internal/machine"
	"verity/internal/output"
)

const (
	schema = "verity.tuning/1"

	// A file has this many bytes and answers at most. A home directory may serve many
	// machines.
	mostBytes   = 64 << 10
	mostAnswers = 100
)

// answers holds a tuning for each key.
type answers map[string]kernel.Tuning

// A kept is the file.
type kept struct {
	Schema  string  `json:"schema"`
	Answers answers `json:"answers"`
}

// key names everything that an answer depends on.
func (o Options) key(threads int) string {
	c := kernel.Caches()
	return fmt.Sprintf("%s; %s; caches %d %d; threads %d; VERITY_DISABLE=%s; %s", machine.CPU(),
		strings.Join(kernel.Implementations(), " "), c.First, c.Second, threads, os.Getenv("VERITY_DISABLE"), o.Code)
}

// read returns the answers of a file; none if there is no such file, or it is damaged.
func read(ctx context.Context, name string) answers {
	f, err := input.Open(ctx, name)
	if err != nil {
		return answers{}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err != nil {
		return answers{}
	}
	return parse(b)
}

func parse(b []byte) answers {
	var k kept
	if len(b) > mostBytes || json.Unmarshal(b, &k) != nil || k.Schema != schema || k.Answers == nil {
		return answers{}
	}
	return k.Answers
}

// add adds an answer. A file that is full starts anew: old revisions fill it.
func (a answers) add(key string, t kernel.Tuning) {
	if len(a) >= mostAnswers {
		clear(a)
	}
	a[key] = t
}

// writable reports whether a file can be written, and makes its directory. What is there
// but is not a regular file would never keep an answer, and a pipe would wait for a reader.
func writable(name string) bool {
	if _, err := os.Lstat(name); err == nil {
		if i, err := os.Stat(name); err != nil || !i.Mode().IsRegular() {
			return false
		}
	}
	return output.Dir(filepath.Dir(name)) == nil
}

// write writes the file. If that fails, the next start measures again.
func (a answers) write(ctx context.Context, name string) {
	_ = output.Write(ctx, name, nil, func(w io.Writer) error {
		return json.NewEncoder(w).Encode(kept{schema, a})
	})
}
