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

// reportShare reports a share of the work on the window at the cursor as done.
func (r *transcription) reportShare(share float64) {
	r.reportEstimate(min(seconds(r.cursor.seek)+share*r.windowSeconds, r.src.Seconds()))
}

// reportEncoding reports a share of a window's encoding as done: half of the work.
func (r *transcription) reportEncoding(share float64) { r.reportShare(share / 2) }

// reportDecoding reports how many tokens a window has so far. It expects the mean of the previous
// windows, or four a second in the first window.
func (r *transcription) reportDecoding(tokens int) {
	expected := 4 * r.windowSeconds
	if n := r.stats.Attempts; n > 0 {
		expected = float64(r.stats.Tokens) / float64(n)
	}
	r.reportShare(0.5 + 0.5*min(0.95, float64(tokens)/max(20, expected)))
}
