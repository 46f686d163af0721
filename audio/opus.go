package audio

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/pion/opus"
)

// opusRate is the rate Opus is decoded at. The decoder's own resampler for lower
// rates is worse than ours.
const opusRate = 48000

// maxOpusSamples is the longest duration of an Opus packet: 120 ms.
const maxOpusSamples = opusRate * 120 / 1000

// newOggOpus opens Opus in an Ogg container.
func newOggOpus(r io.ReaderAt, size int64) (source, error) {
	return newCoded(oggPackets(r, size), func(in packets) (codec, error) {
		head, err := in.next()
		if err != nil {
			return nil, err
		}
		o, err := newOpus(head.data)
		if err != nil {
			return nil, err
		}
		_, err = in.next() // tags
		return o, err
	})
}

// An opusCodec decodes Opus packets with pion/opus.
type opusCodec struct {
	dec  opus.Decoder
	ch   int
	skip int64
	gain float32
	buf  []float32
}

// newOpus reads an OpusHead.
//
// Source: RFC 7845, 5.1.
func newOpus(head []byte) (*opusCodec, error) {
	if len(head) < 19 || !hasAt(head, 0, "OpusHead") {
		return nil, malformed("Opus header", `19 bytes that begin with "OpusHead"`, "%d bytes, %q", len(head), head[:min(len(head), 8)])
	}
	channels, mapping := int(head[9]), head[18]
	if mapping != 0 || channels < 1 || channels > 2 {
		return nil, unsupported("Opus channels", "1 or 2", "%d, mapping family %d", channels, mapping)
	}
	dec, err := opus.NewDecoderWithOutput(opusRate, channels)
	if err != nil {
		return nil, fmt.Errorf("opus: %w", err)
	}
	decibel := float64(int16(binary.LittleEndian.Uint16(head[16:]))) / 256
	return &opusCodec{
		dec: dec, ch: channels, skip: int64(binary.LittleEndian.Uint16(head[10:])),
		gain: float32(math.Pow(10, decibel/20)), buf: make([]float32, maxOpusSamples*channels),
	}, nil
}

func (o *opusCodec) rate() int      { return opusRate }
func (o *opusCodec) channels() int  { return o.ch }
func (o *opusCodec) preskip() int64 { return o.skip }

func (o *opusCodec) decode(data []byte) ([]float32, error) {
	n, err := o.dec.DecodeToFloat32(data, o.buf)
	if err != nil {
		return nil, err
	}
	pcm := o.buf[:n*o.ch]
	if o.gain != 1 {
		for i := range pcm {
			pcm[i] *= o.gain
		}
	}
	return pcm, nil
}

// samples reads the length of a packet from its first bytes.
//
// Source: RFC 6716, 3.1 and 3.2.
func (o *opusCodec) samples(data []byte) int {
	if len(data) == 0 {
		return 0
	}
	config := int(data[0] >> 3)
	var frame int
	switch {
	case config < 12: // SILK: 10, 20, 40, 60 ms
		frame = opusRate / 100 * [4]int{1, 2, 4, 6}[config&3]
	case config < 16: // hybrid: 10, 20 ms
		frame = opusRate / 100 << (config & 1)
	default: // CELT: 2.5, 5, 10, 20 ms
		frame = opusRate / 400 << (config & 3)
	}
	n := [4]int{1, 2, 2, 0}[data[0]&3]
	if n == 0 && len(data) > 1 {
		n = int(data[1] & 0x3f)
	}
	return min(frame*n, maxOpusSamples)
}
