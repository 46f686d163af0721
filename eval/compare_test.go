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
	p, c := compare(t, duo{hearer{}.engine, hearer{drafts: true}.engine}, 10, CompareOptions{Dir: dir, Repeats: 2})
	if c.Verdict != report.Identical || c.Utterances != 8 || c.Failed != 2 || c.Identical.All != 8 {
		t.Errorf("comparison = %+v", c)
	}
	if c.Speedup.Decode.Median != 2 || c.Speedup.Total.Median != 1/0.875 {
		t.Errorf("speed-up = %+v, want 2 and 1/0.875", c.Speedup)
	}
	if c.Acceptance.Drafted == 0 || c.Acceptance.Accepted != c.Acceptance.Drafted-16 || c.Acceptance.Rounds != 16 || c.Acceptance.Runs != 16 {
		t.Errorf("acceptance = %+v", c.Acceptance)
	}
	// A plain step takes 0.25 s over the words and one; a round drafts and verifies
	// in 0.125 s, and yields as many tokens as were drafted: twice the speed. None was
	// refused, so theory expects one more a round.
	drafts := float64(c.Acceptance.Drafted) / float64(c.Acceptance.Rounds)
	want := 2 * (drafts + 1) / drafts
	Predict(p)
	if got := c.Predicted; got == nil || math.Abs(*got-want) > 1e-9 {
		t.Errorf("predicted = %v, want %v", got, want)
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

// TestPredict simulates drafts of which each token is accepted with chance α: the
// prediction must be what they take.
func TestPredict(t *testing.T) {
	for _, n := range []int{1, 3, 8} {
		for _, alpha := range []float64{0, 0.3, 0.9, 1} {
			const rounds, step, draft, pass = 1000, 0.1, 0.02, 0.12
			mean := assistant.Expected(alpha, n)
			a, b := &report.Score{}, &report.Score{}
			a.Seconds = transcript.Seconds{Verify: rounds * mean * step}
			a.Drafting = transcript.Drafts{Rounds: int(math.Round(rounds * mean))}
			b.Seconds = transcript.Seconds{Verify: rounds * pass, Draft: rounds * draft * float64(n)}
			b.Drafting = transcript.Drafts{
				Rounds: rounds, Drafted: rounds * n,
				Accepted: int(math.Round(rounds * (mean - 1))), Tokens: int(math.Round(rounds * mean)),
				Refused: int(math.Round(rounds * (1 - math.Pow(alpha, float64(n))))),
			}
			want := mean * step / (draft*float64(n) + pass)
			got, even := predict(a, b)
			if got == nil || math.Abs(*got-want) > 0.01*want {
				t.Errorf("α %v, %d drafts: predicted %v, want %.3f", alpha, n, got, want)
			}
			if s := assistant.Expected(*even, n) * step / (draft*float64(n) + pass); math.Abs(s-1) > 0.1 {
				t.Errorf("%d drafts: a speed-up of %.2f where %.2f are right, want 1", n, s, *even)
			}
		}
	}
	few := func(drafted int) *float64 {
		plain, assisted := &report.Score{}, &report.Score{}
		plain.Seconds, assisted.Seconds = transcript.Seconds{Verify: 12}, transcript.Seconds{Verify: 8}
		plain.Drafting = transcript.Drafts{Rounds: 100}
		assisted.Drafting = transcript.Drafts{Rounds: 100, Drafted: drafted, Empty: 100 - drafted, Tokens: 100}
		s, _ := predict(plain, assisted)
		return s
	}
	if few(4) != nil || few(5) == nil {
		t.Error("want a prediction from one draft in twenty rounds on")
	}
	if got, even := predict(&report.Score{}, &report.Score{}); got != nil || even != nil {
		t.Errorf("of nothing: %v", *got)
	}
}

// TestTheory: the example of drafts that are right 4 times in 5 and cost a tenth of a step. For α 0.8 and c 0.1, the
// formulas of Leviathan et al. 2023 give 2.47 × with 6 tokens.
func TestTheory(t *testing.T) {
	operations := 0.1
	a, b := &report.Score{}, &report.Score{DraftOperations: &operations}
	a.Seconds, a.Drafting = transcript.Seconds{Verify: 100}, transcript.Drafts{Rounds: 1000}
	b.Seconds = transcript.Seconds{Verify: 60, Draft: 10}
	b.Drafting = transcript.Drafts{Rounds: 300, Drafted: 1000, Accepted: 800, Refused: 200}
	got := theory(a, b)
	near := func(x, want float64) bool { return math.Abs(x-want) < 0.005 }
	if !near(got.Alpha, 0.8) || !near(got.Cost, 0.1) || got.Length != 6 || !near(got.Tokens, 3.951) || !near(got.Speedup, 2.470) ||
		got.Operations == nil || !near(*got.Operations, 7.6/3.951) {
		t.Errorf("got %+v", got)
	}
	b.Drafting.Compared, b.Drafting.Overlap = 100, 5
	b.DraftOperations = nil
	if got := theory(a, b); !near(got.Alpha, 0.05) || got.Length != 0 || got.Speedup != 1 || got.Operations != nil {
		t.Errorf("with a measured overlap of 5 %%: got %+v", got)
	}
}
