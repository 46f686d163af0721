package tune

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"verity/internal/kernel"
	"verity/parallel"
)

func TestParse(t *testing.T) {
	for s, want := range map[string]Setting{"": Once, "off": Off, "again": Again} {
		if got, err := Parse(s); got != want || err != nil {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	_, err := Parse("Off")
	if want := `VERITY_TUNE is "Off"; it may be off or again`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestMeasure: with time enough there is an answer, of values that the knobs have.
func TestMeasure(t *testing.T) {
	knobs := kernel.Knobs()
	if len(knobs) == 0 {
		t.Skip("this processor has nothing to choose")
	}
	defer kernel.SetTuning(kernel.Tuning{})
	pool := parallel.New(1)
	defer pool.Close()
	got, ok := measure(pool, knobs, time.Now().Add(time.Minute))
	if !ok {
		t.Fatal("no answer within a minute")
	}
	for _, k := range knobs {
		if !slices.Contains(k.Values, k.Of(got)) {
			t.Errorf("%s is %d, want one of %v", k.Name, k.Of(got), k.Values)
		}
	}
	if _, ok := measure(pool, knobs, time.Now()); ok {
		t.Error("an answer without time to try")
	}
}

// TestNotRegular: where no answer can be kept, none is measured, and nothing waits.
func TestNotRegular(t *testing.T) {
	if len(kernel.Knobs()) == 0 {
		t.Skip("this processor has nothing to choose")
	}
	dir := t.TempDir()
	for _, name := range []string{"directory", "dangling"} {
		file := filepath.Join(dir, name)
		if name == "directory" {
			if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Symlink(filepath.Join(dir, "nothing"), file); err != nil {
			t.Skip(err) // Windows, without the right to
		}
		if from := Use(t.Context(), Options{File: file, Threads: 1}); from != Default {
			t.Errorf("%s: %s, want %s", name, from, Default)
		}
	}
}

// even returns trials that take as long in every turn.
func even(n int, ns ...time.Duration) [][]time.Duration {
	trials := make([][]time.Duration, len(ns))
	for i, d := range ns {
		for range n {
			trials[i] = append(trials[i], d)
		}
	}
	return trials
}

func TestChoose(t *testing.T) {
	noisy := even(10, 100)
	for i := range noisy[0] {
		if i%5 != 2 {
			noisy[0][i] = time.Duration(150 + 40*i)
		}
	}
	lucky := even(10, 100) // fast in one half
	for i := range 5 {
		lucky[0][i] = 50
	}
	tests := []struct {
		name string
		t    timing
		want int
	}{
		{"no choice", timing{even(6, 100)}, 0},
		{"equal", timing{even(6, 100), even(6, 100)}, 0},
		{"faster", timing{even(6, 100), even(6, 80)}, 1},
		{"within the margin", timing{even(6, 100), even(6, 96)}, 0},
		{"slower", timing{even(6, 100), even(6, 130)}, 0},
		{"the fastest of several", timing{even(6, 100), even(6, 90), even(6, 70), even(6, 80)}, 2},
		{"faster in the mean of trials", timing{even(7, 100, 40), even(7, 60, 41)}, 1},
		{"slower in the mean of trials", timing{even(7, 100, 10), even(7, 80, 15)}, 0},
		{"noise on the default alone", timing{noisy, even(10, 98)}, 0},
		{"noise on the faster one", timing{even(10, 110), noisy}, 1},
		{"luck in one half", timing{even(10, 100), lucky}, 0},
		{"a clock that stands", timing{even(6, 0), even(6, 0)}, 0},
	}
	for _, tt := range tests {
		if got := tt.t.choose(); got != tt.want {
			t.Errorf("%s: chose %d, want %d", tt.name, got, tt.want)
		}
	}
}

// restored puts the tuning back when the test ends.
func restored(t *testing.T) {
	t.Helper()
	saved := kernel.CurrentTuning()
	t.Cleanup(func() {
		if err := kernel.SetTuning(saved); err != nil {
			t.Error(err)
		}
	})
}

// needKnobs skips where there is nothing to choose.
func needKnobs(t *testing.T) kernel.Knob {
	t.Helper()
	if len(kernel.Knobs()) == 0 {
		t.Skip("SKIPPED: the kernels in use have no variants")
	}
	return kernel.Knobs()[0]
}

// TestUse: the first start measures, the next one takes what was kept, other programs and
// threads measure again.
func TestUse(t *testing.T) {
	needKnobs(t)
	restored(t)
	o := Options{File: filepath.Join(t.TempDir(), "verity", "tuning.json"), Code: "one", Threads: 1}
	first := Use(t.Context(), o)
	if first == Default {
		t.Skip("SKIPPED: this machine is too busy for ten turns of trials in 50 ms")
	}
	chosen := kernel.CurrentTuning()
	if second := Use(t.Context(), o); first != Measured || second != Kept || kernel.CurrentTuning() != chosen {
		t.Errorf("%s, then %s; %v, then %v", first, second, chosen, kernel.CurrentTuning())
	}
	for _, other := range []Options{
		{File: o.File, Code: "two", Threads: 1},
		{File: o.File, Code: "one", Threads: 2},
		{File: o.File, Code: "one", Threads: 1, Setting: Again},
	} {
		if got := Use(t.Context(), other); got == Kept {
			t.Errorf("%+v took the answer of %+v", other, o)
		}
	}
	for want, again := range map[Origin]Options{
		Kept:    {File: o.File, Code: "one", Threads: 1, Recall: true, Setting: Again},
		Default: {File: o.File, Code: "three", Threads: 1, Recall: true},
	} {
		if got := Use(t.Context(), again); got != want {
			t.Errorf("recalling %q: %s, want %s", again.Code, got, want)
		}
	}
	if got := Use(t.Context(), o); got != Kept {
		t.Errorf("after others: %s", got)
	}
}

// TestUseKept: an answer decides; what it cannot be is measured again.
func TestUseKept(t *testing.T) {
	knob := needKnobs(t)
	restored(t)
	o := Options{File: filepath.Join(t.TempDir(), "tuning.json"), Threads: 1}
	var other, bad kernel.Tuning
	knob.Set(&other, knob.Values[1])
	knob.Set(&bad, 7777)
	keep := func(x kernel.Tuning) {
		answers{o.key(1): x}.write(t.Context(), o.File)
	}
	keep(other)
	if from := Use(t.Context(), o); from != Kept || knob.Of(kernel.CurrentTuning()) != knob.Values[1] {
		t.Errorf("%s, %v", from, kernel.CurrentTuning())
	}
	keep(bad)
	if from := Use(t.Context(), o); from == Kept {
		t.Errorf("took %v", bad)
	}
}

// TestUseNot: nothing is written where nothing should be.
func TestUseNot(t *testing.T) {
	restored(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []struct {
		Options
		want Origin
	}{
		{Options{Setting: Off, File: filepath.Join(dir, "off")}, Disabled},
		{Options{}, Default},
		{Options{File: filepath.Join(file, "tuning.json")}, Default},
	} {
		if got := Use(t.Context(), o.Options); got != o.want {
			t.Errorf("%+v: %s, want %s", o.Options, got, o.want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: want one file", entries, err)
	}
}

// TestKept: answers are read as they were written; damaged and foreign files have none.
func TestKept(t *testing.T) {
	want := answers{"a": {AheadRows: 6, TileRows: 24}, "b": {}}
	name := filepath.Join(t.TempDir(), "tuning.json")
	want.write(t.Context(), name)
	if got := read(t.Context(), name); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "{", "null", "[]", string(raw[:len(raw)/2]), strings.Replace(string(raw), schema, "verity.tuning/0", 1),
		`{"schema":"verity.tuning/1"}`, `{"schema":"verity.tuning/1","answers":{"a":{"tile_rows":"x"}}}`,
		string(raw) + strings.Repeat(" ", mostBytes),
	} {
		if got := parse([]byte(bad)); len(got) != 0 {
			t.Errorf("%.60q: %v", bad, got)
		}
	}
	if got := read(t.Context(), t.TempDir()); len(got) != 0 {
		t.Errorf("a directory: %v", got)
	}
}

// TestAdd: a file never grows beyond what is read.
func TestAdd(t *testing.T) {
	a := answers{}
	for i := range mostAnswers + 5 {
		a.add(strings.Repeat("x", 300+i), kernel.Tuning{AheadRows: 6, Level: 2, TileRows: 24, DirectRows: 24})
		var b bytes.Buffer
		if err := json.NewEncoder(&b).Encode(kept{schema, a}); err != nil || len(parse(b.Bytes())) != len(a) || len(a) == 0 {
			t.Fatalf("%d answers in %d bytes cannot be read: %v", len(a), b.Len(), err)
		}
	}
}

// FuzzParse: whatever a file holds, a tuning is set whole or not at all.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"schema":"verity.tuning/1","answers":{"a":{"tile_rows":16,"prefetch_rows":-1}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		restored(t)
		for _, x := range parse(b) {
			before := kernel.CurrentTuning()
			if kernel.SetTuning(x) != nil && kernel.CurrentTuning() != before {
				t.Errorf("%+v was refused, and changed %+v", x, before)
			}
		}
	})
}
