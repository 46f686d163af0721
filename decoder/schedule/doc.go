// Package schedule shares one machine among windows that are decoded at the same time.
// Windows are encoded one at a time, and every pass over the decoder's weights serves all
// windows that wait for one.
//
//	[Batch.WithAllThreads] ─▶ one window at a time ─────────┐ take turns
//	[Member.StepInto]      ─▶ rows of all members, one pass ─┘
//
// To use it, make a [Batch] with [New]. Each goroutine that decodes a window calls
// [Batch.Join], passes the [Member] to its session as decoder.SessionOptions.Runner, and
// calls [Member.Leave] when it is done.
//
// Nothing here changes a number: a row's logits do not depend on the rows beside it
// (package decoder), and a window's features depend only on the window.
package schedule
