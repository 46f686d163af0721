package audio

import "slices"

// A strip holds the logarithms of the mel powers of consecutive frames, as an analyzer
// leaves them: [block][bin][blockFrames]. So a window, which is [bin][frame], is made of
// pieces of memory and not of single numbers.
type strip struct {
	bins, frames int
	skip         int // places before the first frame, in every bin of the first block
	data         []float32
}

// cut returns the frames from … to-1, in the same memory. Nothing may be added to it.
func (s strip) cut(from, to int) strip {
	if from == to {
		return strip{bins: s.bins}
	}
	at := s.skip + from
	return strip{s.bins, to - from, at % blockFrames, s.data[at/blockFrames*s.bins*blockFrames:]}
}

// each calls f with every run of frames of a bin that lies together in memory: bin, the
// first frame, and the logarithms.
func (s strip) each(f func(bin, frame int, logs []float32)) {
	for t := 0; t < s.frames; {
		at := s.skip + t
		n := min(blockFrames-at%blockFrames, s.frames-t)
		for b := range s.bins {
			f(b, t, s.data[s.place(b, at):][:n])
		}
		t += n
	}
}

// place returns where a bin is in data at a place, counted from the first block.
func (s strip) place(bin, at int) int {
	return (at/blockFrames*s.bins+bin)*blockFrames + at%blockFrames
}

// frame copies the logarithms of frame t to logs.
func (s strip) frame(logs []float32, t int) {
	for b := range logs {
		logs[b] = s.data[s.place(b, s.skip+t)]
	}
}

// add appends the frames of x.
func (s *strip) add(x strip) {
	end := s.skip + s.frames
	blocks := (end + x.frames + blockFrames - 1) / blockFrames
	if n := blocks * s.bins * blockFrames; n > len(s.data) {
		s.data = slices.Grow(s.data, n-len(s.data))[:n]
	}
	x.each(func(bin, frame int, logs []float32) {
		for at := end + frame; len(logs) > 0; {
			n := copy(s.data[s.place(bin, at):][:blockFrames-at%blockFrames], logs)
			logs, at = logs[n:], at+n
		}
	})
	s.frames += x.frames
}

// drop removes the first n frames.
func (s *strip) drop(n int) {
	all := s.data
	*s = s.cut(n, s.frames)
	s.data = append(all[:0], s.data...)
}
