package transcribe

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"

	"verity/transcript"
)

// A proof hashes the decoder's choices in every attempt at every window, also those
// that lead to no segment, and each log-probability: a transcript has only means.
type proof struct{ tokens, logProbs hash.Hash }

func newProof() proof { return proof{sha256.New(), sha256.New()} }

// add hashes an attempt at the window that begins at a frame.
func (p proof) add(seek int, temperature float64, d decoding) {
	tokens := binary.LittleEndian.AppendUint64(nil, uint64(seek))
	tokens = binary.LittleEndian.AppendUint64(tokens, uint64(len(d.Choices)))
	logProbs := binary.LittleEndian.AppendUint64(nil, math.Float64bits(temperature))
	logProbs = binary.LittleEndian.AppendUint32(logProbs, math.Float32bits(d.noSpeechProb))
	for _, c := range d.Choices {
		tokens = binary.LittleEndian.AppendUint32(tokens, uint32(c.Token))
		logProbs = binary.LittleEndian.AppendUint32(logProbs, math.Float32bits(c.LogProb))
	}
	p.tokens.Write(tokens)
	p.logProbs.Write(logProbs)
}

// join adds what a lane has proved.
func (p proof) join(lane proof) {
	p.tokens.Write(lane.tokens.Sum(nil))
	p.logProbs.Write(lane.logProbs.Sum(nil))
}

// sum returns the first 16 bytes of each hash in hexadecimal.
func (p proof) sum() transcript.Proof {
	text := func(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }
	return transcript.Proof{Tokens: text(p.tokens), LogProbs: text(p.logProbs)}
}
