package transcribe

// A meter estimates the progress within a window, for display only.
type meter struct {
	size float64 // seconds of audio in the window
	seek float64 // seconds of audio before it
	told float64 // last value given to Within
}

// progress reports everything before the cursor as done.
func (r *transcription) progress() {
	total := r.src.Seconds()
	done := min(seconds(r.at.seek), total)
	if r.watch.Progress != nil {
		r.watch.Progress(done, total)
	}
	// A window may end before the estimate did; a span may begin before the last one.
	if r.meter.told = max(r.meter.told, done); done < r.meter.seek {
		r.meter.told = done
	}
	r.meter.seek = done
	if r.watch.Within != nil {
		r.watch.Within(r.meter.told, total)
	}
}

// within reports a share of the work on the window at the cursor as done.
func (r *transcription) within(share float64) {
	if r.watch.Within == nil {
		return
	}
	total := r.src.Seconds()
	done := min(seconds(r.at.seek)+share*r.meter.size, total)
	if done > r.meter.told {
		r.meter.told = done
		r.watch.Within(done, total)
	}
}

// encoding reports a share of a window's encoding as done.
func (r *transcription) encoding(share float64) { r.within(share * r.encodingShare()) }

// encodingShare is the share of encoding in the work on a window: as measured so far,
// or one half before the first window is done.
func (r *transcription) encodingShare() float64 {
	s := r.stats.Seconds
	encode := s.Encode + s.CrossKV
	if r.stats.Windows == 0 || !(encode+s.Decode > 0) {
		return 0.5
	}
	return encode / (encode + s.Decode)
}

// decoding reports how many tokens a window has so far.
func (r *transcription) decoding(tokens int) {
	const perSecond = 4 // of speech, before there is a mean
	expected := max(20, perSecond*r.meter.size)
	if n := r.stats.Attempts; n > 0 {
		expected = max(20, float64(r.stats.Tokens)/float64(n))
	}
	encoded := r.encodingShare()
	r.within(encoded + (1-encoded)*min(0.95, float64(tokens)/expected))
}
