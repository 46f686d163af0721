//go:build unix

package eval

import (
	"testing"

	"verity/eval/report"
)

// TestLock checks that two runs do not write one file.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	first := true
	_, err := Run(t.Context(), hearer{}.engine, shelf(2), Options{Dir: dir, Watch: func(*report.Record) {
		if !first {
			return
		}
		first = false
		if _, err := Run(t.Context(), hearer{}.engine, shelf(2), Options{Dir: dir}); err == nil {
			t.Error("a second run over the same file: no error")
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
}
