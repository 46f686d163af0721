package decoder

import (
	"math"
	"testing"
)

// TestChooseFrequencies checks that the choice at T > 0 is a draw from
// softmax(logits/T): Pearson's chi-square over 200,000 positions. With 7 degrees
// of freedom a right sampler exceeds 31.0 once in 16,000 seeds; this seed is
// fixed, so the test is not flaky.
func TestChooseFrequencies(t *testing.T) {
	logits := []float32{2, 1.5, 1, 0.5, 0, -1, -2, -3, negInf}
	const draws, limit = 200_000, 31.0
	for _, temperature := range []float32{0.2, 0.4, 1, 2} {
		c := Sampling{Temperature: temperature, Seed: 7}.chooser()
		counts := make([]float64, len(logits))
		for p := range draws {
			counts[c.choose(logits, p)]++
		}
		var sum, chi float64
		for _, l := range logits {
			sum += math.Exp(float64(l / temperature))
		}
		for i, l := range logits {
			want := draws * math.Exp(float64(l/temperature)) / sum
			if want < 5 { // too rare for the statistic; must still be rare
				if counts[i] > 30 {
					t.Errorf("T=%v: token %d came %v times, expected %.2g", temperature, i, counts[i], want)
				}
				continue
			}
			chi += (counts[i] - want) * (counts[i] - want) / want
		}
		if !(chi <= limit) {
			t.Errorf("T=%v: chi-square %.1f, limit %.1f, counts %v", temperature, chi, limit, counts)
		}
	}
}

// TestProbs checks that tokens are chosen as often as their probabilities say, with
// everything that may limit them, and those of probability 0 never.
func TestProbs(t *testing.T) {
	logits := []float32{2, 1.5, 1, 0.5, 0, -1, -2, -3, negInf}
	const draws, limit = 100_000, 31.0
	for _, s := range []Sampling{{}, {Temperature: 0.4}, {Temperature: 1}, {Temperature: 1, TopK: 4}, {Temperature: 2, TopP: 0.8}, {Temperature: 2, TopK: 6, TopP: 0.9}} {
		s.Seed = 3
		c := s.chooser()
		counts := make([]float64, len(logits))
		for p := range draws {
			counts[c.choose(logits, p)]++
		}
		chi := 0.0
		for i, p := range c.probs(nil, logits, c.Temperature) {
			if p == 0 && counts[i] > 0 {
				t.Errorf("%+v: token %d came, its probs are 0", s, i)
			}
			if want := draws * float64(p); want > 0 {
				chi += (counts[i] - want) * (counts[i] - want) / want
			}
		}
		if !(chi <= limit) {
			t.Errorf("%+v: chi-square %.1f, limit %.1f, counts %v", s, chi, limit, counts)
		}
	}
}

// Uniform numbers fill [0, 1) evenly, whichever field of the key changes.
func TestUniform(t *testing.T) {
	const draws, cells, limit = 100_000, 20, 60.0 // 19 degrees of freedom: once in 300,000 seeds
	for name, u := range map[string]func(i int) float64{
		"n":     func(i int) float64 { return Sampling{}.Uniform(i, 0) },
		"which": func(i int) float64 { return Sampling{}.Uniform(0, i) },
		"seed":  func(i int) float64 { return Sampling{Seed: uint64(i)}.Uniform(1, 1) },
	} {
		var counts [cells]float64
		for i := range draws {
			counts[int(u(i)*cells)]++
		}
		chi := 0.0
		for _, n := range counts {
			chi += (n - draws/cells) * (n - draws/cells) / (draws / cells)
		}
		if !(chi <= limit) {
			t.Errorf("%s: chi-square %.1f, limit %.1f, counts %v", name, chi, limit, counts)
		}
	}
}

// TestGumbelTail checks the noise itself, in the tail that decides among tens of
// thousands of tokens: P(g > x) = 1 - exp(-exp(-x)).
func TestGumbelTail(t *testing.T) {
	const n = 4_000_000
	tails := []float64{-1, 0, 3, 8, 11}
	counts := make([]float64, len(tails))
	for i := range uint64(n) {
		g := float64(gumbel(mix(i)))
		for k, x := range tails {
			if g > x {
				counts[k]++
			}
		}
	}
	for k, x := range tails {
		over := counts[k]
		p := -math.Expm1(-math.Exp(-x))
		sigma := math.Sqrt(n * p * (1 - p))
		if d := math.Abs(over - n*p); !(d <= 4.5*sigma) {
			t.Errorf("P(g > %v): %v of %d, want %.0f ± %.0f", x, over, n, n*p, sigma)
		}
	}
}

// The noise must change with every field of its key, and with nothing else.
func TestSamplingKey(t *testing.T) {
	base := Sampling{Temperature: 1, Seed: 1, Audio: 2, Window: 3, Attempt: 4, Sample: 5}
	seen := map[uint64]string{base.key(): "base"}
	for name, change := range map[string]func(*Sampling){
		"seed":    func(s *Sampling) { s.Seed++ },
		"audio":   func(s *Sampling) { s.Audio++ },
		"window":  func(s *Sampling) { s.Window++ },
		"attempt": func(s *Sampling) { s.Attempt++ },
		"sample":  func(s *Sampling) { s.Sample++ },
		"swapped": func(s *Sampling) { s.Seed, s.Audio = s.Audio, s.Seed },
	} {
		s := base
		change(&s)
		if other, taken := seen[s.key()]; taken {
			t.Errorf("changing %s gives the key of %s", name, other)
		}
		seen[s.key()] = name
	}
	hotter := base
	hotter.Temperature = 2
	if hotter.key() != base.key() {
		t.Error("the temperature is part of the key; the attempt already is")
	}
}

func TestGreedyTie(t *testing.T) {
	if got := (Sampling{}).chooser().choose([]float32{1, 3, 3, 2}, 9); got != 1 {
		t.Errorf("choice among equals = %d, want 1, the lowest", got)
	}
}

// gumbelBound is a bound, and leaves every choice as it is.
func TestMostGumbel(t *testing.T) {
	for _, x := range []uint64{0, 1, 1 << 10, 1 << 11, 1<<11 - 1, 1 << 12, 1 << 52, 1 << 63, 1<<63 - 1, math.MaxUint64} {
		if g, most := gumbel(x), gumbelBound(x); !(g <= most) {
			t.Errorf("gumbel(%#x) = %v, bounded by %v", x, g, most)
		}
	}
	for i := range uint64(2_000_000) {
		x := mix(i) >> (i % 60) // small v too
		if g, most := gumbel(x), gumbelBound(x); !(g <= most) {
			t.Fatalf("gumbel(%#x) = %v, bounded by %v", x, g, most)
		}
	}
	logits := make([]float32, 5000)
	for i := range logits {
		logits[i] = gumbel(mix(uint64(i))) * 3
	}
	for p := range 300 {
		c := Sampling{Temperature: 0.1 + float32(p)/100, Seed: 3}.chooser()
		place, best, want := mix(c.key+uint64(p)), negInf, 0
		for i, l := range logits {
			if v := l/c.Temperature + gumbel(mix(place+uint64(i))); v > best {
				best, want = v, i
			}
		}
		if got := c.choose(logits, p); int(got) != want {
			t.Fatalf("position %d: choice %d, want %d, that of all noise", p, got, want)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	logits := make([]float32, 51865)
	for i := range logits {
		logits[i] = gumbel(mix(uint64(i))) * 2
	}
	c := Sampling{Temperature: 0.8}.chooser()
	p := 0
	for b.Loop() {
		c.choose(logits, p)
		p++
	}
}
