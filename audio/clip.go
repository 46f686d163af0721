package audio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"verity/internal/frontend"
	"verity/internal/input"
)

const (
	// SampleRate is the rate of every Clip, in samples per second.
	SampleRate = frontend.SampleRate
	// HopLength is the distance of two frames, in samples.
	HopLength = frontend.HopLength
	// windowSize is the length of the Fourier transform of a frame, in samples.
	windowSize = frontend.WindowSize
	// FramesPerSecond is the number of frames in a second of sound.
	FramesPerSecond = frontend.FramesPerSecond
)

// Input configures how a sound file is opened. The zero value mixes all channels.
type Input struct {
	// Channel picks one channel, counted from 1. 0 means the mean of all channels.
	Channel int

	// Track picks one of several audio tracks by its number, counted from 1. 0 means the track that the file
	// marks as default, or else the first. A file without that track is a TrackError.
	Track int

	// FFmpeg decodes formats that this package does not read: FFmpegAuto, or an empty string, means the
	// installed ffmpeg, if there is one; FFmpegNever refuses such files; anything else is the path of the
	// program.
	FFmpeg string

	// CommonFormatsOnly restricts ffmpeg to what phones, browsers and recorders write: MP4, M4A, 3GP, AAC, AMR,
	// AIFF, AU, CAF, Ogg and Matroska. It is meant for files of strangers.
	CommonFormatsOnly bool

	// Strict makes damaged, missing and unreadable sound an error. Otherwise it is left out, and the clip has
	// warnings.
	Strict bool

	// Raw is the rate of samples without a header, in Hz: 16 bits each, little-endian, one channel. 0 means
	// that the sound has a header.
	Raw int

	// MaxDuration bounds the sound; more is ErrTooLong. A limit on bytes would not do, since a small file can
	// hold days of silence. 0 means any length.
	MaxDuration time.Duration
}

// Open opens a sound file. Its first bytes tell the format.
func Open(ctx context.Context, name string) (*Clip, error) { return Input{}.Open(ctx, name) }

// A Clip is the sound of a file as mono float32 at SampleRate, streamed, so that an hour takes no more memory
// than a second. Sound that costs time to decode is stored in a temporary file. It must not be used concurrently.
type Clip struct {
	name           string
	in             Input // as it was opened
	src            mono
	whole          *chain         // the sound under src; empty for Parts, whose clip has the warnings
	closers        []func() error // what Close calls, in this order
	live           bool           // the sound is still arriving
	found          findings       // when Read first reached the end; reading again begins without any
	leadingSilence int64          // frames of silence before the sound that only the end has shown
	ended          bool           // it has
	limit          int64          // samples that may be read; 0 means any number
	read           int64          // since the beginning
}

// Open opens a sound file. When ctx ends, reads that still wait fail.
func (in Input) Open(ctx context.Context, name string) (*Clip, error) {
	f, err := os.Open(input.Lookup(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = noFile("there is no such sound file")
		if to, notLink := os.Readlink(name); notLink == nil {
			err = noFile("is a link to " + to + ", which does not exist")
		}
	}
	if err != nil {
		return nil, named(name, err)
	}
	st, err := f.Stat()
	switch {
	case err != nil:
	case st.IsDir():
		err = errDirectory
	case st.Mode()&os.ModeDevice != 0: // it may never end
		err = errors.New("is a device, want a sound file")
	case !st.Mode().IsRegular(): // a pipe cannot be read twice
		defer f.Close()
		return in.OpenReader(ctx, name, f)
	}
	if err == nil {
		var c *Clip
		if c, err = in.OpenFile(ctx, name, f); err == nil {
			c.closers = append(c.closers, f.Close)
			return c, nil
		}
	}
	f.Close()
	return nil, named(name, err)
}

// An interruptible file cannot be read once its context has ended. A search for sound after damage may take
// minutes in a file of many gigabytes.
type interruptible struct {
	ctx context.Context
	io.ReaderAt
}

func (r interruptible) ReadAt(b []byte, at int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(b, at)
}

// refused returns err, without advice to install ffmpeg if that would not help.
func (in Input) refused(err error) error {
	if f, ok := errors.AsType[*FormatError](err); ok {
		f.forbidden = in.FFmpeg == FFmpegNever || in.CommonFormatsOnly
	}
	return err
}

// OpenFile opens the sound in a file that is open already, which the caller closes after the clip. Name is used
// in errors.
func (in Input) OpenFile(ctx context.Context, name string, f *os.File) (*Clip, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, named(name, err)
	}
	c, err := in.open(name, interruptible{ctx, f}, st.Size())
	if err != nil {
		c, err = in.convert(ctx, name, f, st.Size(), in.refused(err))
	}
	return c, named(name, err)
}

// open makes a clip of a whole file of size bytes.
func (in Input) open(name string, r io.ReaderAt, size int64) (*Clip, error) {
	f := newFile(r, 0, size)
	k, head, err := in.detect(f)
	if err != nil {
		return nil, named(name, err)
	}
	src, err := f.source(k, head)
	if err != nil {
		return nil, named(name, err)
	}
	return in.clip(name, src, f)
}

// detect returns the format of f and its first bytes. It moves the start of f after any ID3 tags.
func (in Input) detect(f *file) (k *format, head []byte, err error) {
	if in.Raw == 0 || len(f.head(0)) == 0 {
		head, err = f.skipID3()
		return formatOf(head), head, err
	}
	return &format{open: openRaw(in.Raw)}, nil, nil
}

