package decoder

import (
	"verity/internal/kernel"
	"verity/tokenizer"
)

// Uniform returns a number in [0, 1) that is a pure function of the key, n and which,
// independent of the noise of choices. Speculative sampling by rejection needs it.
func (s Sampling) Uniform(n, which int) float64 {
	const apart = 0x5bd1e995_9e3779b9 // from the noise of a position
	bits := mix(mix(mix(s.key()^apart)+uint64(n)) + uint64(which))
	return float64(bits>>11) / (1 << 53)
}

// probs appends to dst the probability with which choose would pick each token at a
// temperature.
func (c *chooser) probs(dst, logits []float32, temperature float32) []float32 {
	from := len(dst)
	dst = append(dst, logits...)
	p := dst[from:]
	top, best := kernel.Max(logits)
	if temperature == 0 || top == negInf {
		clear(p)
		if top > negInf {
			p[best] = 1
		}
		return dst
	}
	at := *c
	at.temperature = temperature
	last := at.last(logits)
	c.order = at.order // its memory
	for i, l := range logits {
		if l == negInf || rank(l, i) > last {
			p[i] = negInf
		} else {
			p[i] = l / temperature
		}
	}
	kernel.Softmax(p)
	return dst
}

// AppendProbs appends to dst the probability with which each token of the vocabulary
// would have been chosen at position i of the last Choose, had it been at that
// temperature; zeros if the rules forbid every one.
func (s *Session) AppendProbs(dst []float32, i int, temperature float32) []float32 {
	return s.pick.probs(dst, s.ruled(i), temperature)
}

// LogProb returns what the log-probability at position i of the last Choose would be, had
// t been chosen there.
func (s *Session) LogProb(i int, t tokenizer.Token) float32 {
	row := s.ruled(i)
	return row[t] - kernel.LogSumExp(row)
}

// ruled returns the logits at position i of the last Choose, after the rules.
func (s *Session) ruled(i int) []float32 {
	vocab, row := s.d.dims.Vocab, len(s.read)/s.d.dims.Vocab-len(s.choices)+i
	return s.read[row*vocab : (row+1)*vocab]
}
