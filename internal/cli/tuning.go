package cli

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"verity/internal/kernel"
	"verity/internal/tune"
)

// tuned is where the tuning of this process is from. The first model decides, since
// another number of threads is rare, and products run from then on.
var tuned struct {
	sync.Mutex
	from tune.Origin
}

// tuneKernels chooses between variants of kernels, once in a process, as $VERITY_TUNE says.
func tuneKernels(ctx context.Context, threads int) (tune.Origin, error) {
	o, err := tuningOptions(threads)
	if err != nil {
		return "", err
	}
	tuned.Lock()
	defer tuned.Unlock()
	if tuned.from == "" {
		tuned.from = tune.Use(ctx, o)
		slog.Debug("variants of kernels", "from", string(tuned.from), "tuning", kernel.CurrentTuning())
	}
	return tuned.from, nil
}

func tuningOptions(threads int) (tune.Options, error) {
	setting, err := tune.Parse(os.Getenv(tune.Variable))
	if err != nil {
		return tune.Options{}, usageError{err}
	}
	return tune.Options{Setting: setting, File: tuningFile(), Code: code(), Threads: threads}, nil
}

// tuningFile names the file that the tuning is kept in; empty if there is no place for it.
func tuningFile() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "verity", "tuning.json")
}
