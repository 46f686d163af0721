package eval

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
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

// TestLost: records that another program cuts off, replaces or takes away during a run are not
// lost without a word, and the next run makes them again.
func TestLost(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps open files where they are")
	}
	whole := t.TempDir()
	if _, err := Run(t.Context(), hearer{}.engine, shelf(9), Options{Dir: whole}); err != nil {
		t.Fatal(err)
	}
	for name, harm := range map[string]func(file string) error{
		"cut off":    func(file string) error { return os.Truncate(file, 0) },
		"written to": func(file string) error { return os.Truncate(file, 1<<20) },
		"removed":    os.Remove,
		"replaced":   func(file string) error { return errors.Join(os.Remove(file), os.WriteFile(file, nil, 0o666)) },
		"moved":      func(file string) error { return os.Rename(filepath.Dir(file), filepath.Dir(file)+"2") },
	} {
		dir := filepath.Join(t.TempDir(), "out")
		file, n := filepath.Join(dir, "records.jsonl"), 0
		_, err := Run(t.Context(), hearer{}.engine, shelf(9), Options{Dir: dir, Watch: func(*report.Record) {
			if n++; n == 4 {
				if err := harm(file); err != nil {
					t.Error(err)
				}
			}
		}})
		if err == nil || !strings.Contains(err.Error(), "another program") || !strings.Contains(err.Error(), "records.jsonl") {
			t.Errorf("%s: %v", name, err)
		}
		if name == "written to" {
			continue // holds what is no record, so it is not ours to mend
		}
		if _, err := Run(t.Context(), hearer{}.engine, shelf(9), Options{Dir: dir}); err != nil || read(t, file) != read(t, filepath.Join(whole, "records.jsonl")) {
			t.Errorf("%s: %v, or other records", name, err)
		}
	}
}

// TestForeignFile: nothing is cut off a file that is not known to be of this run.
func TestForeignFile(t *testing.T) {
	line := func(model string) string {
		b, err := (&report.Record{ID: "u", Run: transcript.Maker{Model: model}}).Line()
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
				_, err = duo{hearer{}.engine, hearer{drafts: true}.engine}.run(t, shelf(3), CompareOptions{Dir: dir}, [2]transcript.Maker{})
			}
			if err == nil || read(t, path) != text {
				t.Errorf("%s in %s: error %v, now %q", name, file, err, read(t, path))
			}
		}
	}
	for _, text := range []string{"my precious notes", `{"a":1}`, "\x00", ""} { // in the place of the names of the arms
		dir := t.TempDir()
		path := filepath.Join(dir, report.ArmsFile)
		write(t, path, text)
		_, err := duo{hearer{}.engine, hearer{drafts: true}.engine}.run(t, shelf(3), CompareOptions{Dir: dir}, [2]transcript.Maker{})
		if err == nil || read(t, path) != text || !strings.Contains(err.Error(), path) {
			t.Errorf("%q in %s: error %v, now %q", text, report.ArmsFile, err, read(t, path))
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "records.jsonl"), `{"schema":"verity.re`) // a first line that was cut
	if sum, err := Run(t.Context(), hearer{}.engine, shelf(3), Options{Dir: dir}); err != nil || !sum.Torn || sum.Done == 0 {
		t.Errorf("a torn first line: %+v, %v", sum, err)
	}
}

// TestDiskFaults: a rename or a flush to the disk fails while records of failures are
// taken out, or put into order. The records that were there stay, and the next run
// completes them.
func TestDiskFaults(t *testing.T) {
	whole := disk
	defer func() { disk = whole }()
	broken := errors.New("input/output error")
	want := ""
	for _, fault := range []string{"none", "rename", "sync"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "records.jsonl")
		disk = whole
		half := 0
		ctx, stop := context.WithCancel(t.Context())
		if _, err := Run(ctx, hearer{}.engine, shelf(6), Options{Dir: dir, Watch: func(*report.Record) {
			if half++; half == 4 {
				stop()
			}
		}}); err == nil {
			t.Fatal("no interrupt")
		}
		before := read(t, path)
		switch fault {
		case "rename":
			disk.rename = func(string, string) error { return broken }
		case "sync":
			disk.sync = func(*os.File) error { return broken }
		}
		_, err := Run(t.Context(), hearer{}.engine, shelf(6), Options{Dir: dir})
		if (fault == "none") != (err == nil) || err != nil && (!errors.Is(err, broken) || read(t, path) != before) {
			t.Errorf("%s fails: %v; the file has changed: %v", fault, err, read(t, path) != before)
		}
		if _, err := os.Stat(path + ".new"); err == nil {
			t.Errorf("%s fails: a temporary file is left", fault)
		}
		disk = whole
		if _, err := Run(t.Context(), hearer{}.engine, shelf(6), Options{Dir: dir}); err != nil {
			t.Errorf("after %s failed: %v", fault, err)
		}
		if fault == "none" {
			want = read(t, path)
		} else if got := read(t, path); got != want {
			t.Errorf("after %s failed, records are\n%s\nwant\n%s", fault, got, want)
		}
	}
}

