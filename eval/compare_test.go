package eval

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"verity/assistant"
	"verity/audio"
	"verity/datasets"
	"verity/eval/report"
	"verity/transcript"
)

// A duo is the two engines of a comparison.
type duo struct{ Baseline, Assisted Engine }

// run compares the duo, given what is stored in their records.
func (d duo) run(t *testing.T, data Dataset, o CompareOptions, runs [2]transcript.Provenance) (*report.Document, error) {
	t.Helper()
	return d.timed(t, data, o, runs, [2]func() time.Duration{})
}

// timed is run for engines that say how long they have been decoding.
func (d duo) timed(t *testing.T, data Dataset, o CompareOptions, runs [2]transcript.Provenance, clocks [2]func() time.Duration) (*report.Document, error) {
	t.Helper()
	variants, sets := make([]Variant, 2), make([]*report.Set, 2)
	for i, name := range []string{"baseline", "assisted"} {
		set, err := report.NewSet(name, "")
		if err != nil {
			t.Fatal(err)
		}
		sets[i], variants[i] = set, Variant{Name: name, Engine: []Engine{d.Baseline, d.Assisted}[i], Run: runs[i], Set: set, Decoding: clocks[i]}
	}
	pairs, err := Compare(t.Context(), variants, []Match{{0, 1}}, data, o)
	return report.NewDocument(sets, pairs), err
}

func compare(t *testing.T, variants duo, n int, o CompareOptions) (*report.Document, *report.Comparison) {
	t.Helper()
	d, err := variants.run(t, shelf(n), o, [2]transcript.Provenance{})
	if err != nil {
		t.Fatal(err)
	}
	return d, d.Comparisons[0]
}

func TestCompare(t *testing.T) {
	dir := t.TempDir()
	_, c := compare(t, duo{hearer{}.engine, hearer{drafts: true}.engine}, 10, CompareOptions{Dir: dir, Repeats: 2})
	if c.Verdict != report.Identical || c.Utterances != 8 || c.Failed != 2 || c.Identical.All != 8 {
		t.Errorf("comparison = %+v", c)
	}
	if c.Speedup.Decode.Median != 2 || c.Speedup.Total.Median != 1/0.875 {
		t.Errorf("speed-up = %+v, want 2 and 1/0.875", c.Speedup)
	}
	if c.Acceptance.Drafted == 0 || c.Acceptance.Accepted != c.Acceptance.Drafted-16 || c.Acceptance.Rounds != 16 || c.Acceptance.Runs != 16 {
		t.Errorf("acceptance = %+v", c.Acceptance)
	}
	files, err := report.Find(dir)
	if err != nil || len(files) != 2 || files[0].Name != "baseline" {
		t.Errorf("Find = %v, %v, want both variants", files, err)
	}
}

// TestRepeats checks that every pair of runs counts for the spread, and the median
// run for the record.
func TestRepeats(t *testing.T) {
	n := 0
	slowing := func(ctx context.Context, clip *audio.Clip, u datasets.Utterance) (*transcript.Transcript, error) {
		tr, err := hearer{drafts: true}.engine(ctx, clip, u)
		if err == nil {
			n++
			tr.Stats.Seconds.Decode = 0.125 * float64(n)
		}
		return tr, err
	}
	p, c := compare(t, duo{hearer{}.engine, slowing}, 1, CompareOptions{Repeats: 3})
	if s := c.Speedup.Decode; s.Median != 1 || s.High <= 1 || s.Low >= 1 {
		t.Errorf("speed-ups 2, 1 and 2/3: %+v", s)
	}
	if got := p.Scores[1].Seconds.Decode; got != 0.25 {
		t.Errorf("recorded %v s, want the median, 0.25", got)
	}
}

