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
// [Rejection] is a verifier of another kind, classic speculative sampling: it
// keeps the distribution of the tokens, not the tokens.
//
// Source of the idea: Leviathan, Kalman and Matias 2023, arXiv:2211.17192.
package assistant
