package wer_test

import (
	"context"
	"fmt"
	"strings"

	"verity/wer"
)

func ExampleScorer() {
	var s wer.Scorer
	var c wer.Corpus
	for _, u := range [][2]string{{"the cat sat on the mat", "The cat sat on a mat"}, {"good morning", "good morning"}} {
		score, err := s.Score(context.Background(), u[0], strings.ToLower(u[1]))
		if err != nil {
			fmt.Println(err)
			return
		}
		c.Add(score)
	}
	fmt.Printf("WER %.1f%%, CER %.1f%%, %d of %d exact\n", 100*c.Words.Rate(), 100*c.Chars.Rate(), c.Exact, c.Len())
	fmt.Printf("%+v\n", c.Words)
	// Output:
	// WER 12.5%, CER 8.8%, 1 of 2 exact
	// {Hits:7 Subs:1 Dels:0 Ins:0}
}

func ExampleAlign() {
	var v wer.Vocabulary
	ref := v.Words(nil, "quite a bit of longer sentence")
	hyp := v.Words(nil, "quite bit of an even longest sentence here")
	for _, p := range wer.Align(ref, hyp) {
		switch p.Op {
		case wer.Hit, wer.Sub:
			fmt.Println(p.Op, v.Word(ref[p.Ref]), v.Word(hyp[p.Hyp]))
		case wer.Del:
			fmt.Println(p.Op, v.Word(ref[p.Ref]))
		case wer.Ins:
			fmt.Println(p.Op, v.Word(hyp[p.Hyp]))
		}
	}
	// Output:
	// hit quite quite
	// del a
	// hit bit bit
	// hit of of
	// ins an
	// ins even
	// sub longer longest
	// hit sentence sentence
	// ins here
}

func ExampleDifference() {
	var v wer.Vocabulary
	ref := v.Words(nil, "one two three four")
	var baseline, system []wer.Counts
	for range 50 {
		baseline = append(baseline, wer.Count(ref, v.Words(nil, "one two tree four")))
		system = append(system, wer.Count(ref, v.Words(nil, "one two three four")))
	}
	d := wer.Difference(system, baseline)
	fmt.Printf("%+.2f to %+.2f\n", d.Low, d.High)
	// Output:
	// -0.25 to -0.25
}
