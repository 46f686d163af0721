package wer

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

// A golden is one case of testdata/jiwer.jsonl.gz; tools/reference/wer_goldens.py
// says what its kinds mean.
type golden struct {
	Kind   string
	Ref    any // a text, or a list of texts
	Hyp    any
	Counts [4]int    // hits, substitutions, deletions, insertions
	Rates  []float64 // wer, mer, wil; or cer
	Chunks [][5]any
	Make   [4]int // of a long case: seed, words, vocabulary, errors in 1000
	Hash   string // of its chunks
}

func loadGoldens(t testing.TB) []golden {
	f, err := os.Open("testdata/jiwer.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	lines.Scan()
	t.Logf("goldens: %s", lines.Text())
	var cases []golden
	for lines.Scan() {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, g)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestJiwer(t *testing.T) {
	n := map[string]int{}
	for i, g := range loadGoldens(t) {
		n[g.Kind]++
		name := fmt.Sprintf("case %d, %s", i, g.Kind)
		switch g.Kind {
		case "words", "chars", "long":
			ref, hyp := g.texts()
			checkGolden(t, name, g, ref, hyp)
		case "corpus":
			var c Corpus
			var s Scorer
			refs, hyps := g.Ref.([]any), g.Hyp.([]any)
			for k := range refs {
				c.Add(scored(t, &s, refs[k].(string), hyps[k].(string)))
			}
			checkRates(t, name, g, c.Words)
		default:
			t.Errorf("%s: unknown kind", name)
		}
	}
	t.Logf("cases: %v", n)
	for _, kind := range []string{"words", "chars", "long", "corpus"} {
		if n[kind] == 0 {
			t.Errorf("no goldens of kind %s", kind)
		}
	}
}

func (g golden) texts() (ref, hyp []int32) {
	if g.Kind == "long" {
		return makeLong(g.Make[0], g.Make[1], g.Make[2], g.Make[3])
	}
	r, h := g.Ref.(string), g.Hyp.(string)
	if g.Kind == "chars" {
		return Characters(nil, r), Characters(nil, h)
	}
	var v Vocabulary
	return v.Words(nil, r), v.Words(nil, h)
}

func checkGolden(t *testing.T, name string, g golden, ref, hyp []int32) {
	pairs := Align(ref, hyp)
	checkPairs(t, ref, hyp, pairs)
	checkRates(t, name, g, Count(ref, hyp))
	got := chunks(pairs)
	if g.Kind == "long" {
		var b strings.Builder
		for _, c := range got {
			fmt.Fprintln(&b, c[:]...)
		}
		if sum := sha256.Sum256([]byte(b.String())); hex.EncodeToString(sum[:]) != g.Hash {
			t.Errorf("%s %v: %d chunks with another hash than jiwer's", name, g.Make, len(got))
		}
		return
	}
	if len(got) != len(g.Chunks) || len(got) > 0 && !reflect.DeepEqual(got, g.Chunks) {
		t.Errorf("%s: %q, %q\n got %v\nwant %v", name, g.Ref, g.Hyp, got, g.Chunks)
	}
}

func checkRates(t *testing.T, name string, g golden, c Counts) {
	t.Helper()
	if got := [4]int{c.Hits, c.Subs, c.Dels, c.Ins}; got != g.Counts {
		t.Errorf("%s: counts %v, want %v", name, got, g.Counts)
	}
	got := []float64{c.Rate(), c.MER(), c.WIL()}[:len(g.Rates)]
	for i, want := range g.Rates {
		if !(math.Abs(got[i]-want) <= 1e-15*math.Max(1, want)) { // a few roundings of a quotient
			t.Errorf("%s: rates %v, want %v", name, got, g.Rates)
		}
	}
}

// chunks groups pairs the way jiwer prints them, numbers as JSON has them.
func chunks(pairs []Pair) [][5]any {
	letters := [...]string{Hit: "e", Sub: "s", Del: "d", Ins: "i"}
	var out [][5]any
	for i := 0; i < len(pairs); {
		from := i
		for i < len(pairs) && pairs[i].Op == pairs[from].Op {
			i++
		}
		p, q := pairs[from], pairs[i-1]
		refEnd, hypEnd := q.Ref+1, q.Hyp+1
		switch p.Op {
		case Del:
			hypEnd--
		case Ins:
			refEnd--
		}
		out = append(out, [5]any{letters[p.Op], float64(p.Ref), float64(refEnd), float64(p.Hyp), float64(hypEnd)})
	}
	return out
}

// makeLong is make_long of wer_goldens.py.
func makeLong(seed, words, vocabulary, errors int) (ref, hyp []int32) {
	x := uint32(seed)
	below := func(n int) int {
		x = x*1664525 + 1013904223
		return int(uint64(x>>8) * uint64(n) >> 24)
	}
	for range words {
		w := int32(below(vocabulary))
		ref = append(ref, w)
		kind := 3
		if below(1000) < errors {
			kind = below(3)
		}
		switch kind {
		case 0:
			hyp = append(hyp, int32(below(vocabulary)))
		case 2:
			hyp = append(hyp, w, int32(below(vocabulary)))
		case 3:
			hyp = append(hyp, w)
		}
	}
	return ref, hyp
}