// clip mixes a source to one channel at SampleRate.
func (in Input) clip(name string, src *source, f *file) (*Clip, error) {
	st, err := in.stream(src, f)
	if err != nil {
		return nil, named(name, err)
	}
	whole := &chain{in: in, first: st, now: st}
	c := &Clip{name: name, in: in, src: whole, whole: whole, limit: int64(in.MaxDuration.Seconds() * SampleRate)}
	if !src.readsFast() {
		r := &sampleCache{src: whole, rescaled: c.rescaled, most: maxStored}
		c.src, c.closers = r, append(c.closers, r.close)
	}
	tracks, _ := c.Tracks()
	_, err = chooseTrack(tracks, in.Track) // of a file with a single one
	return c, named(name, err)
}

// Name returns the name the clip was opened under.
func (c *Clip) Name() string { return c.name }

// Channels returns the number of channels of the file.
func (c *Clip) Channels() int { return c.whole.first.mix.shape.channels }

// Tracks returns the audio tracks of the file and the index of the one that is read. Sound in memory is one track.
func (c *Clip) Tracks() (list []Track, read int) {
	if t, ok := c.whole.first.mix.src.in.(interface{ tracks() ([]Track, int) }); ok {
		return t.tracks()
	}
	return []Track{{Number: 1}}, 0
}

// TrackChoice says which of several audio tracks is read; it is empty if there is only one.
func (c *Clip) TrackChoice() string {
	list, read := c.Tracks()
	if len(list) < 2 {
		return ""
	}
	return fmt.Sprintf("audio track %v of %d is read", list[read], len(list))
}

// Start returns how many seconds after the beginning of the file its sound starts, such as that of a film. Until
// then the clip is silent. It is known once Read has returned samples; of
// what ffmpeg decodes, at the end.
func (c *Clip) Start() float64 {
	m := c.whole.first.mix
	return m.shape.seconds(m.src.late + c.leadingSilence)
}

// startFrame returns the frame in which the sound starts.
func (c *Clip) startFrame() int { return int(c.Start() * FramesPerSecond) }

// HeaderDuration returns the length in seconds that the header of the file states, or 0. It may be wrong.
func (c *Clip) HeaderDuration() float64 {
	s := c.whole.first.mix.shape
	return s.seconds(s.promised)
}

// IsLive reports whether the sound is still arriving, so that it can be read only once: see OpenStream.
func (c *Clip) IsLive() bool { return c.live }

// Rewind makes the next Read start at the beginning.
func (c *Clip) Rewind() error {
	if c.live && c.read > 0 {
		return named(c.name, errStreamGone)
	}
	c.read = 0
	return named(c.name, c.src.rewind())
}

// Read fills dst and returns the number of samples it read: fewer than len(dst) only together with an error,
// which is io.EOF at the end. A sample that is not a finite number, as float files may hold, is damage: it reads
// as 0.
func (c *Clip) Read(dst []float32) (n int, err error) {
	for n < len(dst) {
		m, err := c.src.read(dst[n:])
		n += m
		if c.read += int64(m); c.limit > 0 && c.read > c.limit {
			return n, fmt.Errorf("%s: %w: want at most %v", c.name, ErrTooLong, c.in.MaxDuration)
		}
		if err == io.EOF {
			c.reachEnd()
			return n, io.EOF
		}
		if err != nil {
			return n, named(c.name, c.in.refused(err))
		}
	}
	return n, nil
}

// rescaled reports whether the scale of the samples has changed since the last rewind. It will not change when they are read
// once more.
func (c *Clip) rescaled() bool { return c.whole.first.mix.rescaled }

// Samples reads the next samples, at most a number of them.
func (c *Clip) Samples(most int) (pcm []float32, err error) {
	for len(pcm) < most && err == nil {
		pcm = slices.Grow(pcm, min(most-len(pcm), 1<<14))
		n := 0
		n, err = c.Read(pcm[len(pcm):min(most, cap(pcm))])
		pcm = pcm[:len(pcm)+n]
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	return pcm, nil
}

// Cut reads past the next from samples, and returns the n after them as a clip in memory. It is an error if the sound ends
// before.
func (c *Clip) Cut(name string, from, n int) (*Clip, error) {
	at, buffer, err := 0, make([]float32, 1<<14), error(nil)
	for at < from && err == nil {
		var m int
		m, err = c.Read(buffer[:min(len(buffer), from-at)])
		at += m
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	pcm, err := c.Samples(n)
	if err == nil && len(pcm) == 0 {
		err = fmt.Errorf("%s: a part begins at %.1f s, after the end at %.1f s", c.name, float64(from)/SampleRate, float64(at)/SampleRate)
	}
	return FromSamples(name, pcm), err
}

// reachEnd stores what is wrong with the file when all of it has been read for the first time.
func (c *Clip) reachEnd() {
	if !c.ended {
		c.found, c.leadingSilence = c.whole.found, c.whole.first.mix.src.ending.leadingSilence
	}
	c.ended = true
}

// Truncated reports whether the file is shorter than its header states, or ends within the sound. It is known
// once Read has reached the end.
func (c *Clip) Truncated() bool { return c.found.cut }

// Damaged returns the gaps whose sound is damaged or lost, in order. Of each stream of a chained file it lists
// 100; the last gap covers any more. It is known once Read has reached the end.
func (c *Clip) Damaged() []Gap { return c.found.gaps }

// Warnings returns a sentence for each problem of a clip that could be read nevertheless. They are known once
// Read has reached the end.
func (c *Clip) Warnings() []string { return c.found.warnings() }

// Close releases the file of the clip. The clip cannot be read afterwards.
func (c *Clip) Close() error {
	c.src = closedSound{}
	var err error
	for _, f := range c.closers {
		err = errors.Join(err, f())
	}
	c.closers = nil
	return err
}

// A closedSound is the signal of a closed clip.
type closedSound struct{}

func (closedSound) rewind() error               { return os.ErrClosed }
func (closedSound) read([]float32) (int, error) { return 0, os.ErrClosed }
