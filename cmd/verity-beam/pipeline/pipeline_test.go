package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"verity/eval/report"
	"verity/model/digits"
)

// spec returns a job over n rows of the digits, and one whose sound is missing.
func spec(t *testing.T, n int, more ...string) Spec {
	t.Helper()
	dir, m := t.TempDir(), t.TempDir()
	if err := os.CopyFS(m, digits.Target()); err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for i := range n {
		fmt.Fprintf(&rows, `{"id":"u%d","audio":"digits.wav","offset":%v,"duration":1,"text":"three one"}`+"\n", i, 0.25*float64(i))
	}
	rows.WriteString(`{"id":"gone","audio":"gone.wav","text":"one"}` + "\n")
	data := filepath.Join(dir, "manifest.jsonl")
	for name, content := range map[string][]byte{data: []byte(rows.String()), filepath.Join(dir, "digits.wav"): digits.Sample()} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"--model=" + m, "--dataset=" + data, "--temperature-increment-on-fallback=none", "--normalizer=basic"}, more...)
	return Spec{Args: args, Out: filepath.Join(dir, "out"), Chunk: 2, Shards: 2}
}

type keyed struct {
	key   string
	value []byte
}

// indexed returns what the index emits.
func indexed(t *testing.T, s Spec) (chunks, marks []keyed) {
	t.Helper()
	f := &indexFn{Spec: s}
	err := f.ProcessElement(t.Context(), nil,
		func(k string, v []byte) { chunks = append(chunks, keyed{k, v}) },
		func(k string, v []byte) { marks = append(marks, keyed{k, v}) })
	if err != nil {
		t.Fatal(err)
	}
	return chunks, marks
}

// transcribed runs chunks as a bundle of a worker that was just set up.
func transcribed(t *testing.T, s Spec, chunks []keyed) (out []keyed) {
	t.Helper()
	f := &transcribeFn{Spec: s}
	if err := f.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range chunks {
		err := f.ProcessElement(t.Context(), c.key, c.value, func(k string, v []byte) { out = append(out, keyed{k, slices.Clone(v)}) })
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// written groups by key and writes, as a runner would.
func written(t *testing.T, s Spec, all []keyed) {
	t.Helper()
	groups := map[string][][]byte{}
	for _, k := range all {
		groups[k.key] = append(groups[k.key], k.value)
	}
	for key, values := range groups {
		err := (&writeFn{Spec: s}).ProcessElement(t.Context(), key, func(v *[]byte) bool {
			if len(values) == 0 {
				return false
			}
			*v, values = values[0], values[1:]
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// files returns the record files of a job.
func files(t *testing.T, s Spec) (all []string) {
	t.Helper()
	for _, name := range s.Files() {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b))
	}
	return all
}

// TestTwice delivers a bundle twice, to a worker that is set up twice, and what comes
// of it to the shards in any order: one model, the same values to the nanosecond, every
// row once, the same score.
func TestTwice(t *testing.T) {
	s := spec(t, 7)
	chunks, marks := indexed(t, s)
	if len(chunks) != 4 || len(marks) != 2 {
		t.Fatalf("%d chunks and %d marks, want 4 and 2", len(chunks), len(marks))
	}
	loads := workers.loads
	first := transcribed(t, s, chunks)
	second := transcribed(t, s, chunks)
	if workers.loads != loads+1 {
		t.Errorf("the model was loaded %d times", workers.loads-loads)
	}
	if !slices.EqualFunc(first, second, func(x, y keyed) bool { return x.key == y.key && string(x.value) == string(y.value) }) {
		t.Error("a bundle that is run again gives other values")
	}
	written(t, s, append(slices.Clone(marks), first...))
	want := files(t, s)
	both := append(slices.Concat(first, marks, second), marks...)
	slices.Reverse(both)
	written(t, s, both)
	if got := files(t, s); !slices.Equal(got, want) {
		t.Errorf("records of a bundle that came twice:\n%q, want\n%q", got, want)
	}
	set, err := report.NewSet("", "basic")
	if err != nil {
		t.Fatal(err)
	}
	if err := set.AddAll(t.Context(), report.Files{Paths: s.Files()}); err != nil {
		t.Fatal(err)
	}
	if r := set.Score(); r.Utterances != 7 || r.Failed != 1 || r.Failures[0].ID == "" {
		t.Errorf("%d utterances and %d failed, want 7 and 1", r.Utterances, r.Failed)
	}
}

// TestAttemptsDiffer delivers a failure and a success of one row, in either order: the
// success counts.
func TestAttemptsDiffer(t *testing.T) {
	line := func(r report.Record) []byte {
		l, err := r.Line()
		if err != nil {
			t.Fatal(err)
		}
		return valueOf(3, l)
	}
	good, bad := line(report.Record{ID: "x", Hypothesis: "one"}), line(report.Record{ID: "x", Error: "a disk was gone"})
	for _, values := range [][][]byte{{good, bad}, {bad, good}, {bad, good, bad, nil}} {
		lines, err := onePerRow(func(v *[]byte) bool {
			if len(values) == 0 {
				return false
			}
			*v, values = values[0], values[1:]
			return true
		})
		if err != nil || len(lines) != 1 || string(lines[0]) != string(good[8:]) {
			t.Errorf("%q, %v", lines, err)
		}
	}
	left := 1
	if _, err := onePerRow(func(v *[]byte) bool { *v = []byte("short"); left--; return left >= 0 }); err == nil {
		t.Error("a value of five bytes was taken")
	}
}

// TestInterrupted ends a bundle half way: what it had done is kept, and the next
// attempt does the rest.
func TestInterrupted(t *testing.T) {
	s := spec(t, 3)
	chunks, _ := indexed(t, s)
	want := transcribed(t, s, chunks[:1])
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &transcribeFn{Spec: s}
	if err := f.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.ProcessElement(ctx, "", chunks[1].value, func(string, []byte) {}); err == nil {
		t.Error("an interrupted bundle has no error")
	}
	all := transcribed(t, s, chunks)
	for i, w := range want {
		if string(all[i].value) != string(w.value) {
			t.Errorf("record %d was made again", i)
		}
	}
	if len(all) != 4 {
		t.Errorf("%d records, want 4", len(all))
	}
}

// TestRefused checks that what is no chunk is not taken.
func TestRefused(t *testing.T) {
	for _, bad := range []string{"", "[]", "{}", `[{"seq":"x"}]`} {
		if _, err := decodeChunk([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a chunk", bad)
		}
	}
	if _, err := workerOf(t.Context(), Spec{Args: []string{"--model=/nowhere", "--nonsense"}}); err == nil {
		t.Error("a flag that is not there is taken")
	}
}
