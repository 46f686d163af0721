package audio

import "slices"

// A strip is the logarithms of the mel powers of consecutive frames, in blocks as an analyzer leaves them. A
// window, which is [bin][frame], is copied from them in runs, not number by number.
type strip struct {
	bins, frames int
	skip         int         // places before the first frame, in every bin of the first block
	blocks       [][]float32 // each [bin][blockFrames]
}

// cut returns the frames from … to-1, in the same memory. Nothing may be added to it.
func (s strip) cut(from, to int) strip {
	if from == to {
		return strip{bins: s.bins}
	}
	at := s.skip + from
	return strip{s.bins, to - from, at % blockFrames, s.blocks[at/blockFrames:]}
}

// each calls f with every run of frames of a bin that lies together in memory: bin, the first frame, and the
// logarithms.
func (s strip) each(f func(bin, frame int, logs []float32)) {
	for t := 0; t < s.frames; {
		block, at := s.blocks[(s.skip+t)/blockFrames], (s.skip+t)%blockFrames
		n := min(blockFrames-at, s.frames-t)
		for b := range s.bins {
			f(b, t, row(block, b)[at:at+n])
		}
		t += n
	}
}

// frame copies the logarithms of frame t to logs.
func (s strip) frame(logs []float32, t int) {
	block, at := s.blocks[(s.skip+t)/blockFrames], (s.skip+t)%blockFrames
	for b := range logs {
		logs[b] = block[b*blockFrames+at]
	}
}

// add appends the frames of x.
func (s *strip) add(x strip) {
	end := s.skip + s.frames
	s.frames += x.frames
	for len(s.blocks)*blockFrames < end+x.frames {
		s.blocks = append(s.blocks, make([]float32, s.bins*blockFrames))
	}
	x.each(func(bin, frame int, logs []float32) {
		for at := end + frame; len(logs) > 0; {
			n := copy(row(s.blocks[at/blockFrames], bin)[at%blockFrames:], logs)
			logs, at = logs[n:], at+n
		}
	})
}

// drop removes the first n frames.
func (s *strip) drop(n int) {
	n += s.skip
	s.frames -= n - s.skip
	s.skip = n % blockFrames
	s.blocks = slices.Delete(s.blocks, 0, n/blockFrames)
}
