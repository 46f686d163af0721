// Package schedule shares one machine among windows that are decoded at the same time:
// both halves of a network are loaded together, windows are encoded one at a time, and
// every pass over the decoder's weights serves all windows that wait for one.
//
//	[Batch.Encode] ─▶ one window at a time, all threads ─┐ take turns
//	[Member.Lend]  ─▶ rows of all members, one pass ─────┘
//
// Nothing here changes a number: a row's logits do not depend on the rows beside it
// (package decoder), and a window's features on nothing but the window.
package schedule
