package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// A replay is a signal that is decoded only once: its samples are stored in a temporary file during the first pass,
// and later passes read that. A clip is read up to four times, for speech, the maximum of the spectrogram, the
// windows and voices, and decoding ten minutes of MP3 takes half as long as transcribing them with base.
//
// A signal is decoded again if it is longer than that, or if it cannot be stored, as on a full disk.
type replay struct {
	src    mono
	most   int64  // samples that are stored
	begun  bool   // something has been read
	stored *spool // nil if nothing is stored
	out    *bufio.Writer
	in     *bufio.Reader // of all samples; nil before the first pass has ended
	n      int64         // samples stored
	bytes  []byte
}

// maxStored is the largest number of samples that are stored: two hours, 461 MB.
const maxStored = 2 * 3600 * SampleRate

const sampleSize = 4 // bytes

func (r *replay) rewind() error {
	if r.in != nil {
		r.in.Reset(io.NewSectionReader(r.stored.file, 0, r.n*sampleSize))
		return nil
	}
	r.begun = false
	return errors.Join(r.drop(), r.src.rewind())
}

func (r *replay) read(dst []float32) (int, error) {
	if r.in != nil {
		return r.readStored(dst)
	}
	if !r.begun {
		r.begun = true
		if s, err := newSpool(nil); err == nil {
			r.stored, r.out = s, bufio.NewWriter(s.file)
		}
	}
	n, err := r.src.read(dst)
	switch {
	case r.stored == nil:
	case err == io.EOF && r.out.Flush() == nil:
		r.in = bufio.NewReader(io.MultiReader())
	case err != nil || !r.store(dst[:n]):
		r.drop()
	}
	return n, err
}

// store reports whether samples could be stored.
func (r *replay) store(pcm []float32) bool {
	r.bytes = r.bytes[:0]
	for _, v := range pcm {
		r.bytes = binary.NativeEndian.AppendUint32(r.bytes, math.Float32bits(v))
	}
	r.n += int64(len(pcm))
	_, err := r.out.Write(r.bytes)
	return err == nil && r.n <= r.most
}

func (r *replay) readStored(dst []float32) (int, error) {
	if len(r.bytes) < len(dst)*sampleSize {
		r.bytes = make([]byte, len(dst)*sampleSize)
	}
	n, err := io.ReadFull(r.in, r.bytes[:len(dst)*sampleSize])
	for i := range n / sampleSize {
		dst[i] = math.Float32frombits(binary.NativeEndian.Uint32(r.bytes[i*sampleSize:]))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n / sampleSize, err
}

// drop removes what is stored.
func (r *replay) drop() error {
	if r.stored == nil {
		return nil
	}
	err := r.stored.close()
	r.stored, r.out, r.in, r.n = nil, nil, nil, 0
	return err
}
