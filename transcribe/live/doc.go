// Package live transcribes sound while it arrives. Confirmed text grows and is never
// changed.
//
//	samples → [Stream] → utterances → [Utterance.Pass], repeated → confirmed words
//
// A Stream finds where speech begins and ends. While an utterance goes on, it is
// transcribed again each time there is more of it. A word is confirmed when two
// successive passes agree on it (LocalAgreement-2: Macháček, Dabre, Bojar, "Turning
// Whisper into Real-Time Transcription System", 2023, section 2; whisper_streaming's
// HypothesisBuffer). The words after it are tentative. The last pass, over the whole
// utterance, confirms the rest.
//
// Memory is bounded. In a long utterance, the sound before a confirmed word is dropped,
// and only the end of its text is kept as context for later passes.
//
// Times are seconds from the start of the utterance. Positions are samples at
// audio.SampleRate.
package live
