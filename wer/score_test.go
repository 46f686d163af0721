package wer

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestScore(t *testing.T) {
	loop := strings.Repeat("thank you ", 8)
	tests := []struct {
		name     string
		ref, hyp string
		want     Score
		why      string
	}{
		{"equal", "a b", "a b", Score{Words: Counts{Hits: 2}, Chars: Counts{Hits: 3}, Exact: true}, "spaces between words are characters"},
		{"case", "A b", "a B", Score{Words: Counts{Hits: 2}, Chars: Counts{Hits: 3}, Exact: true}, "both sides are normalised"},
		{"empty reference", "", "um no", Score{Words: Counts{Ins: 2}, Chars: Counts{Ins: 5}}, "silence must not divide by zero"},
		{"empty", " ", "\u3000", Score{Exact: true}, "white space alone is nothing"},
		{"loop", "thank you", loop, Score{Words: Counts{Hits: 2, Ins: 14}, Chars: Counts{Hits: 9, Ins: 70}, Repeats: 10}, "16 words have 12 runs of 5, 2 of them distinct"},
		{"wide", "\U0010ffff x", "\U0010fffe x", Score{Words: Counts{Hits: 1, Subs: 1}, Chars: Counts{Hits: 2, Subs: 1}}, "no alphabet is too large"},
		{"bad bytes", "\xff a", "\xfe a", Score{Words: Counts{Hits: 2}, Chars: Counts{Hits: 3}, Exact: true}, "both become U+FFFD"},
	}
	var s Scorer
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := scored(t, &s, strings.ToLower(tt.ref), strings.ToLower(tt.hyp)); got != tt.want {
				t.Errorf("Score = %+v, want %+v (%s)", got, tt.want, tt.why)
			}
		})
	}
}

// scored scores without an interruption.
func scored(t testing.TB, s *Scorer, ref, hyp string) Score {
	t.Helper()
	got, err := s.Score(t.Context(), ref, hyp)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRatesStayInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1000)
		c := Counts{n.Draw(t, "hits"), n.Draw(t, "subs"), n.Draw(t, "dels"), n.Draw(t, "ins")}
		for name, v := range map[string]float64{"MER": c.MER(), "WIL": c.WIL(), "WIP": c.WIP()} {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("%s of %+v = %v", name, c, v)
			}
		}
		if r := c.Rate(); !(r >= c.MER() && r >= c.InsertionRate() && !math.IsInf(r, 0)) {
			t.Fatalf("Rate of %+v = %v, MER %v, InsertionRate %v", c, r, c.MER(), c.InsertionRate())
		}
	})
}

func TestRepeats(t *testing.T) {
	tests := []struct {
		text string
		want int
	}{
		{"", 0},
		{"a b c d e", 0},
		{"a a a a a a", 1},
		{"a b c d e a b c d e", 1},
		{"a b c d e x b c d e f", 0},
	}
	for _, tt := range tests {
		var v Vocabulary
		if got := repeats(v.Words(nil, tt.text)); got != tt.want {
			t.Errorf("repeats(%q) = %d, want %d", tt.text, got, tt.want)
		}
	}
}

// randomCorpus has utterances of 5 to 25 words, each wrong with chance p.
func randomCorpus(rng *rand.Rand, n int, p float64) []Counts {
	counts := make([]Counts, n)
	for i := range counts {
		for range 5 + rng.IntN(21) {
			if rng.Float64() < p {
				counts[i].Subs++
			} else {
				counts[i].Hits++
			}
		}
	}
	return counts
}

// TestIntervalCovers draws many corpora with a known rate: the interval should
// hold it in nineteen of twenty.
func TestIntervalCovers(t *testing.T) {
	const p, trials = 0.1, 300
	rng := rand.New(rand.NewPCG(1, 2))
	inside := 0
	for range trials {
		iv := intervalOf(randomCorpus(rng, 200, p))
		if iv.Low <= p && p <= iv.High {
			inside++
		}
	}
	// The standard deviation of the count is sqrt(300·0.95·0.05) = 3.8.
	if inside < 285-15 || inside > 285+15 {
		t.Errorf("%d of %d intervals hold the rate, want about 285", inside, trials)
	}
}

func TestBootstrap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	counts := randomCorpus(rng, 100, 0.1)
	x := intervalOf(counts)
	rng.Shuffle(len(counts), func(i, j int) { counts[i], counts[j] = counts[j], counts[i] })
	if y := intervalOf(counts); x != y {
		t.Errorf("the same utterances in another order give %v and %v", x, y)
	}
	if d := Difference(counts, counts); d != (Interval{}) {
		t.Errorf("Difference from itself = %v", d)
	}
	worse := append([]Counts(nil), counts...)
	for i := range worse {
		worse[i].Ins++
	}
	if d := Difference(worse, counts); !(d.Low > 0 && d.Low <= d.High) {
		t.Errorf("Difference = %v, want it above 0", d)
	}
	if iv := intervalOf(nil); iv != (Interval{}) {
		t.Errorf("interval of nothing = %v", iv)
	}
	if iv := intervalOf([]Counts{{}, {Ins: 2}}); iv.Low != 0 || iv.High != 4 {
		t.Errorf("interval without reference words = %v, want insertions, 0 to 4", iv)
	}
}

// TestScorerForgets fills the vocabulary past its bound, which must not change scores.
func TestScorerForgets(t *testing.T) {
	var s Scorer
	s.words.words = make([]string, maxVocabulary+1)
	if got := scored(t, &s, "x y z", "y z z").Words; got != (Counts{Hits: 1, Subs: 2}) {
		t.Errorf("Score after a full vocabulary = %+v", got)
	}
	if s.words.Len() > 10 {
		t.Errorf("vocabulary still holds %d words", s.words.Len())
	}
}

// BenchmarkCorpus scores 100,000 utterances of 20 words, words and characters,
// and finds the interval.
func BenchmarkCorpus(b *testing.B) {
	const utterances = 100_000
	texts := make([][2]string, 500)
	for i := range texts {
		ref, hyp := makeLong(i, 20, 3000, 80)
		texts[i] = [2]string{spell(ref), spell(hyp)}
	}
	b.ReportAllocs()
	for b.Loop() {
		var s Scorer
		var c Corpus
		for i := range utterances {
			c.Add(scored(b, &s, texts[i%len(texts)][0], texts[i%len(texts)][1]))
		}
		c.Interval()
	}
	b.ReportMetric(float64(b.N)*utterances/b.Elapsed().Seconds(), "utterances/s")
}

func spell(words []int32) string {
	var b strings.Builder
	for _, w := range words {
		for ; w > 0; w /= 20 {
			b.WriteByte("etaoinshrdlucmfwypvb"[w%20])
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// intervalOf returns the interval of counts, one per utterance.
func intervalOf(counts []Counts) Interval {
	var c Corpus
	for _, n := range counts {
		c.Add(Score{Words: n})
	}
	return c.Interval()
}
