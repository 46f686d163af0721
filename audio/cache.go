package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"verity/internal/output"
)

// A sampleCache is a signal that is decoded only once: its samples are stored in a temporary file during the first pass,
// and later passes read that. A clip is read up to four times, for speech, the maximum of the spectrogram, the
// windows and voices, and decoding MP3 twice can take longer than transcribing it with base.
//
// A signal that is longer than maxStored, or cannot be stored, as on a full disk, is decoded again.
type sampleCache struct {
	src      mono
	rescaled func() bool  // the next pass would differ
	most     int64        // samples that are stored
	begun    bool         // something has been read
	stored   *output.Temp // nil if nothing is stored
	whole    bool         // all samples are
	n        int64        // how many are
	out      *bufio.Writer
	in       *bufio.Reader // of a later pass
	bytes    []byte
}

// maxStored is the largest number of samples that are stored: two hours, 461 MB.
const maxStored = 2 * 3600 * SampleRate

const sampleSize = 4 // bytes

func (c *sampleCache) rewind() error {
	if c.whole {
		c.in = bufio.NewReader(io.NewSectionReader(c.stored, 0, c.n*sampleSize))
		return nil
	}
	c.close() // at worst a file is left in the directory for temporary files
	c.begun = false
	return c.src.rewind()
}

func (c *sampleCache) read(dst []float32) (int, error) {
	if c.whole {
		return c.readStored(dst)
	}
	if !c.begun {
		c.begun = true
		if f, err := output.NewTemp("", tempPattern); err == nil {
			c.stored, c.out = f, bufio.NewWriter(f)
		}
	}
	n, err := c.src.read(dst)
	switch {
	case c.stored == nil:
	case err == io.EOF && !c.rescaled() && c.out.Flush() == nil:
		c.whole = true
	case err != nil || !c.store(dst[:n]):
		c.close()
	}
	return n, err
}

// store reports whether samples could be stored.
func (c *sampleCache) store(pcm []float32) bool {
	c.bytes = c.bytes[:0]
	for _, v := range pcm {
		c.bytes = binary.NativeEndian.AppendUint32(c.bytes, math.Float32bits(v))
	}
	c.n += int64(len(pcm))
	_, err := c.out.Write(c.bytes)
	return err == nil && c.n <= c.most
}

func (c *sampleCache) readStored(dst []float32) (int, error) {
	if c.in == nil { // the first pass has just ended
		return 0, io.EOF
	}
	if len(c.bytes) < len(dst)*sampleSize {
		c.bytes = make([]byte, len(dst)*sampleSize)
	}
	n, err := io.ReadFull(c.in, c.bytes[:len(dst)*sampleSize])
	for i := range n / sampleSize {
		dst[i] = math.Float32frombits(binary.NativeEndian.Uint32(c.bytes[i*sampleSize:]))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n / sampleSize, err
}

// close removes what is stored.
func (c *sampleCache) close() error {
	if c.stored == nil {
		return nil
	}
	err := c.stored.Close()
	c.stored, c.whole, c.out, c.in, c.n = nil, false, nil, nil, 0
	return err
}