// TestCompareDifferent puts one wrong token into one utterance, at once or in a
// repetition only.
func TestCompareDifferent(t *testing.T) {
	longest := func(pcm []float32) bool { return len(pcm) == 400 }
	_, c := compare(t, duo{hearer{}.engine, hearer{drafts: true, wrong: longest}.engine}, 4, CompareOptions{})
	if c.Verdict != report.Different || c.Different != 1 || c.Differences[0].ID != "u002" || !slices.Equal(c.Differences[0].What, []string{"tokens"}) {
		t.Errorf("comparison = %+v", c)
	}
	calls := 0
	flaky := hearer{drafts: true, wrong: func([]float32) bool { calls++; return calls == 6 }}.engine
	_, c = compare(t, duo{hearer{}.engine, flaky}, 3, CompareOptions{Repeats: 3})
	if c.Different != 1 || c.Differences[0].ID != "u001" {
		t.Errorf("wrong in a repetition only: %+v", c.Differences)
	}
	_, c = compare(t, duo{hearer{}.engine, hearer{fail: longest}.engine}, 4, CompareOptions{})
	if c.Verdict != report.Different || c.Differences[0].What[0] != "failed in assisted" {
		t.Errorf("one variant fails: %+v", c)
	}
}

// TestOrder checks A B A B.
func TestOrder(t *testing.T) {
	var order []byte
	spy := func(c byte) Engine {
		return func(ctx context.Context, clip *audio.Clip, u datasets.Utterance) (*transcript.Transcript, error) {
			order = append(order, c)
			return hearer{drafts: c == 'B'}.engine(ctx, clip, u)
		}
	}
	compare(t, duo{spy('A'), spy('B')}, 2, CompareOptions{Repeats: 2})
	if got, want := string(order), "ABAB"+"ABAB"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}

// TestBatch runs three at a time: both variants in turn, all of a group at once, timed by
// the clock and compared one by one.
func TestBatch(t *testing.T) {
	var mu sync.Mutex
	var order []byte
	under, most := 0, 0
	spy := func(c byte, wrong func([]float32) bool) Engine {
		return func(ctx context.Context, clip *audio.Clip, u datasets.Utterance) (*transcript.Transcript, error) {
			mu.Lock()
			order = append(order, c)
			under++
			most = max(most, under)
			mu.Unlock()
			meet(&mu, &most, 3)
			time.Sleep(20 * time.Millisecond)
			defer func() { mu.Lock(); under--; mu.Unlock() }()
			return hearer{drafts: c == 'B', wrong: wrong}.engine(ctx, clip, u)
		}
	}
	if err := WarmUp(t.Context(), spy('A', nil), shelf(20), 3, audio.Input{}); err != nil || string(order) != "AAA" {
		t.Errorf("warm-up of three: %s, %v", order, err)
	}
	order = nil
	o := CompareOptions{Batch: 3, Repeats: 2, Limit: 4}
	_, c := compare(t, duo{spy('A', nil), spy('B', nil)}, 20, o)
	if got, want := string(order), "AAABBBAAABBB"+"ABAB"; got != want || c.Utterances != 4 {
		t.Errorf("order %s, want %s", got, want)
	}
	if most != 3 {
		t.Errorf("%d at a time, want 3", most)
	}
	// Of the one that took longest: a plain hearer decodes longer.
	b := c.Batch
	if b.Size != 3 || b.Pairs != 4 || c.Verdict != report.Identical || !(b.Decode.Baseline > b.Decode.Assisted && b.Decode.Assisted > 0) || !(b.Total.Baseline > 0.08) {
		t.Errorf("batch %+v, %s", b, c.Verdict)
	}
	if s := c.Speedup.Decode; !(s.Interval != nil && s.Interval[0] <= s.Mean && s.Mean <= s.Interval[1]) || math.Abs(s.Overall-b.Decode.Baseline/b.Decode.Assisted) > 1e-9 {
		t.Errorf("speed-up %+v, of %+v", s, b)
	}
	longest := func(pcm []float32) bool { return len(pcm) == 400 }
	_, c = compare(t, duo{spy('A', nil), spy('B', longest)}, 4, CompareOptions{Batch: 4})
	if c.Different != 1 || c.Differences[0].ID != "u002" {
		t.Errorf("one of a group is wrong: %+v", c.Differences)
	}
}

// meet waits until there have been so many at a time.
func meet(mu *sync.Mutex, most *int, want int) {
	for late := time.Now().Add(2 * time.Minute); time.Now().Before(late); time.Sleep(time.Millisecond) {
		mu.Lock()
		met := *most >= want
		mu.Unlock()
		if met {
			return
		}
	}
}

