// Package report turns records into scores, comparisons and pages.
//
//	package eval → [Record], as JSON lines → [Set] → [Score]
//	                     two sets, joined by id → [Comparison]
//	  → terminal table, Markdown, JSON, one self-contained HTML page
//
// A record is everything about one utterance's run, with reference and hypothesis as
// they were. Texts are normalised here, when they are scored, so that old records can
// be scored again. Nothing in this package needs a model.
//
// # Conventions
//
// Times are seconds. Rates are fractions; nothing is rounded before it is printed.
// Rates are derived from sums of counts. A record with an error is counted and named,
// and left out of every rate and every time.
//
// Records are read as a stream, on all processors. A set keeps less than a hundred
// bytes for each utterance, a comparison about three hundred, whatever the utterance's
// length.
//
// # Equality
//
// Two records are identical if their tokens, log-probabilities, no-speech
// probabilities, temperatures, segment times and texts are the same bits. A record
// without a proof holds only the mean log-probability of each window, so a difference
// could cancel out exactly.
package report
