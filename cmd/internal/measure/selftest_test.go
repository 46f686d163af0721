package measure

import (
	"bytes"
	"testing"

	"verity/cmd/internal/cli"
	"verity/eval/selftest"
)

// TestSelftestText: a check that holds and one that fails, folded to 80 columns.
func TestSelftestText(t *testing.T) {
	var out bytes.Buffer
	s := selftestCommand{Env: cli.Env{Out: &out}}
	s.print(selftest.Check{Name: "rows", What: "1 to 16 tokens in a pass, after refused drafts, against one at a time", Values: 20745600, Seconds: 3.24})
	s.print(selftest.Check{Name: "threads", Error: "bits differ: 3 threads, passes of 6 rows: row 2 of 6 at position 12"})
	const want = `ok    rows: 1 to 16 tokens in a pass, after refused drafts, against one at a
      time (20,745,600 values, 3.24 s)
FAIL  threads: bits differ: 3 threads, passes of 6 rows: row 2 of 6 at position
      12
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
