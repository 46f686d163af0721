package transcribe

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
