package eval

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/eval/report"
	"verity/transcript"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestForeignFile: nothing is cut off a file that is not known to be of this run.
func TestForeignFile(t *testing.T) {
	line := func(model string) string {
		b, err := (&report.Record{ID: "u", Run: transcript.Provenance{Model: model}}).Line()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for name, text := range map[string]string{
		"a note":             "my precious notes without newline",
		"lines of JSON":      "{\"a\":1}\n{\"b\":2}\nprecious tail",
		"records of another": line("other") + "precious tail",
		"another schema":     `{"schema":"verity.report/1","x":"precious`,
		"NUL bytes":          "\x00\x00\x00precious",
	} {
		for _, file := range []string{"records.jsonl", "baseline.jsonl", "assisted.jsonl"} {
			dir := t.TempDir()
			path := filepath.Join(dir, file)
			write(t, path, text)
			var err error
			if file == "records.jsonl" {
				_, err = Run(t.Context(), hearer{}.engine, shelf(3), Options{Dir: dir})
			} else {
				_, err = duo{hearer{}.engine, hearer{drafts: true}.engine}.run(t, shelf(3), CompareOptions{Dir: dir}, [2]transcript.Provenance{})
			}
			if err == nil || read(t, path) != text {
				t.Errorf("%s in %s: error %v, now %q", name, file, err, read(t, path))
			}
		}
	}
	for _, text := range []string{"my precious notes", `{"a":1}`, "\x00", ""} { // in the place of the names of the variants
		dir := t.TempDir()
		path := filepath.Join(dir, report.VariantsFile)
		write(t, path, text)
		_, err := duo{hearer{}.engine, hearer{drafts: true}.engine}.run(t, shelf(3), CompareOptions{Dir: dir}, [2]transcript.Provenance{})
		if err == nil || read(t, path) != text || !strings.Contains(err.Error(), path) {
			t.Errorf("%q in %s: error %v, now %q", text, report.VariantsFile, err, read(t, path))
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "records.jsonl"), `{"schema":"verity.re`) // a first line that was cut
	if sum, err := Run(t.Context(), hearer{}.engine, shelf(3), Options{Dir: dir}); err != nil || !sum.Torn || sum.Done == 0 {
		t.Errorf("a torn first line: %+v, %v", sum, err)
	}
}

// TestSyncFails: when the disk fails, the run does, and the next one finds its records.
func TestSyncFails(t *testing.T) {
	defer func(whole func(*os.File) error) { syncFile = whole }(syncFile)
	whole, broken, dir := syncFile, errors.New("input/output error"), t.TempDir()
	syncFile = func(*os.File) error { return broken }
	if _, err := Run(t.Context(), hearer{}.engine, shelf(3), Options{Dir: dir}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	syncFile = whole
	if sum, err := Run(t.Context(), hearer{}.engine, shelf(3), Options{Dir: dir}); err != nil || sum.Resumed != 3 || sum.Done != 0 {
		t.Errorf("the next run: %+v, %v", sum, err)
	}
}

// TestCompareResume kills a comparison at many bytes of either file, as far as the
// other can have come, and resumes it: the records are those of an undisturbed one.
func TestCompareResume(t *testing.T) {
	variants := duo{hearer{}.engine, hearer{drafts: true}.engine}
	o, runs := CompareOptions{}, [2]transcript.Provenance{{Model: "m"}, {Model: "m", Assistant: "a"}}
	const n = 4
	run := func(dir string) (*report.Comparison, [2]string) {
		t.Helper()
		o.Dir = dir
		d, err := variants.run(t, shelf(n), o, runs)
		if err != nil {
			t.Fatal(err)
		}
		var records [2]string
		for i, file := range []string{"baseline.jsonl", "assisted.jsonl"} {
			records[i] = counted(t, []byte(read(t, filepath.Join(dir, file))))
		}
		return d.Comparisons[0], records
	}
	whole, want := run(t.TempDir())
	ends := func(s string) (at []int) { // of lines
		for i, c := range s {
			if c == '\n' {
				at = append(at, i+1)
			}
		}
		return at
	}
	a, b := append([]int{0}, ends(want[0])...), append([]int{0}, ends(want[1])...)
	step := 41
	if testing.Short() {
		step = 397
	}
	defer func(whole func(*os.File) error) { syncFile = whole }(syncFile)
	syncFile = func(*os.File) error { return nil } // a thousand times
	check := func(first, second int) {
		t.Helper()
		dir := t.TempDir()
		write(t, filepath.Join(dir, "baseline.jsonl"), want[0][:first])
		write(t, filepath.Join(dir, "assisted.jsonl"), want[1][:second])
		c, got := run(dir)
		if got != want || c.Utterances != whole.Utterances || c.Acceptance.Drafted != whole.Acceptance.Drafted || c.Speedup.Decode.Mean != whole.Speedup.Decode.Mean {
			t.Fatalf("killed at bytes %d and %d: other records, or %+v, want %+v", first, second, c, whole)
		}
	}
	for i := 1; i < len(a); i++ { // in the middle of pair i
		for at := a[i-1]; at <= a[i]; at += step {
			check(at, b[i-1])
		}
		for at := b[i-1]; at <= b[i]; at += step {
			check(a[i], at)
		}
	}
	runs[1].Assistant = "another"
	dir := t.TempDir()
	write(t, filepath.Join(dir, "baseline.jsonl"), want[0])
	write(t, filepath.Join(dir, "assisted.jsonl"), want[1])
	o.Dir = dir
	if _, err := variants.run(t, shelf(n), o, runs); err == nil || !strings.Contains(err.Error(), "results of another run, with assistant a") || read(t, filepath.Join(dir, "assisted.jsonl")) != want[1] {
		t.Errorf("records of another assistant: %v", err)
	}
}

// TestNowhere runs without a folder: nothing is written.
func TestNowhere(t *testing.T) {
	t.Chdir(t.TempDir())
	seen := 0
	sum, err := Run(t.Context(), hearer{}.engine, shelf(5), Options{Watch: func(*report.Record) { seen++ }})
	if err != nil || sum.Done != 5 || seen != 5 {
		t.Errorf("%+v, %v, %d seen", sum, err, seen)
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
