package report

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"verity/transcript"
)

// TestMixed changes one thing of the run that made half of the records: they do not
// make a set with the others, and the error says where and why.
func TestMixed(t *testing.T) {
	tests := []struct {
		thing  string // empty if they do belong together
		change func(r *transcript.Provenance)
	}{
		{"", func(r *transcript.Provenance) { r.Machine, r.Threads = "another", 7 }}, // changes times alone
		{"code", func(r *transcript.Provenance) { r.Program = "2" }},
		{"model", func(r *transcript.Provenance) { r.Model = "tiny" }},
		{"model id", func(r *transcript.Provenance) { r.ModelID = "x" }},
		{"assistant", func(r *transcript.Provenance) { r.Assistant = "ngram" }},
		{"dataset", func(r *transcript.Provenance) { r.Dataset = "letters" }},
		{"options", func(r *transcript.Provenance) { r.Options["beam-size"] = "5" }},
		{"options", func(r *transcript.Provenance) { r.Options["language"] = "nl" }},
		{"options", func(r *transcript.Provenance) { delete(r.Options, "language") }},
	}
	for _, tt := range tests {
		for _, failed := range []bool{false, true} {
			dir := t.TempDir()
			one, two := filepath.Join(dir, "records-1-of-2.jsonl"), filepath.Join(dir, "records-2-of-2.jsonl")
			all := made(10, false)
			for _, r := range all[5:] {
				r.Run.Options = maps.Clone(r.Run.Options)
				tt.change(&r.Run)
				if failed {
					r.Error = "no sound"
				}
			}
			writeRecords(t, one, all[:5])
			writeRecords(t, two, all[5:])
			f, err := Find(dir)
			if err != nil {
				t.Fatal(err)
			}
			s, _ := NewSet("set", "")
			err = s.AddAll(t.Context(), f[0])
			if tt.thing == "" {
				if err != nil {
					t.Errorf("another machine: %v", err)
				}
				continue
			}
			for _, part := range []string{one + " (utterance " + all[0].ID, two + " (utterance " + all[5].ID, ": " + tt.thing + ": "} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("another %s, failed %v: %v, want %s named", tt.thing, failed, err, part)
				}
			}
		}
	}
	x, y := made(2, false)[0], made(2, true)[1]
	s, _ := NewSet("set", "")
	if err := s.Add(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), y); err == nil || !strings.Contains(err.Error(), y.ID) {
		t.Errorf("without files: %v, want an error that names the utterances", err)
	}
}

