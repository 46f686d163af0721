// Package synth makes checkpoints of real shape whose text is planted, so that
// speed can be measured on any machine with nothing to download.
//
//	size, α → [Write] → OUT/target, OUT/assistant → package model
//	size → [Open] → a checkpoint in memory with random weights, for benchmarks
//
// # What is planted
//
// Every matrix holds small random numbers, so every kernel does its full work.
// The decoder's token embedding E is random too; its position embedding is not:
//
//	P[p] = 8·E[next(p)] + 2·E[<|0.00|>]      in units 20 times as large as E
//
// The term of the position is so much larger than anything the layers add that the output
// of the last norm is about E[next(p)]. The token whose embedding has the largest product
// with that is next(p) itself. So the choice at a position depends neither on the audio nor
// on the tokens before. The assistant has a next of its own, equal to the
// target's at a share α of the positions of a window, chosen at random.
//
// The second term never wins where next(p) is allowed. It is for the first position of a
// window, where only a timestamp is allowed: see [Options.Tokens].
//
// # Conventions
//
// Checkpoints are in Hugging Face layout, float16, and load in transformers 5.23; their
// tokenizer is the published one of their vocabulary, and is not written. config.json
// says that they are planted; [Planted] reads it. A weight is a hash of its tensor's name
// and its index, so a distilled assistant has exactly the target's encoder. It is written a
// second time, since transformers requires one; package assistant finds that the two are
// equal and holds one.
package synth
