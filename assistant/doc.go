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
// # Who is who
//
//	lives as long as     drafts                              decides how much
//	the loaded model     Assistant: Model, NGram, Bigram     Auto for these, Pace for texts
//	a clip               TextProposer, of a Text
//	a window             Drafter, which an Assistant opens   a Policy
//	an attempt at it     the same, after Begin
//	a round              Propose, then Commit                Length, More, then Observe
//
// Where a clip has a text, a [TextThenModel] is both proposer and policy: it drafts from the text,
// and where that has nothing, from the drafter.
//
// # Files
//
//	round.go             the round, and what it asks of both sides: begin to read here
//	model.go, load.go    an assistant with a decoder of its own; whether it fits its target
//	ngram.go, bigram.go  assistants that look at the tokens so far
//	text.go              a text of a clip, and the part of it that a window may say
//	aligner.go           which letter of that part was said last, by edit distance
//	follower.go          tokens and timestamps that come after it
//	guide.go             the text first, then the model
//	policy.go            lengths of drafts by rule
//	auto.go, pace.go     and by measured times, for models and for texts; averages.go
//	rejection.go         verifiers that look at probabilities: [Reject] is classic speculative
//	                     sampling, which keeps the distribution of the tokens, not the tokens
//	theory.go            what papers expect of rounds
//
// # A new proposer
//
// Write one type that is a [Drafter], and one that is an [Assistant] and opens it for each
// window; ngram.go is the shortest example. Propose appends at most limit tokens, or none:
// any draft is valid, so a proposer needs no care for the text, only for time and memory.
// Commit gets what was kept, drafted or not. Begin starts over with another prompt, since
// a window may be decoded several times. Embed [None] for what it does not need.
// If drafts take time, implement [CostReporter]; if they are drawn from probabilities,
// [ProbProposer]; a drafter that wraps another passes both on. An error switches it off
// for the rest of the window. Name it in transcribe.Method; TestLossless takes it in a
// line.
//
// A new rule for draft lengths is a [Policy].
//
// Source of the idea: Leviathan, Kalman and Matias 2023, arXiv:2211.17192.
package assistant
