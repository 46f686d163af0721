package wer

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// checkPairs fails unless pairs is an edit script from ref to hyp.
func checkPairs(t interface {
	Helper()
	Fatalf(string, ...any)
}, ref, hyp []int32, pairs []Pair) {
	t.Helper()
	i, j := 0, 0
	for k, p := range pairs {
		if p.Ref != i || p.Hyp != j {
			t.Fatalf("pair %d = %v, want it at %d, %d", k, p, i, j)
		}
		if p.Op != Ins {
			i++
		}
		if p.Op != Del {
			j++
		}
		if i > len(ref) || j > len(hyp) {
			t.Fatalf("pair %d = %v reaches beyond the texts", k, p)
		}
		if both := p.Op == Hit || p.Op == Sub; both && (ref[i-1] == hyp[j-1]) != (p.Op == Hit) {
			t.Fatalf("pair %d = %v joins %d and %d", k, p, ref[i-1], hyp[j-1])
		}
	}
	if i != len(ref) || j != len(hyp) {
		t.Fatalf("script covers %d of %d and %d of %d words", i, len(ref), j, len(hyp))
	}
}

// distances is the textbook recurrence, the definition: between hyp and each
// prefix of ref.
func distances(ref, hyp []int32) []int {
	row := make([]int, len(ref)+1)
	for i := range row {
		row[i] = i
	}
	for j, h := range hyp {
		diagonal := row[0]
		row[0] = j + 1
		for i, r := range ref {
			cost := 1
			if r == h {
				cost = 0
			}
			diagonal, row[i+1] = row[i+1], min(diagonal+cost, row[i]+1, row[i+1]+1)
		}
	}
	return row
}

func distance(ref, hyp []int32) int { return distances(ref, hyp)[len(ref)] }

// align aligns without an interruption.
func align(t *testing.T, a *Aligner, ref, hyp []int32) []Pair {
	t.Helper()
	pairs, err := a.Align(t.Context(), ref, hyp)
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

func checkShortest(t interface {
	Helper()
	Fatalf(string, ...any)
}, ref, hyp []int32) {
	t.Helper()
	pairs := Align(ref, hyp)
	checkPairs(t, ref, hyp, pairs)
	errors := 0
	for _, p := range pairs {
		if p.Op != Hit {
			errors++
		}
	}
	if want := distance(ref, hyp); errors != want {
		t.Fatalf("%d errors between %v and %v, want %d", errors, ref, hyp, want)
	}
}

func TestAlignIsShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.Int32Range(-1, rapid.SampledFrom([]int32{0, 1, 3, 100}).Draw(t, "vocabulary"))
		ref := rapid.SliceOfN(word, 0, 300).Draw(t, "ref")
		hyp := rapid.SliceOfN(word, 0, 200).Draw(t, "hyp")
		checkShortest(t, ref, hyp)
	})
}

// checkSplit fails if a distance that split found is too small, or if one on a
// shortest path is not exact.
func checkSplit(t *testing.T, a *Aligner, ref, hyp []int32, limit int) {
	t.Helper()
	half, n, best := len(hyp)/2, len(ref), distance(ref, hyp)
	left, right := distances(ref, hyp[:half]), distances(reversed(ref), reversed(hyp[half:]))
	a.split(ref, hyp, limit)
	for at := range left {
		l, r := left[at], right[n-at]
		if a.left[at] < l || a.right[n-at] < r {
			t.Fatalf("limit %d: at %d distances %d, %d, want at least %d, %d", limit, at, a.left[at], a.right[n-at], l, r)
		}
		if l+r == best && a.left[at]+a.right[n-at] != best {
			t.Fatalf("limit %d: at %d distances %d, %d, want %d, %d", limit, at, a.left[at], a.right[n-at], l, r)
		}
	}
}

func reversed(s []int32) []int32 {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

// TestBand reduces the width of the table down to the exact distance: the alignment must
// not change.
func TestBand(t *testing.T) {
	for seed := range 40 {
		ref, hyp := makeLong(seed, 150+37*seed, 2+seed%5*7, 20+20*seed)
		var a Aligner
		want := slices.Clone(align(t, &a, ref, hyp))
		a.table.ctx = t.Context()
		exact := distance(ref, hyp)
		for _, limit := range []int{exact, exact + 1, exact + 63, 2 * exact} {
			a.pairs = a.pairs[:0]
			a.align(ref, hyp, 0, 0, limit)
			if !slices.Equal(a.pairs, want) {
				t.Fatalf("seed %d: limit %d of distance %d changes the alignment", seed, limit, exact)
			}
			checkSplit(t, &a, ref, hyp, limit)
		}
	}
}

func TestAlignNegativeWords(t *testing.T) {
	checkShortest(t, []int32{-1 << 31, -1, 0, 1<<31 - 1}, []int32{-1, 0, 5, -1 << 31})
}

func FuzzAlign(f *testing.F) {
	f.Add([]byte("kitten"), []byte("sitting"))
	f.Add([]byte(""), []byte("a"))
	f.Add(slices.Repeat([]byte("ab"), 80), slices.Repeat([]byte("ba"), 40))
	f.Fuzz(func(t *testing.T, ref, hyp []byte) {
		if len(ref)+len(hyp) > 2000 {
			return
		}
		widen := func(b []byte) (w []int32) {
			for _, c := range b {
				w = append(w, int32(c))
			}
			return w
		}
		checkShortest(t, widen(ref), widen(hyp))
	})
}

func BenchmarkAlign(b *testing.B) {
	for _, bm := range []struct {
		name                      string
		words, vocabulary, errors int
	}{{"words20", 20, 1000, 100}, {"chars100", 100, 30, 50}, {"hour_words", 10000, 2000, 100}, {"hour_chars", 60000, 30, 50}} {
		ref, hyp := makeLong(1, bm.words, bm.vocabulary, bm.errors)
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			var a Aligner
			for b.Loop() {
				a.Count(b.Context(), ref, hyp)
			}
		})
	}
}

// TestLong aligns two hundred thousand characters with two thousand errors, which takes
// long in the whole table.
func TestLong(t *testing.T) {
	if testing.Short() {
		t.Skip("needs make test-all: takes seconds")
	}
	rng := rand.New(rand.NewPCG(7, 8))
	ref := make([]int32, 200_000)
	for i := range ref {
		ref[i] = int32(rng.IntN(26))
	}
	hyp := slices.Clone(ref)
	for range 2_000 {
		hyp[rng.IntN(len(hyp))] = 100
	}
	if c := Count(ref, hyp); c.Errors() > 2_000 || c.Errors() < 1_800 {
		t.Errorf("%+v", c)
	}
}
