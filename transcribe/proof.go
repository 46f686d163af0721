package transcribe

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"

	"verity/transcript"
)

// A proof hashes what the decoder chose, in every attempt at every window: what
// leads to no segment, too, and each log-probability, of which a transcript has
// means alone.
type proof struct{ tokens, odds hash.Hash }

func newProof() proof { return proof{sha256.New(), sha256.New()} }

// add takes in an attempt at the window that begins at a frame.
func (p proof) add(seek int, temperature float64, d Decoding) {
	tokens := binary.LittleEndian.AppendUint64(nil, uint64(seek))
	tokens = binary.LittleEndian.AppendUint64(tokens, uint64(len(d.Choices)))
	odds := binary.LittleEndian.AppendUint64(nil, math.Float64bits(temperature))
	odds = binary.LittleEndian.AppendUint32(odds, math.Float32bits(d.NoSpeechProb))
	for _, c := range d.Choices {
		tokens = binary.LittleEndian.AppendUint32(tokens, uint32(c.Token))
		odds = binary.LittleEndian.AppendUint32(odds, math.Float32bits(c.LogProb))
	}
	p.tokens.Write(tokens)
	p.odds.Write(odds)
}

// sum returns the first 16 bytes of each hash in hexadecimal.
func (p proof) sum() transcript.Proof {
	text := func(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }
	return transcript.Proof{Tokens: text(p.tokens), LogProbs: text(p.odds)}
}
