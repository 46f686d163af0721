// Package assistant drafts tokens for the decoder to verify, and runs rounds: draft,
// verify, commit.
//
//	Proposer.Propose ─▶ draft ─▶ Verifier.Choose ─▶ choices
//	       ▲                                          │
//	       └──────── Commit(kept) ◀── agree ──────────┘
//
// Only the verifier's own choices are kept, so the tokens, and everything
// computed from them, are those of plain decoding whatever a proposer drafts.
// Plain decoding is a round with an empty draft: the proposer [None].
//
// round.go is all of it; the other files are what it is handed: model.go, ngram.go,
// bigram.go and text.go draft, the last with place.go, which finds in a text what was said;
// policy.go, auto.go and pace.go decide how much; load.go opens the model that drafts;
// theory.go has what papers expect of rounds.
//
// [Reject], in rejection.go, is a verifier of another kind, classic speculative sampling:
// it keeps the distribution of the tokens, not the tokens.
//
// # A new proposer
//
// Write one type that is a [Drafter], and one that is an [Assistant] and opens it for each
// window; ngram.go is the shortest example. Propose appends at most limit tokens, or none:
// any draft is valid, so a proposer needs no care for the text, only for time and memory.
// Commit gets what was kept, drafted or not. Begin starts over with another prompt, since
// a window may be decoded several times. Embed [None] or [Off] for what it does not need.
// If drafts take time, implement [Meter]; if they are drawn from probabilities,
// [ProbProposer]; a drafter that wraps another passes both on. An error switches it off
// for the rest of the window. Name it in transcribe.Method; TestLossless takes it in a
// line.
//
// A new rule for draft lengths is a [Policy].
//
// Source of the idea: Leviathan, Kalman and Matias 2023, arXiv:2211.17192.
package assistant
