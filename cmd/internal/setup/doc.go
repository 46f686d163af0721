// Package setup turns the flags that commands share (model, assistant, sound, decoding,
// dataset) into models, clips and corpora.
//
//	ModelFlags.Load → *verity.Model
//	SoundFlags.Clip → *audio.Clip
//	DatasetFlags.Open → Corpus, the utterances of a run
//	OpenDrafts → DraftSource, which has a text to draft from for each sound
//	Maker, Identity → transcript.Provenance, which records what made a transcript
//
// Package verity resolves names, precisions and assistants. Package setup adds the names of
// flags to the library's errors.
package setup
