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
// windows and voices, and decoding MP3 twice can take longer than transcribing it with base.
//
// A signal that is longer than maxStored, or cannot be stored, as on a full disk, is decoded again.
type replay struct {
	src    mono
	most   int64     // samples that are stored
	begun  bool      // something has been read
	stored *tempFile // nil if nothing is stored
	whole  bool      // all samples are
	n      int64     // how many are
	out    *bufio.Writer
	in     *bufio.Reader // of a later pass
	bytes  []byte
}

// maxStored is the largest number of samples that are stored: two hours, 461 MB.
const maxStored = 2 * 3600 * SampleRate

const sampleSize = 4 // bytes

func (r *replay) rewind() error {
	if r.whole {
		r.in = bufio.NewReader(io.NewSectionReader(r.stored, 0, r.n*sampleSize))
		return nil
	}
	r.close() // at worst a file is left in the directory for temporary files
	r.begun = false
	return r.src.rewind()
}

func (r *replay) read(dst []float32) (int, error) {
	if r.whole {
		return r.readStored(dst)
	}
	if !r.begun {
		r.begun = true
		if f, err := newTempFile(); err == nil {
			r.stored, r.out = f, bufio.NewWriter(f)
		}
	}
	n, err := r.src.read(dst)
	switch {
	case r.stored == nil:
	case err == io.EOF && r.out.Flush() == nil:
		r.whole = true
	case err != nil || !r.store(dst[:n]):
		r.close()
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
	if r.in == nil { // the first pass has just ended
		return 0, io.EOF
	}
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

// close removes what is stored.
func (r *replay) close() error {
	if r.stored == nil {
		return nil
	}
	err := r.stored.close()
	r.stored, r.whole, r.out, r.in, r.n = nil, false, nil, nil, 0
	return err
}
