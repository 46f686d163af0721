package report

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"verity/tokenizer"
	"verity/transcript"
)

var digits = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}

// made returns the records of a run that never was: n utterances of digits, with
// errors here and there and times that depend on the variant alone.
func made(n int, assisted bool) []*Record {
	rng := rand.New(rand.NewPCG(1, 2))
	times := rand.New(rand.NewPCG(3, 4))
	out := make([]*Record, n)
	for i := range out {
		var said, heard []string
		for range 2 + rng.IntN(9) {
			w := digits[rng.IntN(10)]
			said = append(said, w)
			switch x := rng.IntN(40); {
			case x == 0:
			case x == 1:
				heard = append(heard, w, digits[rng.IntN(10)])
			case x < 4:
				heard = append(heard, digits[rng.IntN(10)])
			default:
				heard = append(heard, w)
			}
		}
		r := &Record{
			ID: fmt.Sprintf("test/speaker-%02d/%04d.flac", i%7, i), Language: "en", Duration: 0.7 * float64(len(said)),
			Reference: strings.Join(said, " "), Hypothesis: strings.Join(heard, " "),
		}
		tokens := make([]tokenizer.Token, len(heard)+2)
		for j := range tokens {
			tokens[j] = tokenizer.Token(rng.IntN(424))
		}
		r.Segments = []transcript.Segment{{End: r.Duration, Text: " " + r.Hypothesis, Tokens: tokens, AvgLogProb: -rng.Float64(), NoSpeechProb: rng.Float64() / 100}}
		r.Run = transcript.Provenance{Program: "test", Model: "demo", Dataset: "digits", Machine: "linux/amd64, 2 threads", Options: map[string]string{"language": "en"}}
		spend(r, times, assisted)
		out[i] = r
	}
	return out
}

// spend fills in the times of a record and what drafting did.
func spend(r *Record, rng *rand.Rand, assisted bool) {
	steps := len(r.Segments[0].Tokens) + 1
	s := &r.Seconds
	s.Mel, s.Encode, s.CrossKV = 0.002, 0.012+0.002*rng.Float64(), 0.003
	r.Work = transcript.Work{Windows: 1, Attempts: 1, Tokens: steps}
	step := 0.004 * (1 + 0.1*rng.Float64())
	jitter, share := rng.Float64(), rng.Float64()
	if !assisted {
		r.Drafting = transcript.Drafts{Rounds: steps, Tokens: steps, Histogram: []int{steps}}
		s.Verify = step * float64(steps)
	} else {
		r.Run.Assistant = "demo"
		d := transcript.Drafts{Tokens: steps, Histogram: make([]int, 6)}
		for left := steps; left > 0; {
			n := min(left-1, int(3.3+2*share)-rng.IntN(3))
			n = max(n, 0)
			d.Rounds, d.Drafted, d.Accepted = d.Rounds+1, d.Drafted+5, d.Accepted+n
			d.Histogram[n]++
			left -= n + 1
		}
		r.Drafting = d
		s.Draft = 0.0006 * float64(d.Drafted) / 5 * (1 + 0.2*jitter)
		s.Verify = step * 1.2 * float64(d.Rounds)
	}
	s.Decode = s.Draft + s.Verify + 0.0004
	s.Total = s.Mel + s.Encode + s.CrossKV + s.Decode + 0.0005
}

// compared returns the comparison of two made runs, change having been applied to
// the assisted one.
func compared(t *testing.T, n int, change func(assisted []*Record)) *Document {
	t.Helper()
	a, err := NewSet("baseline", "basic")
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewSet("assisted", "basic")
	if err != nil {
		t.Fatal(err)
	}
	baseline, assisted := made(n, false), made(n, true)
	if change != nil {
		change(assisted)
	}
	p := NewPairs(a, b)
	for i := range baseline {
		pair(t, p, baseline[i], assisted[i])
	}
	return NewDocument([]*Set{a, b}, []*Pairs{p})
}

// pair adds records to both sets.
func pair(t *testing.T, p *Pairs, baseline, assisted *Record) {
	t.Helper()
	if err := errors.Join(p.Baseline.Add(t.Context(), baseline), p.Assisted.Add(t.Context(), assisted)); err != nil {
		t.Fatal(err)
	}
}
