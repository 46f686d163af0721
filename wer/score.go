package wer

import (
	"context"
	"strings"
	"unicode"
)

// A Score is what one utterance adds to a corpus.
type Score struct {
	Words Counts
	Chars Counts
	Exact bool // no word error
	// Repeats counts the five-word runs of the hypothesis that already occurred in it:
	// few in speech, many in a decoder's loop.
	Repeats int
}

// repeatLength is the n of the repeated n-grams that [Score] counts.
//
// Source: Gandhi, von Platen & Rush 2023, "Distil-Whisper", arXiv:2311.00430,
// section 5.3, 5-gram duplicates.
const repeatLength = 5

// A Scorer compares hypotheses with references, normalised by its caller. It reuses its
// memory and must not be used by two goroutines at once. The zero value is ready.
type Scorer struct {
	words    Vocabulary
	aligner  Aligner
	ref, hyp []int32
}

// maxVocabulary is the number of distinct words after which a Scorer starts a new vocabulary:
// numbers need to agree only within one utterance.
const maxVocabulary = 1 << 16

// Score compares one utterance. The error is the cause that ended ctx.
func (s *Scorer) Score(ctx context.Context, ref, hyp string) (Score, error) {
	s.number(ref, hyp)
	words, err := s.aligner.Count(ctx, s.ref, s.hyp)
	if err != nil {
		return Score{}, err
	}
	again := repeats(s.hyp)
	s.ref, s.hyp = Characters(s.ref[:0], ref), Characters(s.hyp[:0], hyp)
	chars, err := s.aligner.Count(ctx, s.ref, s.hyp)
	if err != nil {
		return Score{}, err
	}
	return Score{words, chars, words.Errors() == 0, again}, nil
}

// number gives the words of two texts their numbers.
func (s *Scorer) number(ref, hyp string) {
	if s.words.Len() > maxVocabulary {
		s.words = Vocabulary{}
	}
	s.ref, s.hyp = s.words.Words(s.ref[:0], ref), s.words.Words(s.hyp[:0], hyp)
}

// Words calls each with every pair of the alignment of two texts. A missing word is empty. The
// error is the cause that ended ctx.
func (s *Scorer) Words(ctx context.Context, ref, hyp string, each func(op Op, ref, hyp string)) error {
	s.number(ref, hyp)
	pairs, err := s.aligner.Align(ctx, s.ref, s.hyp)
	for _, p := range pairs {
		r, h := "", ""
		if p.Op != Ins {
			r = s.words.Word(s.ref[p.Ref])
		}
		if p.Op != Del {
			h = s.words.Word(s.hyp[p.Hyp])
		}
		each(p.Op, r, h)
	}
	return err
}

// repeats returns how many runs of repeatLength words occurred earlier in text.
func repeats(text []int32) (n int) {
	seen := map[[repeatLength]int32]bool{}
	for i := range len(text) - repeatLength + 1 {
		run := [repeatLength]int32(text[i:])
		if seen[run] {
			n++
		}
		seen[run] = true
	}
	return n
}

// A Corpus adds scores up. The zero value is empty and ready.
type Corpus struct {
	Words   Counts
	Chars   Counts
	Exact   int  // utterances without a word error
	Repeats int  // see [Score]
	Bins    Bins // for the interval
}

// Bins count the utterances with the same numbers of errors and reference words. There
// are far fewer different ones than utterances, and resampling needs no more.
type Bins map[Bin]int

// A Bin is the part of an utterance that resampling needs.
type Bin struct{ Errors, Ref int32 }

// Add adds one utterance.
func (c *Corpus) Add(s Score) {
	c.Words = c.Words.Plus(s.Words)
	c.Chars = c.Chars.Plus(s.Chars)
	c.Repeats += s.Repeats
	if s.Exact {
		c.Exact++
	}
	if c.Bins == nil {
		c.Bins = Bins{}
	}
	c.Bins[Bin{int32(s.Words.Errors()), int32(s.Words.Ref())}]++
}

// Len returns the number of utterances.
func (c *Corpus) Len() int {
	n := 0
	for _, k := range c.Bins {
		n += k
	}
	return n
}

// A Vocabulary gives every distinct word a number, in the order they first
// appear. The zero value is empty and ready. It grows with the number of distinct
// words and must not be used by two goroutines at once.
type Vocabulary struct {
	ids   map[string]int32
	words []string
}

// Words appends the numbers of the words of text, separated by white space, to
// dst.
func (v *Vocabulary) Words(dst []int32, text string) []int32 {
	for word := range strings.FieldsSeq(text) {
		dst = append(dst, v.id(word))
	}
	return dst
}

// Word returns the word numbered id. It panics if there is none.
func (v *Vocabulary) Word(id int32) string { return v.words[id] }

// Len returns how many distinct words v holds.
func (v *Vocabulary) Len() int { return len(v.words) }

func (v *Vocabulary) id(word string) int32 {
	if id, ok := v.ids[word]; ok {
		return id
	}
	if v.ids == nil {
		v.ids = make(map[string]int32)
	}
	id := int32(len(v.words))
	word = strings.Clone(word) // do not keep the whole text alive
	v.ids[word] = id
	v.words = append(v.words, word)
	return id
}

// Characters appends the code points of text to dst, without the white space at
// its ends. White space inside counts, as in jiwer. Bytes that are not UTF-8
// count as U+FFFD each.
func Characters(dst []int32, text string) []int32 {
	for _, r := range strings.TrimFunc(text, unicode.IsSpace) {
		dst = append(dst, r)
	}
	return dst
}

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

// Sum returns the counts of several texts taken together.
func Sum(all []Counts) (sum Counts) {
	for _, c := range all {
		sum = sum.Plus(c)
	}
	return sum
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
