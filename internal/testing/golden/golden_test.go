package golden

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
)

// A recorder is a test that remembers whether it failed.
type recorder struct {
	testing.TB
	log []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// failures runs f with a recorder, to the end or to a Fatal.
func failures(f func(t testing.TB)) []string {
	r := &recorder{}
	done := make(chan bool)
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.log
}

func TestCheck(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	tests := []struct {
		name  string
		got   []float32
		shape []int
		want  []float32
		tol   float64
		near  int
		fails bool
	}{
		{"equal", []float32{1, 2}, []int{2}, []float32{1, 2}, 0, 0, false},
		{"within half", []float32{1.25}, []int{1}, []float32{1}, 0.5, 0, false},
		{"beyond half", []float32{1.375}, []int{1}, []float32{1}, 0.5, 0, true},
		{"beyond half, allowed", []float32{1.375, 2}, []int{2}, []float32{1, 2}, 0.5, 1, false},
		{"beyond tol, whatever is allowed", []float32{2, 2}, []int{2}, []float32{1, 2}, 0.5, 9, true},
		{"below", []float32{0}, []int{1}, []float32{1}, 0.5, 0, true},
		{"got NaN", []float32{1, nan}, []int{2}, []float32{1, 2}, 9, 9, true},
		{"want NaN", []float32{1, 2}, []int{2}, []float32{1, nan}, 9, 9, true},
		{"both NaN", []float32{nan}, []int{1}, []float32{nan}, 9, 9, true},
		{"tolerance NaN", []float32{2}, []int{1}, []float32{1}, math.NaN(), 0, true},
		{"got infinity", []float32{inf}, []int{1}, []float32{1}, 9, 9, true},
		{"same infinity", []float32{inf}, []int{1}, []float32{inf}, 0, 0, false},
		{"other shape", []float32{1, 2}, []int{1, 2}, []float32{1, 2}, 9, 9, true},
		{"too few", []float32{1}, []int{2}, []float32{1, 2}, 9, 9, true},
	}
	for _, tt := range tests {
		want := Array{Shape: []int{len(tt.want)}, Data: tt.want}
		log := failures(func(t testing.TB) { Check(t, tt.got, tt.shape, want, tt.tol, tt.near) })
		if (len(log) > 0) != tt.fails {
			t.Errorf("%s: failures %q, want any: %v", tt.name, log, tt.fails)
		}
	}
}

func TestCheckTop(t *testing.T) {
	m := Model{Tol: Tolerances{Logits: 0.01}, Top: []Top{{IDs: []int32{2, 0}, Logits: []float32{3, 1}, Margin: 2}, {IDs: []int32{1, 0}, Logits: []float32{1, 0.95}, Margin: 0.05}}}
	nan := float32(math.NaN())
	tests := []struct {
		name   string
		at     int
		logits []float32
		fails  bool
	}{
		{"equal", 0, []float32{1, -4, 3}, false},
		{"within", 0, []float32{1.009, -4, 2.991}, false},
		{"value off", 0, []float32{1.02, -4, 3}, true},
		{"another wins", 0, []float32{1, 4, 3}, true},
		{"NaN elsewhere", 0, []float32{1, nan, 3}, true},
		{"NaN at the top", 0, []float32{1, -4, nan}, true},
		{"another wins within the margin", 1, []float32{0.95, 1, 1.02}, false},
	}
	for _, tt := range tests {
		log := failures(func(t testing.TB) { m.CheckTop(t, tt.at, tt.logits) })
		if (len(log) > 0) != tt.fails {
			t.Errorf("%s: failures %q, want any: %v", tt.name, log, tt.fails)
		}
	}
}

func TestCheckTokens(t *testing.T) {
	m := Model{Tol: Tolerances{Logits: 0.01, Wave: 0.1}}
	run := Run{Input: "mel", Tokens: []int32{5, 6, 7}, Margins: []float64{3, 0.5, 0.2}}
	close := Run{Input: "mel", Tokens: []int32{5, 6, 7}, Margins: []float64{3, 0.05, 2}}
	wave, broken := run, run
	wave.Input = "wave"
	broken.Margins = []float64{3, math.NaN(), 3}
	tests := []struct {
		name  string
		run   Run
		got   []int32
		fails bool
	}{
		{"equal", run, []int32{5, 6, 7}, false},
		{"other", run, []int32{5, 6, 8}, true},
		{"short", run, []int32{5, 6}, true},
		{"long", run, []int32{5, 6, 7, 8}, true},
		{"parts where the margin decides nothing", close, []int32{5, 9, 9, 9}, false},
		{"parts before that", close, []int32{4, 6, 7}, true},
		{"sound has its own tolerance", wave, []int32{5, 9}, false},
		{"a margin of NaN decides nothing", broken, []int32{5, 9}, false},
	}
	for _, tt := range tests {
		log := failures(func(t testing.TB) { m.CheckTokens(t, tt.run, tt.got) })
		if (len(log) > 0) != tt.fails {
			t.Errorf("%s: failures %q, want any: %v", tt.name, log, tt.fails)
		}
	}
}

func TestLoadUnknown(t *testing.T) {
	log := failures(func(t testing.TB) { Load(t, "nothing") })
	if len(log) != 1 || !strings.Contains(log[0], "not in the index") {
		t.Errorf("failures %q", log)
	}
}

// TestGoldens checks what tools/reference promises of its own files.
func TestGoldens(t *testing.T) {
	entries, err := files.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	size, specs := int64(0), 0
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
		if e.Name() == "index.json" {
			continue
		}
		read(t, e.Name())
		if spec, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			specs++
			checkModel(t, LoadModel(t, spec))
		}
	}
	if specs == 0 || size > 4<<20 {
		t.Errorf("%d specs in %d bytes, want some in at most 4 MiB", specs, size)
	}
}

func checkModel(t *testing.T, m Model) {
	decided, all := 0, len(m.Top)
	for _, top := range m.Top {
		if top.Margin > marginOverTol*m.Tol.Logits {
			decided++
		}
	}
	for _, run := range m.Runs {
		all += len(run.Tokens)
		decided += m.Decided(run)
	}
	if float64(decided) < 0.95*float64(all) {
		t.Errorf("%s: %d of %d positions come before any doubt, want 95 %%", m.Spec, decided, all)
	}
	enc, logits := Load(t, m.Spec+".encoder"), Load(t, m.Spec+".logits")
	if enc.Shape[0] != len(m.Positions) || logits.Shape[0] != len(m.Teacher) || logits.Shape[1] != len(m.Sampled) || len(m.Top) != len(m.Teacher) {
		t.Errorf("%s: shapes %v, %v do not fit", m.Spec, enc.Shape, logits.Shape)
	}
	if !(m.Tol.Encoder > 0 && m.Tol.Logits > 0 && m.Tol.Wave > 0) {
		t.Errorf("%s: tolerances %+v", m.Spec, m.Tol)
	}
}
