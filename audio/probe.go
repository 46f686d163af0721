package audio

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"verity/internal/show"
)

// A media is what ffmpeg finds in a file.
type media struct {
	format  string  // names of its demuxer, such as "matroska,webm"; empty if ffmpeg cannot read the file
	start   float64 // seconds: the earliest time of all tracks, pictures included
	length  float64 // seconds, as ffmpeg knows it; 0 if it does not
	more    bool    // there are tracks without sound
	tracks  []Track // with sound, in the order of their streams
	streams []int   // their numbers among all streams
	now     int     // the number of the track to which lines belong; 0: to none
}

// Lines of ffmpeg's description of a file, which is the same in versions 4 to 8. Lines of tags, which may hold
// anything, are indented further.
var (
	mediaInput  = regexp.MustCompile(`^Input #0, (\S+), from '`)
	mediaStart  = regexp.MustCompile(`^  Duration: (?:(\d+):(\d\d):(\d\d\.\d+)|N/A)(?:, start: (-?\d+\.\d+))?`)
	mediaStream = regexp.MustCompile(`^  Stream #0:(\d+)(?:\[0x[0-9a-f]+\])?(?:\(([^)]*)\))?: (\w+): ([^ ,]+)`)
	mediaTitle  = regexp.MustCompile(`^      title +: (.*)$`)
)

// inspect asks the program for the tracks of the file. A file that it cannot read has one track of which
// nothing is known: decoding will tell why.
func (f *ffmpeg) inspect() error {
	f.media = media{tracks: []Track{{Number: 1}}}
	cmd, err := f.command(f.ctx, "info")
	if err != nil {
		return err
	}
	m := media{}
	cmd.Stderr = &lineWriter{add: m.add}
	// Without an output the program fails after it has described the input.
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return fmt.Errorf("ffmpeg: %w", err)
	}
	if f.ctx.Err() != nil {
		return f.ctx.Err()
	}
	if m.format == "" {
		return nil
	}
	if len(m.tracks) == 0 {
		return ErrNoSound
	}
	f.media = m
	return nil
}

// add reads a line.
func (m *media) add(line string) {
	if s := mediaInput.FindStringSubmatch(line); s != nil && m.format == "" {
		m.format = s[1]
	} else if s := mediaStart.FindStringSubmatch(line); s != nil {
		m.start, _ = strconv.ParseFloat(s[4], 64)
		for _, part := range s[1:4] { // hours, minutes, seconds
			n, _ := strconv.ParseFloat(part, 64)
			m.length = 60*m.length + n
		}
	} else if s := mediaTitle.FindStringSubmatch(line); s != nil && m.now > 0 {
		m.tracks[m.now-1].Title = show.Line(show.Short(strings.TrimSpace(s[1])))
	} else if s := mediaStream.FindStringSubmatch(line); s != nil {
		number, err := strconv.Atoi(s[1])
		at, again := slices.BinarySearch(m.streams, number) // ffmpeg lists those of a program together
		m.more = m.more || s[3] != "Audio"
		if m.now = 0; s[3] == "Audio" && err == nil && !again && len(m.tracks) < MaxTracks {
			m.now = at + 1
			m.streams = slices.Insert(m.streams, at, number)
			m.tracks = slices.Insert(m.tracks, at, Track{
				Codec: s[4], Language: strings.TrimPrefix(s[2], "und"), Default: strings.Contains(line, " (default)"),
			})
			for i := range m.tracks {
				m.tracks[i].Number = i + 1
			}
		}
	}
}

// begin returns the time of the beginning of the file, in seconds. The clocks of some containers begin at 0. That of
// others, such as a television stream, begins anywhere, and their first packet is the beginning.
func (m media) begin() float64 {
	for _, name := range []string{"matroska,", "mov,", "flv", "live_flv"} {
		if strings.HasPrefix(m.format, name) && m.start <= latestStart {
			return 0
		}
	}
	return m.start
}

// A lineWriter passes what is written to it on line by line. Of a long line only the beginning counts: tags may be long.
type lineWriter struct {
	add  func(line string)
	line []byte // as far as it has come
}

// maxLine bounds a line, in bytes.
const maxLine = 1000

func (w *lineWriter) Write(b []byte) (int, error) {
	for part := range bytes.Lines(b) {
		line, whole := bytes.CutSuffix(part, []byte("\n"))
		w.line = append(w.line, line[:min(len(line), maxLine-len(w.line))]...)
		if whole {
			w.add(string(w.line))
			w.line = w.line[:0]
		}
	}
	return len(b), nil
}