// TestClock: a group's decoding is what the engine's clock says, a single
// utterance's what its record says.
func TestClock(t *testing.T) {
	for batch, want := range map[int]float64{1: 2, 2: 1} {
		var clocks [2]func() time.Duration
		for i := range clocks {
			read := time.Duration(0)
			clocks[i] = func() time.Duration { read += time.Second; return read }
		}
		d, err := duo{hearer{}.engine, hearer{drafts: true}.engine}.timed(t, shelf(2), CompareOptions{Batch: batch}, [2]transcript.Provenance{}, clocks)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Comparisons[0].Speedup.Decode.Median; math.Abs(got-want) > 1e-9 {
			t.Errorf("batches of %d: speed-up %v, want %v", batch, got, want)
		}
	}
}

// simulated returns plain decoding of 100 windows, and drafts of n tokens of which each is right with chance α, in seconds:
// a step takes 0.1, a drafted token 0.02, a pass of n+1 rows 0.12, the first of a window 0.2 and 0.23, what is no round 2 and
// preparing windows 1.
func simulated(alpha float64, n int) (baseline, assisted *report.Score) {
	const rounds, firsts = 1000, 100
	mean := assistant.Expected(alpha, n)
	all := (rounds + firsts) * mean
	steps, tokens, drafted := all-firsts, int(math.Round(all)), (rounds+firsts)*n
	a, b := &report.Score{}, &report.Score{}
	a.Seconds = transcript.Seconds{Prefill: 0.2 * firsts, Decode: 2 + 0.2*firsts + 0.1*steps}
	a.Drafting = transcript.Drafts{Rounds: tokens, Passes: []int{int(math.Round(steps))}, PassSeconds: []float64{0.1 * steps}}
	draft := 0.02 * float64(drafted)
	b.Seconds = transcript.Seconds{Prefill: 0.23 * firsts, Decode: 3 + 0.23*firsts + rounds*0.12 + draft, Draft: 1 + draft, Opening: 1}
	b.Work.Attempts = firsts
	b.Drafting = transcript.Drafts{
		Rounds: rounds + firsts, Drafted: drafted, Accepted: int(math.Round((rounds + firsts) * (mean - 1))), Tokens: tokens,
		Refused: int(math.Round((rounds + firsts) * (1 - math.Pow(alpha, float64(n))))),
		Passes:  append(make([]int, n), rounds), PassSeconds: append(make([]float64, n), 0.12*rounds),
	}
	return a, b
}

// compared is a comparison of runs of which the saved ones are all.
func compared(assisted *report.Score) *report.Comparison {
	return &report.Comparison{Acceptance: report.Acceptance{Agreement: assisted.Drafting.Agreement()}}
}

// TestPredict: the prediction is what simulated drafts take, and at the break-even they take as long as plain decoding.
func TestPredict(t *testing.T) {
	for _, n := range []int{1, 3, 8} {
		for _, alpha := range []float64{0, 0.3, 0.9, 1} {
			a, b := simulated(alpha, n)
			c := compared(b)
			predict(c, a, b)
			if want := a.Seconds.Decode / b.Seconds.Decode; c.Predicted == nil || math.Abs(*c.Predicted-want) > 0.01*want {
				t.Errorf("α %v, %d drafts: predicted %v, want %.3f", alpha, n, c.Predicted, want)
				continue
			}
			a, b = simulated(*c.BreakEven, n)
			if s := a.Seconds.Decode / b.Seconds.Decode; math.Abs(s-1) > 0.1 {
				t.Errorf("%d drafts: a speed-up of %.2f where %.2f are right, want 1", n, s, *c.BreakEven)
			}
		}
	}
	for drafted, want := range map[int]bool{0: false, 4: false, 5: true} {
		a, b := simulated(0.5, 1)
		b.Drafting.Rounds, b.Drafting.Drafted = 100, drafted
		c := compared(b)
		if predict(c, a, b); (c.Predicted != nil) != want || (c.Theory != nil) != (drafted > 0) {
			t.Errorf("%d drafts in 100 rounds: predicted %v, theory %v; want a prediction from one in twenty on", drafted, c.Predicted, c.Theory)
		}
	}
}

