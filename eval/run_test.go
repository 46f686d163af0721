package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verity/audio"
	"verity/datasets"
	"verity/eval/report"
	"verity/internal/testing/testmodel"
	"verity/transcript"
)

// run evaluates a shelf in dir and returns the records' bytes.
func run(t *testing.T, dir string, n int, o Options) (Summary, []byte) {
	t.Helper()
	o.Dir = dir
	sum, err := Run(t.Context(), hearer{}.engine, shelf(n), o)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(sum.Path)
	if err != nil {
		t.Fatal(err)
	}
	return sum, raw
}

// untimed drops the time between records, the one thing that differs where
// several were under way.
func untimed(raw []byte) string {
	return regexp.MustCompile(`"wall_seconds":[^,]*,`).ReplaceAllString(string(raw), "")
}

// counted returns the records that count, as lines in the order of the dataset.
func counted(t *testing.T, raw []byte) string {
	t.Helper()
	var b strings.Builder
	for _, r := range records(t, raw) {
		line, err := r.Line()
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
	}
	return b.String()
}

func records(t *testing.T, raw []byte) []*report.Record {
	t.Helper()
	all, bad, err := report.Read("test", bytes.NewReader(raw))
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	return all
}

func TestRun(t *testing.T) {
	sum, raw := run(t, t.TempDir(), 8, Options{Run: transcript.Provenance{Model: "m"}})
	if sum.Done != 8 || sum.Failed != 2 || sum.Resumed != 0 {
		t.Errorf("summary = %+v, want 8 done, 2 of them failed", sum)
	}
	all := records(t, raw)
	want := []string{"u000", "u001", "u002", "shelf.jsonl:4", "u004", "u005", "u006", "u007"}
	for i, r := range all {
		if r.ID != want[i] {
			t.Errorf("record %d is %s, want %s", i, r.ID, want[i])
		}
		if failed := i == brokenRow || i == badSound; failed != (r.Error != "") {
			t.Errorf("%s: error %q", r.ID, r.Error)
		}
	}
	if !strings.Contains(all[brokenRow].Error, "has no text") {
		t.Errorf("a broken row says %q", all[brokenRow].Error)
	}
	r := all[1]
	if r.Hypothesis != "word1 word1 word1" || r.Reference != "word1 word1" || r.Run.Model != "m" || len(r.Tokens()) != 3 || r.Seconds.Total != 1 || r.Work.Windows != 1 {
		t.Errorf("record = %+v", r)
	}
}

