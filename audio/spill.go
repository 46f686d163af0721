package audio

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"verity/internal/input"
	"verity/internal/output"
)

// tempPattern names temporary files.
const tempPattern = "verity-audio-*"

// OpenReader opens sound that can be read only once, such as standard input. It copies the sound to a spill
// file, a temporary one, which is gone after Close. Name is used in errors. An unreadable format is refused
// after the first bytes, not after gigabytes of video.
func (in Input) OpenReader(ctx context.Context, name string, r io.Reader) (*Clip, error) {
	if f, ok := r.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.IsDir() {
			return nil, named(name, errDirectory)
		}
	}
	f, err := output.NewTemp("", tempPattern)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot make a temporary file in %s: %w; set TMPDIR to a directory of yours", name, os.TempDir(), input.Cause(err))
	}
	c, err := in.spill(ctx, name, r, f)
	if err != nil {
		f.Close()
		return nil, named(name, err)
	}
	c.closers = append(c.closers, f.Close)
	return c, nil
}

// spill copies sound to a file and opens that.
func (in Input) spill(ctx context.Context, name string, r io.Reader, f *output.Temp) (*Clip, error) {
	p := &pipe{r: io.TeeReader(r, f)}
	k, head, err := in.detect(newFile(p, 0, unknownSize))
	if err != nil {
		return nil, err
	}
	if native := k != nil && k.open != nil; !native {
		if program, err := in.program(); program == "" {
			return nil, cmp.Or(err, in.refused(refuse(head)))
		}
	}
	// A stream of an unknown format may be endless. Before storing all of it, try whether ffmpeg finds sound in the
	// first maxUnknown bytes; the result is discarded.
	if k == nil && p.err == nil {
		if n, _ := io.CopyN(f, r, maxUnknown); n == maxUnknown {
			c, err := in.convert(ctx, name, f.File, n, in.refused(refuse(head)))
			if err != nil {
				return nil, err
			}
			c.Close()
			if _, err := f.Seek(0, io.SeekEnd); err != nil { // ffmpeg shares its offset
				return nil, err
			}
		}
	}
	if p.err == nil {
		_, err = io.Copy(f, r)
	} else if p.err != io.EOF {
		err = p.err
	}
	if err != nil {
		return nil, fmt.Errorf("copying it to a temporary file: %w", err)
	}
	return in.OpenFile(ctx, name, f.File)
}

// maxUnknown is how many bytes of an unknown format are stored before ffmpeg must find sound in them: more than
// ffmpeg itself examines to detect a format.
const maxUnknown = 16 << 20

// OpenStream opens sound that is still arriving, such as that of a microphone. It can be read while it arrives,
// once and in bounded memory; see Clip.IsLive. Name is used in errors. Sound of a format that only ffmpeg reads
// is read to its end first, as by OpenReader.
func (in Input) OpenStream(ctx context.Context, name string, r io.Reader) (*Clip, error) {
	p := &pipe{r: r}
	if k, _, err := in.detect(newFile(p, 0, unknownSize)); err != nil {
		return nil, named(name, err)
	} else if k == nil || k.open == nil {
		return in.OpenReader(ctx, name, io.NewSectionReader(p, 0, unknownSize))
	}
	c, err := in.open(name, p, unknownSize)
	if err != nil {
		return nil, err
	}
	c.live, c.src = true, c.whole // it is read once
	return c, nil
}
