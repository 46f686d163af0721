// Package assistant drafts tokens for the decoder to verify, and runs rounds: draft,
// verify, commit.
//
//	Proposer.Propose ─▶ draft ─▶ Verifier.Choose ─▶ choices
//	       ▲                                          │
//	       └──────── Commit(kept) ◀── agree ──────────┘
//
// Only the verifier's own choices are kept. So the tokens, and everything computed from
// them, are those of plain decoding whatever a proposer drafts. Plain decoding is a round
// with an empty draft: the proposer [None].
//
// # What lives how long
//
//	as long as           the proposer                        its draft lengths
//	the loaded model     Assistant: Model, NGram, Bigram     Auto for these, TextPolicy for texts
//	a clip               TextProposer, of a ReferenceText
//	a window             Drafter, which an Assistant opens   a Policy
//	an attempt at it     the same, after Begin
//	a round              Propose, then Commit                Length, More, then Observe
//
// For a clip with a text, a [TextThenModel] is both proposer and policy: it drafts from the
// text, or from the drafter where the text determines nothing.
//
// [RejectionVerifier] is classic speculative sampling: it preserves the distribution of the
// tokens, not the tokens. [Theory] has the formulas of the papers.
//
// # A new proposer
//
// Write two types: a [Drafter], and an [Assistant] that opens one for each window. NGram is
// the shortest example. Propose appends at most limit tokens, or none. Any draft is valid,
// so a proposer affects only time and memory, never the text. Commit passes on the tokens
// that were kept, drafted or not. Begin starts again with another prompt, since a window may
// be decoded several times. Embed [None] for the methods it does not need.
//
// If drafts take time, implement [CostReporter]; if they are drawn from probabilities,
// [ProbProposer]. A drafter that wraps another passes both on. After an error the drafter is
// not used for the rest of the window. Add a name to transcribe.Method, and a line to
// TestLossless.
//
// A new rule for draft lengths is a [Policy].
//
// Source of the idea: Leviathan, Kalman and Matias 2023, arXiv:2211.17192.
package assistant
