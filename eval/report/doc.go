// Package report turns records into scores, comparisons and pages.
//
//	package eval → [Record], as JSON lines → [Set] → [Score]
//	                     two sets, joined by id → [Comparison]
//	  → terminal table, JSON, one self-contained HTML page
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
// Records are read and scored on all processors, and kept in memory: some 2 kB for each utterance. For more than a few
// hundred thousand, verity-beam scores where the records are.
//
// # Equality
//
// Two records are identical if these are the same bits: every token, log-probability,
// no-speech probability and temperature of every attempt at every window, refused and
// silent ones included; mean log-probability, compression ratio, start, end and text of
// every segment; text and language. The first are in a record as two hashes
// ([transcript.ChoiceHashes]); older records have none and are compared by the rest and their tokens.
package report
