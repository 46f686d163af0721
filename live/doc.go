// Package live turns sound that is still arriving into text that grows and is never
// taken back.
//
//	samples → [Ear] → utterances → [Utterance.Pass], again and again → confirmed words
//
// An Ear hears where speech begins and ends. While an utterance goes on, it is
// transcribed again each time there is more of it. Words are confirmed when two passes
// in succession agree on them (LocalAgreement-2: Macháček, Dabre, Bojar, "Turning
// Whisper into Real-Time Transcription System", 2023, section 2; whisper_streaming's
// HypothesisBuffer). What lies behind them is tentative. The last pass, over all of the
// utterance, confirms the rest.
//
// Sound and text are bounded: of an utterance that goes on, what lies before a confirmed
// word is forgotten, apart from the text that later passes are shown.
//
// Times are seconds from the start of the utterance, places are samples at
// audio.SampleRate.
package live
