package report

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"

	"verity/transcript"
	"verity/wer"
)

// A digest is what a comparison keeps of a record.
type digest struct {
	id, text string // its text, or why there is none
	failed   bool
	hashes   [3][16]byte // of tokens, log-probabilities and segments
	duration float64
	seconds  transcript.Seconds
	words    wer.Counts
	scored   bool
}

func digestOf(r *Record, of wer.Counts) digest {
	d := digest{id: r.ID, text: words(r), failed: r.Error != "", duration: r.Duration, seconds: r.Seconds,
		words: of, scored: !r.NoReference}
	tokens, logProbs, segments := sha256.New(), sha256.New(), sha256.New()
	for _, s := range r.Segments {
		number(tokens, uint64(len(s.Tokens)))
		for _, t := range s.Tokens {
			number(tokens, uint64(t))
		}
		for _, v := range []float64{s.AvgLogProb, s.NoSpeechProb, s.Temperature, s.CompressionRatio} {
			number(logProbs, math.Float64bits(v))
		}
		number(segments, math.Float64bits(s.Start))
		number(segments, math.Float64bits(s.End))
		text(segments, s.Text)
	}
	if r.Proof != nil {
		text(tokens, r.Proof.Tokens)
		text(logProbs, r.Proof.LogProbs)
	}
	text(segments, r.Hypothesis)
	text(segments, r.Language)
	for i, h := range []hash.Hash{tokens, logProbs, segments} {
		copy(d.hashes[i][:], h.Sum(nil))
	}
	return d
}

func number(h hash.Hash, v uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, v)) }

func text(h hash.Hash, s string) {
	number(h, uint64(len(s)))
	h.Write([]byte(s))
}

// Differ returns what differs between two records, as [Pairs.Add] does.
func Differ(a, b *Record) []string {
	var p Pairs
	return p.add(digestOf(a, wer.Counts{}), digestOf(b, wer.Counts{}))
}