// TestRising: more rows never take less time, nor does any pass less than a step.
func TestRising(t *testing.T) {
	got := rising([]int{2, 0, 4, 1, 1, 3}, []float64{2, 0, 12, 2, 1, 2.4}, 1)
	if want := []float64{2, 0, 8, 2, 2, 6}; !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestTheory: α is the run's own acceptance, whatever Σ min(p, q) is. For α 0.8 and c 0.2, drafts
// of 3 yield 2.952 tokens in 0.6 + 1.2 steps, or 1.845 × by the formula of Leviathan et al. 2023, where V is 1.
func TestTheory(t *testing.T) {
	near := func(x, want float64) bool { return math.Abs(x-want) < 0.005 }
	a, b := simulated(0.8, 3)
	operations := 0.1
	b.DraftOperations = &operations
	b.Drafting.Compared, b.Drafting.Overlap = 100, 99
	c := compared(b)
	predict(c, a, b)
	got := c.Theory
	if !near(got.Alpha, 0.8) || !near(got.Cost, 0.2) || got.Length != 3 || !near(got.Tokens, 2.952) || !near(got.Ideal, 2.952/1.6) || got.Best != 3 {
		t.Errorf("got %+v", got)
	}
	for _, x := range got.Lengths {
		tokens := assistant.Expected(0.8, x.Length)
		if !near(x.Tokens, tokens) || !near(x.Ideal, tokens/(0.2*float64(x.Length)+1)) || !near(*x.Operations, (1.1*float64(x.Length)+1)/tokens) {
			t.Errorf("got %+v", x)
		}
		if known := x.Length <= 3; known != (x.Speedup != nil) {
			t.Errorf("drafts of %d, where no pass had more than 4 rows: %v", x.Length, x.Speedup)
		}
	}
	// A pass of 2 rows lies between those of 1 and 4, which take 1 and 1.2 steps. Each of the 100 first rounds yields 1.8.
	steps := float64(a.Drafting.Passes[0]) - 80
	if want := a.Seconds.Decode / (3 + 23 + 2 + 0.1*steps*(0.2+1+0.2/3)/1.8); !near(*got.Lengths[0].Speedup, want) {
		t.Errorf("drafts of one token: %v, want %v", *got.Lengths[0].Speedup, want)
	}
	// Apart, passes of 4, 6, 9 and 13 rows took 1.25, 1.5, 2 and 2.5 steps, so beyond the run's they take 1.2, 1.44, 1.92 and 2.4.
	a.Steps = []float64{1, 0, 0, 1.25, 0, 1.5, 0, 0, 2, 0, 0, 0, 2.5}
	predict(c, a, b)
	for i, pass := range map[int]float64{3: 1.44, 4: 1.92, 5: 2.4} {
		n := float64(c.Theory.Lengths[i].Length)
		tokens := assistant.Expected(0.8, int(n))
		left := float64(a.Drafting.Passes[0]) - 100*(tokens-1)
		if want := a.Seconds.Decode / (3 + 23 + 0.02*100*n + 0.1*left*(0.2*n+pass)/tokens); !near(*c.Theory.Lengths[i].Speedup, want) {
			t.Errorf("drafts of %v tokens: %v, want %v", n, *c.Theory.Lengths[i].Speedup, want)
		}
	}
	// Rejection sampling, which is only above temperature 0, accepts Σ min(p, q).
	overlap := 0.99
	c.Acceptance.Overlap = &overlap
	for temperature, chance := range map[string]float64{"": 0.8, "0": 0.8, "0.0": 0.8, "1": 0.99} {
		b.Run.Options = map[string]string{"sampler": "rejection", "temperature": temperature}
		if predict(c, a, b); !near(c.Theory.Alpha, 0.8) || !near(c.Theory.Tokens, assistant.Expected(chance, 3)) {
			t.Errorf("rejection at temperature %q: α %v, E %v", temperature, c.Theory.Alpha, c.Theory.Tokens)
		}
	}
}
