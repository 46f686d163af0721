package audio

import (
	"fmt"

	"github.com/jfreymuth/vorbis"
)

// maxVorbisSamples bounds the samples of a second in all channels. A packet of two bytes may cause all the work
// that its setup allows: eight passes over each value.
const maxVorbisSamples = 1 << 24

// A vorbisCodec decodes Vorbis packets with jfreymuth/vorbis.
type vorbisCodec struct {
	dec vorbis.Decoder
	buf []float32
	pcm []float64
}

// newVorbis reads the three headers: identification, comments and setup. The library trusts every size in them
// and would loop for ever on some code trees and residues, so checkSetup goes first. The library never sees the
// comments.
func newVorbis(headers [][]byte) (codec, error) {
	if err := checkSetup(headers[2]); err != nil {
		return nil, err
	}
	v := &vorbisCodec{}
	for _, h := range [][]byte{headers[0], []byte("\x03vorbis\x00\x00\x00\x00\x00\x00\x00\x00\x01"), headers[2]} {
		if err := v.dec.ReadHeader(h); err != nil {
			return nil, malformed("Vorbis header", "", "%v", err)
		}
	}
	s := shape{rate: v.dec.SampleRate(), channels: v.dec.Channels()}
	if err := s.check(); err != nil {
		return nil, err
	}
	if n := s.rate * s.channels; n > maxVorbisSamples {
		return nil, unsupported("Vorbis",
			fmt.Sprintf("at most %d samples a second in all channels", maxVorbisSamples), "%d", n)
	}
	v.buf = make([]float32, v.dec.BufferSize())
	return v, nil
}

func (v *vorbisCodec) shape() shape {
	return shape{rate: v.dec.SampleRate(), channels: v.dec.Channels()}
}

func (v *vorbisCodec) decode(p packet) ([]float64, error) {
	if p.lost.why != nil {
		v.dec.Clear()
	}
	if vorbis.IsHeader(p.data) {
		return nil, nil
	}
	pcm, err := v.dec.DecodeInto(p.data, v.buf)
	if err != nil {
		return nil, err
	}
	v.pcm = v.pcm[:0]
	for _, s := range pcm {
		v.pcm = append(v.pcm, float64(s))
	}
	return v.pcm, nil
}
