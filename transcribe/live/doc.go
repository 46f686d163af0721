// Package live turns sound into words while it arrives. The sound is samples, or anything with a
// Read of samples. Confirmed words are final; a tentative tail may still change.
//
//	t, err := live.New(model, transcribe.Options{Language: "en"})
//	…
//	for r, err := range t.Listen(ctx, sound, live.DefaultTurns()) {
//		if err != nil {
//			return err
//		}
//		for _, w := range r.Confirmed {
//			fmt.Print(w.Word)
//		}
//	}
//
// A [Stream] divides the sound into utterances, by a speech detector or where Commit is
// called. An [Utterance] is transcribed again each time it has grown. A word is confirmed when
// two successive passes agree on it. The last pass, over the whole utterance, confirms the
// rest. [Transcriber.Listen] does all this; a server that shares its model uses Stream and
// Utterance itself.
//
// With transcribe.Options.Speakers, the words of an utterance have the names of their speakers when it has ended: of the
// nearest voices until then. When the sound has ended, all of it is compared anew, as in a file. The two may differ
// where a voice was new or said little.
//
// Without speakers, memory is bounded: in a long utterance, sound before a confirmed word is dropped, and only
// the end of its text stays as context. Times are seconds from the start of the utterance;
// positions are samples at audio.SampleRate.
//
// Source: LocalAgreement-2 of Macháček, Dabre, Bojar 2023, "Turning Whisper into Real-Time
// Transcription System", section 2; ufal/whisper_streaming, HypothesisBuffer.
package live
