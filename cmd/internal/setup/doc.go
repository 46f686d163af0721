// Package setup turns the flags that commands share (model, assistant, sound, decoding,
// dataset) into what they name.
//
//	ModelFlags.Load → *verity.Model
//	SoundFlags.Clip → *audio.Clip
//	DatasetFlags.Open → Corpus, the utterances of a run
//	OpenDrafts → DraftSource, texts of the sounds to draft from
//	Maker, Identity → transcript.Maker, which says in records what made them
//
// Names, precisions and assistants are resolved by package verity; errors of the library get
// the names of flags here.
package setup