// TestCompareDiskFaults: a rename or a flush fails, the first or the second, while a
// pair that is not whole is taken out of both files. The next run completes them.
func TestCompareDiskFaults(t *testing.T) {
	whole := disk
	defer func() { disk = whole }()
	broken := errors.New("input/output error")
	compare := func(dir string) error {
		_, err := duo{hearer{}.engine, hearer{drafts: true}.engine}.run(t, shelf(4), CompareOptions{Dir: dir}, [2]transcript.Maker{})
		return err
	}
	files := func(dir string) [2]string {
		return [2]string{read(t, filepath.Join(dir, "baseline.jsonl")), read(t, filepath.Join(dir, "assisted.jsonl"))}
	}
	reference := t.TempDir()
	if err := compare(reference); err != nil {
		t.Fatal(err)
	}
	want := files(reference)
	for _, fault := range []string{"rename", "sync"} {
		for nth := range 2 {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "baseline.jsonl"), want[0][:strings.LastIndex(want[0][:len(want[0])-1], "\n")+30])
			write(t, filepath.Join(dir, "assisted.jsonl"), want[1][:strings.Index(want[1], "\n")+1])
			calls := 0
			fail := func() error {
				if calls++; calls == nth+1 {
					return broken
				}
				return nil
			}
			if fault == "rename" {
				disk.rename = func(from, to string) error {
					if err := fail(); err != nil {
						return err
					}
					return whole.rename(from, to)
				}
			} else {
				disk.sync = func(*os.File) error { return fail() }
			}
			if err := compare(dir); !errors.Is(err, broken) {
				t.Errorf("%s %d fails: got %v", fault, nth+1, err)
			}
			disk = whole
			if left, err := filepath.Glob(filepath.Join(dir, "*.new")); err != nil || len(left) > 0 {
				t.Errorf("%s %d fails: left behind: %v", fault, nth+1, left)
			}
			if err := compare(dir); err != nil || files(dir) != want {
				t.Errorf("after %s %d failed: %v, or other records", fault, nth+1, err)
			}
		}
	}
}

// TestCompareResume kills a comparison at many bytes of either file, as far as the
// other can have come, and resumes it: the records are those of an undisturbed one.
func TestCompareResume(t *testing.T) {
	arms := duo{hearer{}.engine, hearer{drafts: true}.engine}
	o, runs := CompareOptions{}, [2]transcript.Maker{{Model: "m"}, {Model: "m", Assistant: "a"}}
	const n = 4
	run := func(dir string) (*report.Comparison, [2]string) {
		t.Helper()
		o.Dir = dir
		d, err := arms.run(t, shelf(n), o, runs)
		if err != nil {
			t.Fatal(err)
		}
		return d.Comparisons[0], [2]string{read(t, filepath.Join(dir, "baseline.jsonl")), read(t, filepath.Join(dir, "assisted.jsonl"))}
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
	defer func(whole func(*os.File) error) { disk.sync = whole }(disk.sync)
	disk.sync = func(*os.File) error { return nil } // a thousand times
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
	if _, err := arms.run(t, shelf(n), o, runs); err == nil || !strings.Contains(err.Error(), "records of another run: assistant: got") || read(t, filepath.Join(dir, "assisted.jsonl")) != want[1] {
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

// TestLogIsNoFile: a FIFO or a directory in the place of the records is refused at once.
func TestLogIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "records.jsonl"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), hearer{}.engine, shelf(2), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
}