// TestResumeEverywhere cuts a finished file at many places: after the next run the same
// records must count.
func TestResumeEverywhere(t *testing.T) {
	testmodel.Serial(t)
	dir := t.TempDir()
	o := Options{Sound: audio.Input{FFmpeg: audio.FFmpegNever}} // it would be asked about every bad file
	sum, whole := run(t, dir, 7, o)
	every := 1
	if testing.Short() {
		every = 11
	}
	for cut := 0; cut <= len(whole); cut += 1 + cut%13 {
		// A short run still cuts on both sides of each end of a line.
		if edge := bytes.IndexByte(whole[max(0, cut-1):min(len(whole), cut+2)], '\n') >= 0; !edge && cut%every != 0 {
			continue
		}
		if err := os.WriteFile(sum.Path, whole[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		got, raw := run(t, dir, 7, o)
		if counted(t, raw) != string(whole) {
			t.Fatalf("cut at %d: the records differ:\n%s", cut, cmp.Diff(string(whole), counted(t, raw)))
		}
		lines := bytes.Count(whole[:cut], []byte("\n"))
		failures := bytes.Count(whole[:bytes.LastIndexByte(whole[:cut], '\n')+1], []byte(`"error":`))
		good := lines - failures
		if torn := cut > 0 && whole[cut-1] != '\n'; got.Torn != torn || got.Resumed != good || got.Retried != failures || got.Done != 7-good || got.Failed != 2 {
			t.Fatalf("cut at %d: %+v, want torn %v, %d resumed, %d tried again, 2 failed", cut, got, torn, good, failures)
		}
	}
}

// TestMended mends rows that failed, breaks ones that did not, and stops in between:
// in the end there is one record of each row, the best there was, in the order of
// the dataset.
func TestMended(t *testing.T) {
	// Rows: sound; what the row is called when it is broken, which JSON that cannot
	// be read does not say.
	data := func(state string) Dataset {
		return func(yield func(datasets.Utterance, error) bool) {
			for i, c := range state {
				u := datasets.Utterance{ID: fmt.Sprintf("u%d", i), Text: "word1", Audio: datasets.Source{Path: fmt.Sprintf("u%d.wav", i), Data: sound(i, 200)}}
				var err error
				switch c {
				case 's': // no sound
					u.Audio = datasets.Source{Path: u.Audio.Path, Data: []byte("RIFF, but no more")}
				case 'j': // a row that is no JSON
					u, err = datasets.Utterance{}, &datasets.RowError{File: "m.jsonl", Line: i + 1, Err: errors.New("not JSON")}
				case 'a': // a row without audio
					u, err = datasets.Utterance{}, &datasets.RowError{File: "m.jsonl", Line: i + 1, ID: u.ID, Err: errors.New("lost")}
				}
				if !yield(u, err) {
					return
				}
			}
		}
	}
	tests := []struct {
		name, first, second string
		stop                int // records after which the second run is stopped, 0 for never
		limit               int // of the second run
		want                string
	}{
		{"all mended", ".sja.s", "......", 0, 0, "u0 u1 u2 u3 u4 u5"},
		{"still broken", ".sja.s", ".sja.s", 0, 0, "u0 !u1 !m.jsonl:3 !m.jsonl:4 u4 !u5"},
		{"some mended", ".sja.s", ".s..j.", 0, 0, "u0 !u1 u2 u3 u4 !m.jsonl:5 u5"},
		{"broken after it was heard", "....", ".a.s", 0, 0, "u0 u1 u2 u3"},
		{"stopped", ".sja.s", "......", 2, 0, "u0 u1 !m.jsonl:3 u2 !m.jsonl:4 u4 !u5"},
		{"fewer rows", ".s...", ".....", 0, 3, "u0 u1 u2 u3 u4"},
		{"torn off at once", "ssss", "....", 1, 0, "u0 !u1 !u2 !u3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := Run(t.Context(), hearer{}.engine, data(tt.first), Options{Dir: dir}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n := -strings.Count(tt.first, ".") // those that were there come first
			sum, err := Run(ctx, hearer{}.engine, data(tt.second), Options{Dir: dir, Limit: tt.limit, Watch: func(*report.Record) {
				if n++; n == tt.stop && n > 0 {
					cancel()
				}
			}})
			if err != nil && tt.stop == 0 {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(sum.Path)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range records(t, raw) {
				if r.Error != "" {
					r.ID = "!" + r.ID
				}
				got = append(got, r.ID)
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("records %s, want %s", s, tt.want)
			}
			if failed := strings.Count(tt.want, "!"); tt.stop == 0 && sum.Failed != failed {
				t.Errorf("%d failed, want %d", sum.Failed, failed)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
				t.Errorf("in the folder are %v, want the records alone", left)
			}
			if tt.stop == 0 {
				return
			}
			sum, raw = run2(t, dir, data(tt.second))
			for i, r := range records(t, raw) {
				if want := fmt.Sprintf("u%d", i); r.ID != want {
					t.Errorf("after the third run record %d is %s, want %s", i, r.ID, want)
				}
			}
			if sum.Failed != 0 {
				t.Errorf("after the third run: %+v", sum)
			}
		})
	}
}

// run2 is run with a dataset of its own.
func run2(t *testing.T, dir string, data Dataset) (Summary, []byte) {
	t.Helper()
	sum, err := Run(t.Context(), hearer{}.engine, data, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(sum.Path)
	if err != nil {
		t.Fatal(err)
	}
	return sum, raw
}

// TestOtherRows checks that a record is not taken for that of another row of the
// same name.
func TestOtherRows(t *testing.T) {
	row := func(text, path string, offset float64) Dataset {
		return func(yield func(datasets.Utterance, error) bool) {
			yield(datasets.Utterance{ID: "u", Text: text, Part: true, Offset: offset, Duration: 0.001, Audio: datasets.Source{Path: path, Data: sound(1, 200)}}, nil)
		}
	}
	dir := t.TempDir()
	run2(t, dir, row("word1", "a.wav", 0))
	for _, other := range []Dataset{row("word2", "a.wav", 0), row("word1", "b.wav", 0), row("word1", "a.wav", 0.005)} {
		if _, err := Run(t.Context(), hearer{}.engine, other, Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "another sound or text") {
			t.Errorf("another row of the same name: %v", err)
		}
	}
	if sum, _ := run2(t, dir, row("word1", "a.wav", 0)); sum.Resumed != 1 || sum.Done != 0 {
		t.Errorf("the same row: %+v", sum)
	}
}

func TestShards(t *testing.T) {
	dir := t.TempDir()
	for i := 1; i <= 3; i++ {
		sum, raw := run(t, dir, 10, Options{Shard: Shard{i, 3}})
		if want := []int{4, 3, 3}[i-1]; sum.Done != want {
			t.Errorf("shard %d has %d of ten, want %d", i, sum.Done, want)
		}
		if id := records(t, raw)[0].ID; id != fmt.Sprintf("u%03d", i-1) {
			t.Errorf("shard %d begins with %s", i, id)
		}
	}
	files, err := report.Find(dir)
	if err != nil || len(files) != 1 || len(files[0].Paths) != 3 {
		t.Fatalf("Find = %v, %v", files, err)
	}
	got := map[string]string{}
	for _, path := range files[0].Paths {
		for _, r := range records(t, []byte(read(t, path))) {
			if _, twice := got[r.ID]; twice {
				t.Errorf("%s is in two shards", r.ID)
			}
			got[r.ID] = r.Hypothesis
		}
	}
	_, raw := run(t, t.TempDir(), 10, Options{})
	want := map[string]string{}
	for _, r := range records(t, raw) {
		want[r.ID] = r.Hypothesis
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-whole +shards):\n%s", diff)
	}
}

func TestParseShard(t *testing.T) {
	if s, err := ParseShard("2/4"); err != nil || s != (Shard{2, 4}) {
		t.Errorf("2/4 = %v, %v", s, err)
	}
	for _, bad := range []string{"", "2", "0/4", "5/4", "-1/4", "2/4 ", "2/04", "a/b", "2/4/6"} {
		if s, err := ParseShard(bad); err == nil {
			t.Errorf("%q = %v, want an error", bad, s)
		}
	}
}

// TestWorkers checks that the file does not depend on how many work at once.
func TestWorkers(t *testing.T) {
	_, want := run(t, t.TempDir(), 30, Options{})
	for _, workers := range []int{2, 5, 100} {
		if _, got := run(t, t.TempDir(), 30, Options{Workers: workers}); untimed(got) != string(want) || workers > 1 && len(got) == len(want) {
			t.Errorf("%d workers write other records", workers)
		}
	}
}

// TestOtherRun: a folder takes records of one run only; another machine changes times alone.
func TestOtherRun(t *testing.T) {
	dir, made := t.TempDir(), transcript.Provenance{Program: "1", Model: "m", Machine: "here", Threads: 2}
	run(t, dir, 3, Options{Run: made})
	made.Machine, made.Threads = "there", 8
	run(t, dir, 3, Options{Run: made})
	made.Model = "n"
	if _, err := Run(t.Context(), hearer{}.engine, shelf(4), Options{Dir: dir, Run: made}); err == nil || !strings.Contains(err.Error(), "results of another run, with model") {
		t.Errorf("another model: %v", err)
	}
}

// TestInterrupt checks that the end of the context stops a run, leaves no record
// of the utterance under way, and keeps the others.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	sum, err := Run(ctx, hearer{}.engine, shelf(10), Options{Dir: dir, Watch: func(*report.Record) {
		if n++; n == 4 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || sum.Done != 4 {
		t.Errorf("Run = %+v, %v, want 4 done and the context's error", sum, err)
	}
	got, _ := run(t, dir, 10, Options{})
	if got.Resumed != 3 || got.Retried != 1 || got.Done != 7 { // the fourth row is broken
		t.Errorf("resumed: %+v", got)
	}
}

func TestEngineFails(t *testing.T) {
	dir := t.TempDir()
	e := hearer{fail: func(pcm []float32) bool { return len(pcm) == 300 }}.engine
	sum, err := Run(t.Context(), e, shelf(3), Options{Dir: dir})
	if err != nil || sum.Failed != 1 || sum.Done != 3 {
		t.Errorf("Run = %+v, %v, want one failure of three", sum, err)
	}
}

// TestOffset checks that an utterance with an offset is heard from there to its
// end.
func TestOffset(t *testing.T) {
	u := datasets.Utterance{ID: "part", Part: true, Offset: 100.0 / 16000, Duration: 200.0 / 16000, Audio: datasets.Source{Path: "all.wav", Data: sound(0, 1000)}}
	for _, tt := range []struct {
		u    datasets.Utterance
		want int
	}{
		{u, 200},
		{datasets.Utterance{Audio: u.Audio, Part: true, Duration: 200.0 / 16000}, 200}, // from the beginning
		{datasets.Utterance{Audio: u.Audio, Duration: 200.0 / 16000}, 1000},            // a stated duration alone cuts nothing
		{datasets.Utterance{Audio: u.Audio, Part: true, Offset: u.Offset, Duration: 1e300}, 900},
	} {
		clip, err := OpenSound(t.Context(), tt.u, audio.Input{})
		if err != nil {
			t.Fatal(err)
		}
		pcm, err := clip.Samples(1 << 20)
		if err != nil || len(pcm) != tt.want {
			t.Errorf("offset %v: %d samples, %v, want %d", tt.u.Offset, len(pcm), err, tt.want)
		}
		if from := int(tt.u.Offset * 16000); len(pcm) > 0 && int(pcm[0]*32768) != from {
			t.Errorf("offset %v: begins with sample %v, want %d", tt.u.Offset, pcm[0]*32768, from)
		}
	}
	for _, u.Offset = range []float64{1, 1e15, 1e300, math.MaxFloat64} {
		if _, err := OpenSound(t.Context(), u, audio.Input{}); err == nil {
			t.Errorf("offset %v, behind the end: no error", u.Offset)
		}
	}
}

// TestTwice checks that rows of one name all have a record, whatever the shard.
func TestTwice(t *testing.T) {
	bad := &datasets.RowError{File: "lost.parquet", Err: errors.New("cannot be read")}
	twins := func(yield func(datasets.Utterance, error) bool) {
		u := datasets.Utterance{ID: "u", Audio: datasets.Source{Path: "u.wav", Data: sound(1, 200)}}
		_ = yield(u, nil) && yield(datasets.Utterance{}, bad) && yield(u, nil) && yield(datasets.Utterance{}, bad)
	}
	dir := t.TempDir()
	var got []string
	for i := 1; i <= 2; i++ {
		sum, err := Run(t.Context(), hearer{}.engine, twins, Options{Dir: dir, Shard: Shard{i, 2}})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(sum.Path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records(t, raw) {
			got = append(got, r.ID)
		}
	}
	if diff := cmp.Diff([]string{"u", "u#2", "lost.parquet", "lost.parquet#2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnscored(t *testing.T) {
	_, raw := run(t, t.TempDir(), 1, Options{Unscored: true})
	if r := records(t, raw)[0]; !r.NoReference {
		t.Errorf("an utterance without reference is scored: %+v", r)
	}
}

func TestLimit(t *testing.T) {
	// Four utterances and the broken row between them.
	sum, _ := run(t, t.TempDir(), 10, Options{Limit: 4})
	if sum.Done != 5 {
		t.Errorf("limit 4: %+v", sum)
	}
}

// TestSound: how sound is opened reaches every road: files, embedded sound, parts of a
// file, both variants and the warm-up.
func TestSound(t *testing.T) {
	stereo := sound(0, 0)
	stereo[22], stereo[32] = 2, 4 // channels, bytes of a frame
	for range 16000 {
		stereo = append(stereo, 1, 0, 2, 0) // the first channel says 1, the second 2
	}
	file := filepath.Join(t.TempDir(), "stereo.wav")
	if err := os.WriteFile(file, stereo, 0o600); err != nil {
		t.Fatal(err)
	}
	data := func(yield func(datasets.Utterance, error) bool) {
		_ = yield(datasets.Utterance{ID: "file", Text: "x", Audio: datasets.Source{Path: file}}, nil) &&
			yield(datasets.Utterance{ID: "part", Text: "x", Audio: datasets.Source{Path: file}, Part: true, Offset: 0.5, Duration: 0.1}, nil) &&
			yield(datasets.Utterance{ID: "inside", Text: "x", Audio: datasets.Source{Path: file, Data: stereo}}, nil)
	}
	var heard []string
	e := func(ctx context.Context, clip *audio.Clip, u datasets.Utterance) (*transcript.Transcript, error) {
		tr, err := hearer{}.engine(ctx, clip, u)
		if err == nil {
			heard = append(heard, strings.Fields(tr.Text)[0])
		}
		return tr, err
	}
	in := audio.Input{Channel: 2, FFmpeg: audio.FFmpegNever}
	if sum, err := Run(t.Context(), e, data, Options{Sound: in}); err != nil || sum.Failed > 0 || strings.Join(heard, " ") != "word2 word2 word2" {
		t.Errorf("Run: %+v, %v, heard %v", sum, err, heard)
	}
	heard = nil
	if _, err := (duo{e, e}).run(t, data, CompareOptions{Sound: in}, [2]transcript.Provenance{}); err != nil || len(heard) != 6 || strings.Contains(fmt.Sprint(heard), "word1") {
		t.Errorf("Compare: %v, heard %v", err, heard)
	}
}
