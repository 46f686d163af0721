// Package wer counts the differences between what was said and what was
// recognised, and derives error rates from the counts.
//
//	reference, hypothesis → normalise → words as ints → [Align] → [Counts] → rates, intervals
//
// A [Scorer] does that for one utterance at a time. A [Corpus] adds the scores up and
// keeps two small numbers per utterance for the confidence interval. Text normalisers are
// in wer/normalize; any func(string) string will do.
//
// # Conventions
//
// Words and characters are interned int32, so no alphabet is too large. Counts are kept
// and rates derived; nothing here rounds. Rates are fractions, 0.05 and not 5, and may
// exceed 1.
//
// # Empty references
//
// With no reference words at all, the word error rate is the number of words
// inserted (there is nothing to divide by), the match error rate and the
// information lost are 1 if there were any, and all three are 0 if not. Over a
// corpus the words are added up first, so an empty utterance only adds its
// insertions.
//
// # Upstream
//
// Rates, the empty cases and the choice among equally short alignments follow
// jiwer 4.0.0 with RapidFuzz 3.14.6, which also wrote testdata/jiwer.jsonl.gz
// (tools/reference/wer_goldens.py). The choice matters: "a b" against "b c" is
// two substitutions or one deletion, one hit and one insertion, and only the sum
// of errors is the same. One difference remains in how a text becomes words: any
// run of white space separates them here, where jiwer's default does not split
// at a single tab or newline.
package wer
