package wer

// Counts says how many reference and hypothesis words an alignment matched. The
// zero value is that of two empty texts.
type Counts struct {
	Hits int // in both
	Subs int // another word in the hypothesis
	Dels int // missing from the hypothesis
	Ins  int // only in the hypothesis
}

// Plus returns the counts of two texts taken together.
func (c Counts) Plus(d Counts) Counts {
	return Counts{c.Hits + d.Hits, c.Subs + d.Subs, c.Dels + d.Dels, c.Ins + d.Ins}
}

// Errors returns the edit distance: substitutions, deletions and insertions.
func (c Counts) Errors() int { return c.Subs + c.Dels + c.Ins }

// Ref returns the number of words in the reference.
func (c Counts) Ref() int { return c.Hits + c.Subs + c.Dels }

// Hyp returns the number of words in the hypothesis.
func (c Counts) Hyp() int { return c.Hits + c.Subs + c.Ins }

// Rate returns errors per reference word: the word error rate, or the character
// error rate if characters were counted. For an empty reference it is the
// number of insertions.
func (c Counts) Rate() float64 { return rate(c.Errors(), c.Ref()) }

// rate is errors/ref, with jiwer's answer for an empty reference.
func rate(errors, ref int) float64 { return float64(errors) / float64(max(ref, 1)) }

// InsertionRate returns insertions per reference word, the part of [Counts.Rate] that a
// model invents; it is high when a decoder hallucinates or loops. For an empty reference
// it is the number of insertions.
func (c Counts) InsertionRate() float64 { return rate(c.Ins, c.Ref()) }

// MER returns the match error rate, errors per aligned pair: the chance that a
// pair is wrong, so never above 1. It is 0 for two empty texts.
func (c Counts) MER() float64 { return rate(c.Errors(), c.Hits+c.Errors()) }

// WIP returns the word information preserved, hits² / (reference · hypothesis
// words). It is 1 for two empty texts and 0 if only one of them is empty.
//
// Source: Morris, Maier & Green 2004, "From WER and RIL to MER and WIL".
func (c Counts) WIP() float64 {
	switch {
	case c.Ref() == 0 && c.Hyp() == 0:
		return 1
	case c.Ref() == 0 || c.Hyp() == 0:
		return 0
	}
	return float64(c.Hits) / float64(c.Ref()) * (float64(c.Hits) / float64(c.Hyp()))
}

// WIL returns the word information lost, 1 - WIP.
func (c Counts) WIL() float64 { return 1 - c.WIP() }
