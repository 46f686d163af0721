// Package setup turns the flags that commands share (model, assistant, sound, decoding,
// dataset) into what they name.
//
//	ModelFlags.Load → Model, which is ready for work
//
// model and assistant load networks, which locate finds or downloads; sound opens clips,
// dataset the utterances of a run, draft what somebody wrote of a sound. identity says in
// records what made them.
package setup
