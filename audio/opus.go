package audio

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/pion/opus"
)

// opusRate is the rate Opus is decoded at. The decoder's own resampler for lower rates is worse than ours.
const opusRate = 48000

// maxOpusSamples is the longest duration of an Opus packet: 120 ms.
const maxOpusSamples = opusRate * 120 / 1000

// An opusCodec decodes Opus packets with pion/opus.
type opusCodec struct {
	dec  opus.Decoder
	ch   int
	skip int64
	gain float32
	buf  []float32
	pcm  []float64
}

// newOpus reads an OpusHead.
//
// Source: RFC 7845, 5.1.
func newOpus(head []byte) (codec, error) {
	if len(head) < 19 || !hasAt(head, 0, "OpusHead") {
		return nil, malformed("Opus header", `19 bytes that begin with "OpusHead"`,
			"%d bytes, %q", len(head), head[:min(len(head), 8)])
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

func (o *opusCodec) shape() shape { return shape{rate: opusRate, channels: o.ch, skip: o.skip} }

func (o *opusCodec) decode(p packet) ([]float64, error) {
	if isOpusHeader(p.data) {
		return nil, nil
	}
	n, err := o.dec.DecodeToFloat32(p.data, o.buf)
	if err != nil {
		return nil, err
	}
	o.pcm = o.pcm[:0]
	for _, v := range o.buf[:n*o.ch] {
		o.pcm = append(o.pcm, float64(v*o.gain))
	}
	return o.pcm, nil
}

func isOpusHeader(packet []byte) bool {
	return hasAt(packet, 0, "OpusHead") || hasAt(packet, 0, "OpusTags")
}

// opusDuration returns how many samples of each channel a packet holds.
//
// Source: RFC 6716, 3.1 and 3.2.
func opusDuration(packet []byte) int64 {
	if len(packet) < 1 || isOpusHeader(packet) {
		return 0
	}
	frame, frames := opusRate/400<<(packet[0]>>3&3), 1 // CELT: 2.5 to 20 ms
	switch config := packet[0] >> 3; {
	case config < 12: // SILK: 10, 20, 40 or 60 ms
		frame = [4]int{opusRate / 100, opusRate / 50, opusRate / 25, opusRate * 60 / 1000}[config&3]
	case config < 16: // hybrid: 10 or 20 ms
		frame = opusRate / 100 << (config & 1)
	}
	switch packet[0] & 3 {
	case 1, 2:
		frames = 2
	case 3:
		frames = int(packet[min(1, len(packet)-1)] & 0x3f)
	}
	return int64(min(frame*frames, maxOpusSamples))
}