// TestShards gives shards of so many rows each: which of them are missing, and which
// cannot be whole.
func TestShards(t *testing.T) {
	tests := []struct {
		name string
		rows map[string]int // of files
		want string         // Incomplete, or a part of the error
	}{
		{"a whole", map[string]int{"records.jsonl": 5}, ""},
		{"all of four", map[string]int{"records-1-of-4.jsonl": 3, "records-2-of-4.jsonl": 3, "records-3-of-4.jsonl": 2, "records-4-of-4.jsonl": 2}, ""},
		{"fewer rows than shards", map[string]int{"records-1-of-3.jsonl": 1, "records-2-of-3.jsonl": 0, "records-3-of-3.jsonl": 0}, ""},
		{"one missing", map[string]int{"records-1-of-4.jsonl": 3, "records-3-of-4.jsonl": 2, "records-4-of-4.jsonl": 2}, "shard 2/4 is missing"},
		{"two missing", map[string]int{"records-1-of-4.jsonl": 3, "records-3-of-4.jsonl": 2}, "shards 2/4, 4/4 are missing"},
		{"one alone", map[string]int{"records-2-of-2.jsonl": 3}, "shard 1/2 is missing"},
		{"many missing", map[string]int{"records-1-of-20.jsonl": 3}, "shards 2/20, 3/20, 4/20, 5/20, 6/20, 7/20, 8/20, 9/20, 10/20, 11/20, and 9 more are missing"},
		{"first stopped", map[string]int{"records-1-of-3.jsonl": 1, "records-2-of-3.jsonl": 2, "records-3-of-3.jsonl": 2}, "shard 1/3 is not finished (fewer records than in the others)"},
		{"last stopped", map[string]int{"records-1-of-3.jsonl": 4, "records-2-of-3.jsonl": 4, "records-3-of-3.jsonl": 2}, "shard 3/3 is not finished (fewer records than in the others)"},
		{"missing and stopped", map[string]int{"records-2-of-4.jsonl": 4, "records-3-of-4.jsonl": 2, "records-4-of-4.jsonl": 4}, "shard 1/4 is missing, shard 3/4 is not finished (fewer records than in the others)"},
		{"of two divisions", map[string]int{"records-1-of-2.jsonl": 2, "records-2-of-3.jsonl": 2}, "is one of 2 shards"},
		{"no such shard", map[string]int{"records-3-of-2.jsonl": 2}, "its name is not that of a shard"},
		{"too many", map[string]int{"records-1-of-999999999.jsonl": 2}, "its name is not that of a shard"},
		{"another name", map[string]int{"records-mine.jsonl": 2}, ""},
	}
	for _, tt := range tests {
		dir, all := t.TempDir(), made(40, false)
		for name, n := range tt.rows {
			writeRecords(t, filepath.Join(dir, name), all[:n])
			all = all[n:]
		}
		f, err := Find(dir)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := NewSet("set", "")
		got := ""
		if err := s.AddAll(t.Context(), f[0]); err != nil {
			got = err.Error()
			if tt.want != "" && strings.Contains(got, tt.want) {
				got = tt.want
			}
		} else {
			got = s.Score().Shards.Incomplete()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		writeRecords(t, filepath.Join(dir, "records-1-of-2.jsonl"), made(1, false))
	}
	s, _ := NewSet("set", "")
	err := s.AddAll(t.Context(), Files{"both", []string{filepath.Join(one, "records-1-of-2.jsonl"), filepath.Join(two, "records-1-of-2.jsonl")}})
	if err == nil || !strings.Contains(err.Error(), "shard 1/2 occurs twice") {
		t.Errorf("one shard of two folders: %v", err)
	}
}

// TestTwiceNamesFiles checks that an utterance of two files is told where it is.
func TestTwiceNamesFiles(t *testing.T) {
	dir := t.TempDir()
	a, b, all := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl"), made(4, false)
	writeRecords(t, a, all[:3])
	writeRecords(t, b, all[2:])
	s, _ := NewSet("set", "")
	err := s.AddAll(t.Context(), Files{"both", []string{a, b}})
	if want := fmt.Sprintf("twice: %s (utterance %s) and %s (utterance %s)", a, all[2].ID, b, all[2].ID); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestJoinShards compares a whole with a run of which a shard is missing: what that
// would have is not called different.
func TestJoinShards(t *testing.T) {
	dir := t.TempDir()
	a, b := made(9, false), made(9, true)
	whole := filepath.Join(dir, "records.jsonl")
	part := filepath.Join(dir, "records-2-of-3.jsonl")
	writeRecords(t, whole, a)
	writeRecords(t, part, []*Record{b[1], b[4], b[7]})
	for _, swap := range []bool{false, true} {
		f, g := Files{"x", []string{whole}}, Files{"y", []string{part}}
		if swap {
			f, g = g, f
		}
		d, err := Load(t.Context(), []Files{f, g}, "", "")
		if err != nil {
			t.Fatal(err)
		}
		c := d.Comparisons[0]
		if c.WER.Baseline != c.WER.Assisted || (c.Speedup.Decode.Overall < 1) != swap {
			t.Errorf("swapped %v: error rates %v, speed-up in all %v: those of the pairs alone are to be compared", swap, *c.WER, c.Speedup.Decode.Overall)
		}
		if c.Different != 0 || c.Unpaired != 6 || c.Utterances != 3 || c.Identical.All != 3 {
			t.Errorf("swapped %v: %d different, %d unpaired, %d of %d identical, want 0, 6, 3 of 3", swap, c.Different, c.Unpaired, c.Identical.All, c.Utterances)
		}
	}
}
