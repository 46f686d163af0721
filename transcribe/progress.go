package transcribe

// progress reports everything before the cursor as done.
func (r *transcription) progress() {
	done := min(seconds(r.at.seek), r.src.Seconds())
	if r.watch.Progress != nil {
		r.watch.Progress(done, r.src.Seconds())
	}
	r.tell(done)
}

// tell reports so many seconds as done, unless an estimate was higher.
func (r *transcription) tell(done float64) {
	if r.watch.Estimate != nil && done >= r.told {
		r.told = done
		r.watch.Estimate(done, r.src.Seconds())
	}
}

// within reports a share of the work on the window at the cursor as done.
func (r *transcription) within(share float64) {
	r.tell(min(seconds(r.at.seek)+share*r.size, r.src.Seconds()))
}

// encoding reports a share of a window's encoding as done: half of the work.
func (r *transcription) encoding(share float64) { r.within(share / 2) }

// decoding reports how many tokens a window has so far: of as many as windows had in the
// mean, or of four a second before there is one.
func (r *transcription) decoding(tokens int) {
	expected := 4 * r.size
	if n := r.stats.Attempts; n > 0 {
		expected = float64(r.stats.Tokens) / float64(n)
	}
	r.within(0.5 + 0.5*min(0.95, float64(tokens)/max(20, expected)))
}
