package transcribe

import "verity/transcript"

// Callbacks report on the transcription of one clip. Any field may be nil. They are called in
// order, one at a time, but not always from the same goroutine.
type Callbacks struct {
	// Begin receives, before any segment, the language of the clip, its probability, 0 if it was not detected, and
	// the length of the clip in seconds. It is not called if there is no speech to transcribe.
	Begin func(language string, probability, length float64)

	// Languages receives, before Begin, the probability of each language that the model knows, in the order of its
	// tokenizer. It is not called if the language was given.
	Languages func(probabilities []float32)

	// Segment receives every segment as soon as it is final.
	Segment func(transcript.Segment)

	// Early receives, with Options.Speakers, every segment before its speakers are known. All come again as Segment
	// at the end, with their speakers, and cut where these change.
	Early func(transcript.Segment)

	// Progress receives the seconds of audio that are done, and the length of the clip. At the start of
	// a span it steps back if the last window of the previous span reached beyond that start.
	Progress func(done, total float64)

	// Estimate receives the same as Progress, and estimates within windows: after every layer of the encoder
	// and every round of decoding. It never decreases. It must return quickly, since other windows wait for
	// the threads.
	Estimate func(done, total float64)
}

// reportProgress reports everything before the cursor as done.
func (r *transcription) reportProgress() {
	done := min(seconds(r.cursor.seek), r.src.Seconds())
	if r.cursor.seek >= r.src.Frames() {
		done = r.src.Seconds() // also of what is left after the last whole frame
	}
	if r.callbacks.Progress != nil {
		r.callbacks.Progress(done, r.src.Seconds())
	}
	r.reportEstimate(done)
}

// reportEstimate reports seconds as done, unless an earlier estimate was higher.
func (r *transcription) reportEstimate(done float64) {
	if r.callbacks.Estimate != nil && done >= r.lastEstimate {
		r.lastEstimate = done
		r.callbacks.Estimate(done, r.src.Seconds())
	}
}

// reportShare reports a share of the work on a window as done.
func (r *transcription) reportShare(w *window, share float64) {
	r.reportEstimate(min(w.begin()+share*seconds(w.size), r.src.Seconds()))
}

// reportDecoding reports how many tokens a window has so far, as a share of the second half of the work. It expects
// the mean of the previous windows, or four a second in the first window.
func (r *transcription) reportDecoding(w *window, tokens int) {
	expected := 4 * seconds(w.size)
	if n := r.stats.Attempts; n > 0 {
		expected = float64(r.stats.Tokens) / float64(n)
	}
	r.reportShare(w, 0.5+0.5*min(0.95, float64(tokens)/max(20, expected)))
}
