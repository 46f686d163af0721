// Package tune finds out on this machine which variants of kernels are fastest, where no
// property of the processor tells, and keeps the answer for the next start.
//
//	$VERITY_TUNE, file, threads → [Use] → kernel.SetTuning
//
// No result depends on it: the order of every sum is fixed. So nothing here is an error but
// a setting that does not exist. An answer that cannot be read is measured again; where none
// can be kept, defaults are used, since every start would pay for the trials.
package tune

import (
	"context"
	"fmt"
	"time"

	"verity/internal/kernel"
	"verity/parallel"
)

// Variable is the environment variable for a Setting.
const Variable = "VERITY_TUNE"

// A Setting says whether variants are tried.
type Setting string

const (
	Once  Setting = ""      // at the first start
	Again Setting = "again" // now, whatever was kept
	Off   Setting = "off"   // never: the defaults are used
)

// Parse returns the setting of a value of Variable.
func Parse(s string) (Setting, error) {
	switch v := Setting(s); v {
	case Once, Again, Off:
		return v, nil
	}
	return Off, fmt.Errorf("%s is %q; it may be off or again", Variable, s)
}

// An Origin says where the tuning in use is from.
type Origin string

const (
	Default  Origin = "default"  // nothing to choose, nowhere to keep an answer, or too busy a machine
	Disabled Origin = "off"      // VERITY_TUNE=off
	Kept     Origin = "kept"     // of an earlier start
	Measured Origin = "measured" // just now
)

// Options are what Use needs to know. The zero value uses defaults, since there is no file.
type Options struct {
	Setting Setting
	File    string // that answers are kept in; empty: nowhere
	Code    string // the revision of the program: another one has other kernels
	Threads int    // of products; 0 as in parallel.New
	Recall  bool   // try nothing: take what was kept
}

// Use sets the tuning of package kernel, and says where it is from. It belongs before the
// first product, of which it takes a part of the processor for some 50 ms.
func Use(ctx context.Context, o Options) Origin {
	knobs := kernel.Knobs()
	switch {
	case o.Setting == Off:
		return Disabled
	case len(knobs) == 0 || o.File == "":
		return Default
	}
	begin := time.Now()
	pool := parallel.New(o.Threads)
	defer pool.Close()
	answers, key := read(ctx, o.File), o.key(pool.Threads())
	if t, ok := answers[key]; ok && (o.Recall || o.Setting == Once) && kernel.SetTuning(t) == nil {
		return Kept
	}
	if o.Recall || !writable(o.File) {
		return Default
	}
	t, ok := measure(pool, knobs, begin.Add(budget))
	if err := kernel.SetTuning(t); err != nil || !ok {
		return Default
	}
	answers.add(key, t)
	answers.write(ctx, o.File)
	return Measured
}
