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
	failed                     bool
	tokens, logProbs, segments [16]byte
	proven                     bool // the record has a proof
	choices, odds              [16]byte
	duration                   float64
	seconds                    transcript.Seconds
	words                      wer.Counts
	scored                     bool
}

func digestOf(r *Record, words wer.Counts) digest {
	d := digest{failed: r.Error != "", duration: r.Duration, seconds: r.Seconds, words: words, scored: !r.NoReference}
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
	if p := r.Proof; p != nil {
		d.proven = true
		choices, odds := sha256.Sum256([]byte(p.Tokens)), sha256.Sum256([]byte(p.LogProbs))
		copy(d.choices[:], choices[:])
		copy(d.odds[:], odds[:])
	}
	text(segments, r.Hypothesis)
	text(segments, r.Language)
	copy(d.tokens[:], tokens.Sum(nil))
	copy(d.logProbs[:], logProbs.Sum(nil))
	copy(d.segments[:], segments.Sum(nil))
	return d
}

func number(h hash.Hash, v uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, v)) }

func text(h hash.Hash, s string) {
	number(h, uint64(len(s)))
	h.Write([]byte(s))
}

// Differ returns what differs between two records, as Add does.
func Differ(a, b *Record) []string {
	var p Pairs
	return p.add(digestOf(a, wer.Counts{}), digestOf(b, wer.Counts{}))
}
