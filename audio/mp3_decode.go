package audio

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/hajimehoshi/go-mp3"
)

// An mp3Frame is a frame; decoded, its data are samples, of two channels with 16 bits each.
type mp3Frame struct {
	packet
	err error // why it cannot be decoded: there are no samples
}

// Decoding takes most of the time of reading, and a decoder's memory is short: at most 511 bytes of earlier
// frames, half of a frame's overlap and the last 1,024 samples of the filter bank. So runs of frames are
// decoded in parallel, each by its own decoder, which first decodes some frames before the run. Then its state
// equals that of a decoder that started with the file.
const (
	mp3Run     = 128 // frames in a run
	mp3Workers = 16  // most runs at a time: half a megabyte each

	// A decoder begins at least leadFrames and leadBytes before its run. Frames refer back to bytes of earlier
	// ones: without those, the first frames come out wrong.
	leadFrames = 4
	leadBytes  = 2048
)

// decodeMore waits for the frames that are being decoded and starts on the next, one run for each processor. It
// returns an error if no frame is left.
func (m *mp3Reader) decodeMore() error {
	if m.wait == nil {
		m.wait = m.begin()
	}
	m.ready = m.wait()
	if len(m.ready) > 0 {
		m.wait = m.begin()
		return nil
	}
	return m.end
}

// begin starts to decode runs. It returns a function that waits for their frames.
func (m *mp3Reader) begin() (wait func() []mp3Frame) {
	var runs [][]mp3Frame
	var work sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), mp3Workers) {
		preroll := m.preroll
		run := m.nextRun()
		if len(run) == 0 {
			break
		}
		runs = append(runs, run)
		work.Go(func() { m.first.decodeRun(preroll, run) })
	}
	return func() []mp3Frame {
		work.Wait()
		return slices.Concat(runs...)
	}
}

// nextRun returns the next run of frames. Its length depends on the file alone, so that damage always gives the
// same samples.
func (m *mp3Reader) nextRun() (run []mp3Frame) {
	for len(run) < mp3Run && m.end == nil {
		data, at, lost, err := m.frames.next()
		if m.end = err; err != nil {
			break
		}
		f, spf := mp3Frame{packet: newPacket(data)}, int64(m.first.samples())
		if lost > 0 {
			f.lossCause = malformed(fmt.Sprintf("byte %d", at-lost), "an MPEG frame", "%d bytes that are none", lost)
		}
		f.start = m.at
		// The tag states where the sound of the frames that it counts ends, which may be some frames before the
		// last. Frames that it does not count are all sound.
		if m.tag.exact && m.at < m.tag.total {
			f.limit = max(m.tag.delay+m.tag.samples, m.at)
		}
		m.at += spf
		run = append(run, f)
	}
	before, size := slices.Concat(m.preroll, run), 0
	from := len(before)
	for ; from > 0 && (len(before)-from < leadFrames || size < leadBytes); from-- {
		size += len(before[from-1].data)
	}
	m.preroll = before[from:]
	return run
}

// decodeRun decodes the frames of a run, of which preroll lies before it.
func (h mpegHeader) decodeRun(preroll, run []mp3Frame) {
	d, size := mp3Decoder{header: h}, 4*h.samples()
	pcm := make([]byte, len(run)*size)
	for _, f := range preroll {
		_ = d.decode(f.data, pcm[:size]) // the first ones may fail: the frames that they refer back to are missing
	}
	for i := range run {
		to := pcm[i*size:][:size]
		if run[i].err = d.decode(run[i].data, to); run[i].err != nil {
			to = nil
		}
		run[i].data = to
	}
}

// An mp3Decoder decodes frames that follow each other, with hajimehoshi/go-mp3. The library gets one frame at a
// time, since it does not know tags between frames, decodes the table at the start of most files as sound, and
// stops at damage.
type mp3Decoder struct {
	header  mpegHeader
	library *mp3.Decoder // nil before the first frame and after a bad one
	now     []byte       // the rest of the current frame, for Read
	earlier []byte       // the last data of the frames before, for repack
}

// Read implements io.Reader for the library. There must be no Seek: the library would read the whole file to
// find its length.
func (d *mp3Decoder) Read(p []byte) (int, error) {
	if len(d.now) == 0 {
		return 0, io.EOF
	}
	n := copy(p, d.now)
	d.now = d.now[n:]
	return n, nil
}

// decode decodes one frame into pcm.
func (d *mp3Decoder) decode(frame, pcm []byte) (err error) {
	defer func() {
		if err != nil {
			d.library = nil
		}
	}()
	defer catch("MPEG frame", &err)
	if d.header.needsRepack() {
		if frame, err = d.repack(frame); err != nil {
			return err
		}
	}
	d.now = frame
	if d.library == nil {
		if d.library, err = mp3.NewDecoder(d); err != nil {
			return err
		}
	}
	_, err = io.ReadFull(d.library, pcm)
	return noEOF(err)
}

// needsRepack reports whether frames must be repacked for the library. At 22,050 Hz it reads every other padded
// frame as a byte shorter than it is, and every reference back to that frame is off by a byte. (At other rates
// no encoder pads frames, or the library is right.)
func (h mpegHeader) needsRepack() bool { return h.low && h.rate == 22050 }

// repack returns an equivalent frame without padding that contains all of its data, including what earlier
// frames held.
func (d *mp3Decoder) repack(frame []byte) ([]byte, error) {
	h, _, err := parseMPEG(frame)
	if err != nil {
		return nil, err
	}
	side := frame[4+h.crc:][:h.side]
	main := append(d.earlier, frame[4+h.crc+h.side:]...)
	back := int(side[0]) // main_data_begin: where the frame's data begins before it
	d.earlier = append([]byte(nil), main[max(0, len(main)-255):]...)
	begin := len(main) - (len(frame) - 4 - h.crc - h.side) - back
	if begin < 0 {
		return nil, fmt.Errorf("got %d bytes of the frames before, want %d", begin+back, back)
	}
	main = main[begin:]
	index := 1
	for index < 14 && 72000*mpeg2Rates[index]/h.rate < 4+h.side+len(main) {
		index++
	}
	out := make([]byte, 72000*mpeg2Rates[index]/h.rate)
	copy(out, frame[:4])
	out[1] |= 1 // no checksum
	out[2] = byte(index<<4) | out[2]&0x0c
	copy(out[4:], side)
	out[4] = 0
	copy(out[4+h.side:], main) // what does not fit belongs to later frames
	return out, nil
}
