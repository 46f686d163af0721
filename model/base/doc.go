// Package base holds the model that lies inside the program: openai's multilingual
// Whisper base in int8, 99 languages and translation into English.
//
//	[Base] → model.OpenFS
//
// Whoever imports this package can open it by the name base, with verity.Open.
//
// README.md beside this file is the model card: where the weights come from, how
// they were rounded, and its error rates. make.sh makes the
// file anew, bit for bit. Built with -tags nomodel, the program has no model inside.
package base
