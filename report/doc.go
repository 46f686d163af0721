// Package report turns records into scores, comparisons and pages.
//
//	package eval → [Record], as JSON lines → [Set] → [Score]
//	                     two sets, joined by id → [Comparison]
//	  → terminal table, Markdown, JSON, one self-contained HTML page
//
// A record is everything about one utterance's run, with text as it was spoken
// and as it came out. Texts are normalised here, when they are scored, so that old
// records can be scored anew. Nothing in this package needs a model.
//
// # Conventions
//
// Times are seconds. Rates are fractions and nothing is rounded before it is
// printed. Counts are kept and rates derived from their sums. A record that says
// an error is counted and named, and left out of every rate and every time.
//
// Records are read as a stream, by all processors; what is kept for each utterance
// is less than a hundred bytes, in a comparison some three hundred, whatever its
// length.
//
// # Equality
//
// Two records are identical if their tokens, log-probabilities, no-speech
// probabilities, temperatures, segment times and texts are the same bits. What a
// record has for a log-probability is the mean over each window, from which an
// unequal token score could vanish only by an exact cancellation.
package report
