package bench

import (
	"io"
	"os"
	"runtime"
	"time"

	"verity/decoder"
	"verity/internal/machine"
	"verity/model"
	"verity/schedule"
)

// A Load is the time and memory that loading a model takes. Without files, as with
// random weights, only Seconds is known.
type Load struct {
	Seconds float64 `json:"seconds"` // until the model is ready

	// How long this process takes to read the files from disk in large blocks and do
	// nothing else, with the files dropped from the page cache first.
	Read  float64 `json:"read_seconds,omitempty"`
	Ratio float64 `json:"ratio,omitempty"` // seconds until the model is ready over those of reading
	Bytes int64   `json:"bytes,omitempty"` // of the files

	Memory *Memory `json:"memory,omitempty"`
}

// A Memory is the resident memory of a loaded model, in bytes, and its peak during
// loading. Both are growth over what was resident before. Mapped pages of the files
// count.
type Memory struct {
	Weights int64   `json:"weights"` // as stored in memory
	Loaded  int64   `json:"loaded"`
	Peak    int64   `json:"peak"`
	Ratio   float64 `json:"ratio"` // peak over weights
}

func (b *bench) measureLoad(c *model.Checkpoint) (err error) {
	l := &b.head.Load
	runtime.GC()
	read, n, cold := readFiles(c.Files())
	before, counted := resetPeak()
	began := time.Now()
	if b.encoder, b.decoder, err = schedule.Load(c, decoder.Options{Pool: b.Pool, Precision: b.Precision}); err != nil {
		return err
	}
	b.Precision = b.encoder.Precision()
	l.Bytes, l.Seconds = n, time.Since(began).Seconds()
	if counted && cold {
		l.Memory = b.memory(before)
	}
	if cold {
		l.Read = read.Seconds()
		l.Ratio = l.Seconds / l.Read
	}
	return nil
}

// memory returns the resident memory that loading added.
func (b *bench) memory(before int64) *Memory {
	m := &Memory{Weights: b.encoder.Bytes() + b.decoder.Bytes()}
	_, peak, ok := machine.Resident()
	runtime.GC()
	after, _, still := machine.Resident()
	if !ok || !still {
		return nil
	}
	m.Loaded, m.Peak = after-before, peak-before
	m.Ratio = float64(m.Peak) / float64(m.Weights)
	return m
}

// resetPeak sets the peak to the memory resident now, and returns that. It reports whether
// the system can.
func resetPeak() (now int64, ok bool) {
	if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		return 0, false
	}
	now, _, ok = machine.Resident()
	return now, ok
}

// readFiles reads files that the system has forgotten, and has it forget them again. It
// reports whether that worked.
func readFiles(names []string) (took time.Duration, n int64, ok bool) {
	if len(names) == 0 || !forget(names) {
		return 0, 0, false
	}
	buf, began := make([]byte, 1<<20), time.Now()
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return 0, 0, false
		}
		for err == nil {
			var k int
			k, err = f.Read(buf)
			n += int64(k)
		}
		f.Close()
		if err != io.EOF {
			return 0, 0, false
		}
	}
	took = time.Since(began)
	return took, n, forget(names)
}
