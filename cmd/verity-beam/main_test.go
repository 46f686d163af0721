package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"verity/eval/report"
	"verity/model/digits"

	"verity/cmd/verity-beam/store"
)

// verityProgram is verity, built as this test is: without the revision, since records name the program
// that made them and must be equal.
var verityProgram string

// exact compares scores to the bit; where the recordings are depends on the directory.
var exact = cmp.Options{cmp.AllowUnexported(report.Score{}), cmpopts.IgnoreUnexported(report.Utterance{})}

func TestMain(m *testing.M) {
	if os.Getenv(asWorker) != "" {
		time.Sleep(10 * time.Minute)
		return
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "verity-beam-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	verityProgram = filepath.Join(dir, "verity")
	if out, err := exec.Command("go", "build", "-mod=mod", "-buildvcs=false", "-o", verityProgram, "verity/cmd/verity").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building verity: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// verity runs the command and returns its standard output.
func verity(t *testing.T, want int, args ...string) string {
	t.Helper()
	c := exec.Command(verityProgram, args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	c.Run() // the status says what went wrong
	if got := c.ProcessState.ExitCode(); got != want {
		t.Fatalf("verity %v: status %d, want %d:\n%s", args, got, want, stderr.String())
	}
	return stdout.String()
}

// beamed runs verity-beam in this process and returns its standard output.
func beamed(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	out, restoreOut := capture(t, &os.Stdout)
	errs, restoreErr := capture(t, &os.Stderr)
	got := run(t.Context(), args)
	restoreOut()
	restoreErr()
	stdout, stderr = out(), errs()
	if got != want {
		t.Fatalf("verity-beam %v: status %d, want %d:\n%s%s", args, got, want, stdout, stderr)
	}
	return stdout, stderr
}

// capture sends a standard file to a file that it reads in the end.
func capture(t *testing.T, f **os.File) (text func() string, restore func()) {
	t.Helper()
	to, err := os.Create(filepath.Join(t.TempDir(), "captured"))
	if err != nil {
		t.Fatal(err)
	}
	was := *f
	*f = to
	return func() string {
			b, err := os.ReadFile(to.Name())
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}, func() {
			*f = was
			to.Close()
		}
}

// model returns a directory with the digits model.
func model(t *testing.T, files fs.FS) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	return dir
}

// rows are pieces of the recording of digits, with what is said near there. A
// reference that is a little wrong makes a score that is not 0.
var rows = []string{
	`{"id":"a","audio":"digits.wav","offset":0,"duration":1.5,"text":"one"}`,
	`{"id":"b","audio":"digits.wav","offset":1,"duration":2,"text":"nine zero"}`,
	`{"id":"a","audio":"digits.wav","offset":2,"duration":2,"text":"zero six eight"}`,
	`{"id":"gone","audio":"gone.wav","text":"seven"}`,
	`{"id":"c","audio":"digits.wav","offset":0.5,"duration":2.5,"text":"nine zero"}`,
	`{"id":"noise","audio":"noise.wav","text":"eight"}`,
	`{"no json`,
	`{"id":"d","audio":"digits.wav","text":"one nine zero six eight three five two seven four"}`,
	`{"id":"e","audio":"digits.wav","offset":3,"duration":1,"text":"six"}`,
}

// manifest writes a dataset: good rows, one whose sound is missing, one whose sound is
// none, one that is no JSON, and an identifier that is there twice.
func manifest(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"digits.wav": string(digits.Sample()), "noise.wav": "RIFF, but no sound", "manifest.jsonl": strings.Join(rows, "\n") + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "manifest.jsonl")
}

// flags are those of all runs: nothing in them depends on time.
func flags(model, data, out string, more ...string) []string {
	return append([]string{"-q", "--normalizer", "basic", "--temperature-increment-on-fallback", "none", "-m", model, "-d", data, "-o", out}, more...)
}

var times = regexp.MustCompile(`"seconds":\{[^}]*\},|"wall_seconds":[^,]*,|,"seconds":[^}]*|"bytes":[0-9]+|"seconds_by_rows":\[[^]]*\],`)

// timeless returns a record file without what was measured by the clock.
func timeless(t *testing.T, elements ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return times.ReplaceAllString(string(raw), "")
}

// score reads a report in JSON, without times, names and places of files.
func score(t *testing.T, text string) report.Score {
	t.Helper()
	var s report.Score
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	s.Name, s.Shards, s.Elapsed, s.RTFx, s.TokensPerSecond = "", nil, 0, 0, 0
	s.Seconds, s.Drafting.PassSeconds, s.FirstToken = report.Score{}.Seconds, nil, 0
	s.GBPS, s.BytesPerToken = 0, 0 // files that share a pass divide its bytes
	s.Each = nil                   // of report, and of a job on a cluster
	return s
}

// TestSameAsEval holds the records and the score of a run in this process against
// those of verity eval, whole and in shards: byte for byte, times aside.
func TestSameAsEval(t *testing.T) {
	m, data := model(t, digits.Target()), manifest(t)
	one, beam, parts := t.TempDir(), t.TempDir(), t.TempDir()
	want := verity(t, 1, append([]string{"eval"}, flags(m, data, one, "--json")...)...)
	got, stderr := beamed(t, 1, flags(m, data, beam, "--json", "--chunk", "2", "--batch", "2")...)
	if diff := cmp.Diff(timeless(t, one, "records.jsonl"), timeless(t, beam, "records.jsonl")); diff != "" {
		t.Errorf("records (-eval +beam):\n%s", diff)
	}
	w, g := score(t, want), score(t, got)
	if diff := cmp.Diff(w, g, exact); diff != "" {
		t.Errorf("score (-eval +beam):\n%s", diff)
	}
	if w.Failed != 3 || w.Utterances != 6 || w.WER == 0 {
		t.Errorf("the dataset proves little: %d failed, %d utterances, WER %v", w.Failed, w.Utterances, w.WER)
	}
	if !strings.Contains(stderr, "3 utterances failed") || !strings.Contains(got, "gone.wav") {
		t.Errorf("failures are not counted and named:\n%s%s", stderr, got)
	}

	// Rows 4 (gone), 6 (noise) and 7 (no JSON) fail: shards 4, 2 and 3.
	statusOf := map[int]int{1: 0, 2: 1, 3: 1, 4: 1}
	shared, _ := beamed(t, 1, flags(m, data, parts, "--json", "--shards", "4")...)
	for i := 1; i <= 4; i++ {
		shard := t.TempDir()
		verity(t, statusOf[i], append([]string{"eval"}, flags(m, data, shard, "--shard", fmt.Sprintf("%d/4", i))...)...)
		file := fmt.Sprintf("records-%d-of-4.jsonl", i)
		if diff := cmp.Diff(timeless(t, shard, file), timeless(t, parts, file)); diff != "" {
			t.Errorf("%s (-eval +beam):\n%s", file, diff)
		}
	}
	merged := score(t, verity(t, 1, "report", "--json", "--normalizer", "basic", parts))
	for name, s := range map[string]report.Score{"beam in shards": score(t, shared), "report of its shards": merged} {
		s.Failures, w.Failures = nil, nil // in the order of shards
		if diff := cmp.Diff(w, s, exact, near); diff != "" {
			t.Errorf("score of %s (-eval +beam):\n%s", name, diff)
		}
	}
}

// near takes sums of seconds in another order as equal: they differ in the last bits.
var near = cmp.Comparer(func(x, y float64) bool { return x == y || max(x, y)-min(x, y) < 1e-12*max(x, y) })

// TestResume starts a job again: nothing that was done is done again, what failed is,
// and a row that has changed is, too.
func TestResume(t *testing.T) {
	m, data, out := model(t, digits.Target()), manifest(t), t.TempDir()
	beamed(t, 1, flags(m, data, out, "--chunk", "3")...)
	first, err := os.ReadFile(filepath.Join(out, "records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	sound := filepath.Join(filepath.Dir(data), "gone.wav")
	if err := os.WriteFile(sound, digits.Sample(), 0o600); err != nil {
		t.Fatal(err)
	}
	mended := strings.Replace(strings.Join(rows, "\n"), "zero six eight", "zero six", 1)
	if err := os.WriteFile(data, []byte(mended), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(out, "records.jsonl")); err != nil {
		t.Fatal(err)
	}
	beamed(t, 1, flags(m, data, out, "--chunk", "3")...)
	second, err := os.ReadFile(filepath.Join(out, "records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := bytes.SplitAfter(first, []byte("\n")), bytes.SplitAfter(second, []byte("\n"))
	if len(a) != len(b) || len(b) != len(rows)+1 {
		t.Fatalf("%d and %d records, want %d", len(a)-1, len(b)-1, len(rows))
	}
	for i := range a {
		again := i == 2 || i == 3 || i == 5 // changed; mended; failed again
		same := bytes.Equal(a[i], b[i])     // to the nanoseconds that were measured
		if i != 5 && same == again {
			t.Errorf("record %d: the same bytes: %v, want %v\n%s%s", i+1, same, !again, a[i], b[i])
		}
	}
	if bytes.Contains(b[3], []byte(`"error"`)) || !bytes.Contains(b[5], []byte(`"error"`)) {
		t.Errorf("the mended row failed, or the broken one did not:\n%s%s", b[3], b[5])
	}
}

// parquets are files of several row groups, by name: each row with its own sound.
func parquets(t *testing.T) map[string][]byte {
	t.Helper()
	type row struct {
		Audio []byte `parquet:"audio,optional"`
		ID    string `parquet:"id"`
		Text  string `parquet:"text"`
	}
	sample := digits.Sample()
	files := map[string][]byte{}
	for file := range 2 {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[row](&b)
		for i := range 5 {
			// Sounds of different lengths: a row with another's sound has another text.
			r := row{cut(sample, 1+0.6*float64(i+5*file)), fmt.Sprint("u", i), "one nine zero six eight"}
			if i == 3 {
				r.Audio = nil
			}
			if _, err := w.Write([]row{r}); err != nil {
				t.Fatal(err)
			}
			if i%2 == 1 {
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		files[fmt.Sprintf("part-%d.parquet", file)] = b.Bytes()
	}
	return files
}

// TestParquet runs a dataset of several files and row groups by a pattern, here and in an
// object store: each row with its own sound, as verity eval reads the folder.
func TestParquet(t *testing.T) {
	m, dir, one, beam := model(t, digits.Target()), t.TempDir(), t.TempDir(), t.TempDir()
	for name, content := range parquets(t) {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		memfs.Write("memfs://bucket/sets/"+name, content)
	}
	verity(t, 1, append([]string{"eval"}, flags(m, dir, one)...)...)
	beamed(t, 1, flags(m, dir, beam, "--chunk", "2")...)
	want := timeless(t, one, "records.jsonl")
	if diff := cmp.Diff(want, timeless(t, beam, "records.jsonl")); diff != "" {
		t.Errorf("folder (-eval +beam):\n%s", diff)
	}
	if strings.Count(want, "\n") != 10 || strings.Count(want, `"error"`) != 2 {
		t.Errorf("want 10 records, two of them broken:\n%s", want)
	}
	pattern := filepath.Join(dir, "part-*.parquet")
	one = t.TempDir()
	beamed(t, 1, flags(m, pattern, one, "--chunk", "3")...)
	if diff := cmp.Diff(want, strings.ReplaceAll(timeless(t, one, "records.jsonl"), pattern, dir)); diff != "" {
		t.Errorf("pattern (-eval of the folder +beam):\n%s", diff)
	}

	t.Setenv("TMPDIR", t.TempDir()) // for what is fetched
	set, out := "memfs://bucket/sets/part-?.parquet", "memfs://bucket/out"
	_, stderr := beamed(t, 1, flags(m, set, out, "--chunk", "3")...)
	got, err := store.Read(t.Context(), out+"/records.jsonl")
	if err != nil || !strings.Contains(stderr, "2 utterances failed") {
		t.Fatalf("%v: %s", err, stderr)
	}
	here := strings.NewReplacer(set, dir, "memfs://bucket/sets", dir).Replace(times.ReplaceAllString(string(got), ""))
	if diff := cmp.Diff(want, here); diff != "" {
		t.Errorf("object store (-eval of the folder +beam):\n%s", diff)
	}
}

// cut returns the first seconds of a WAV file of 16 kHz.
func cut(wav []byte, seconds float64) []byte {
	n := min(len(wav), 44+2*int(16000*seconds))
	return bytes.Clone(wav[:n])
}

// TestNothing checks an empty dataset, and one without a model: an error, soon.
func TestNothing(t *testing.T) {
	m, dir := model(t, digits.Target()), t.TempDir()
	empty := filepath.Join(dir, "manifest.jsonl")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr := beamed(t, 1, flags(m, empty, filepath.Join(dir, "out"))...); !strings.Contains(stderr, "holds no utterance") {
		t.Errorf("empty dataset: %s", stderr)
	}
	if _, stderr := beamed(t, 1, flags(filepath.Join(dir, "nowhere"), manifest(t), filepath.Join(dir, "out"), "--attempts", "1")...); !strings.Contains(stderr, "nowhere") {
		t.Errorf("no model: %s", stderr)
	}
	for _, bad := range [][]string{
		{"-o", dir}, {"-d", empty}, flags(m, empty, dir, "--shards", "0"), flags(m, empty, dir, "--chunk", "0"), flags(m, empty, dir, "--attempts", "0"),
		flags(m, empty, dir, "--beam-log", "x"), flags(m, empty, dir, "--limit", "-1"), flags(m, empty, dir, "--nonsense"),
	} {
		if _, stderr := beamed(t, 2, bad...); !strings.Contains(stderr, "verity-beam:") {
			t.Errorf("%v: %s", bad, stderr)
		}
	}
	help, _ := beamed(t, 0, "--help")
	for _, flag := range []string{"--runner", "--endpoint", "--environment-type", "--shards", "--model", "--worker_pool", "--job_server"} {
		if !strings.Contains(help, flag) {
			t.Errorf("help does not name %s", flag)
		}
	}
}

// TestRole checks that every way in which a process is started is told from the others.
func TestRole(t *testing.T) {
	for want, args := range map[string][]string{
		"":                   {"--dataset", "worker", "--out", "x"},
		"worker":             {"--worker=true", "--id=1", "--control_endpoint=x"},
		"provision_endpoint": {"--id=1", "--provision_endpoint=x", "--control_endpoint=x"},
		"worker_pool":        {"--worker_pool"},
		"job_server":         {"--job_server", "--port", "1"},
	} {
		if got := roleOf(args); got == nil && want != "" || got != nil && got.flag != want {
			t.Errorf("%v: %v, want %s", args, got, want)
		}
	}
	if err := boot([]string{"--id=1", "--provision_endpoint="}); err == nil {
		t.Error("a worker without an endpoint was started")
	}
}
