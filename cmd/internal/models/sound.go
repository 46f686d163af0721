package models

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"

	"verity/audio"
	"verity/internal/show"
)

// soundProperties are the output of info for a sound file. Its JSON has this form.
type soundProperties struct {
	Schema   string        `json:"schema"`            // name and version of this format
	File     string        `json:"file"`              // as it was named
	Duration float64       `json:"duration"`          // as the header states it; 0 if it does not
	Channels int           `json:"channels"`          // of the track that is read
	Tracks   []audio.Track `json:"tracks"`            // with sound
	Track    int           `json:"transcribed_track"` // number of the one that is transcribed unless another is chosen
}

// isSound reports whether the name is that of an existing sound file, not of a model.
func isSound(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular() && audio.HasEnding(name)
}

// describeSound writes what a sound file holds.
func describeSound(ctx context.Context, w io.Writer, name string, asJSON bool) error {
	clip, err := audio.Open(ctx, name)
	if err != nil {
		return err
	}
	defer clip.Close()
	tracks, read := clip.Tracks()
	p := soundProperties{
		Schema: "verity.sound/1", File: name, Duration: clip.HeaderDuration(), Channels: clip.Channels(),
		Tracks: tracks, Track: tracks[read].Number,
	}
	if asJSON {
		return json.NewEncoder(w).Encode(p)
	}
	var s textTable
	s.row("file", "%s", show.Name(name))
	if p.Duration > 0 {
		s.row("length", "%s, by its header", show.Seconds(p.Duration))
	}
	s.row("channels", "%d", p.Channels)
	for i, t := range tracks {
		known := []string{t.String()}
		if t.Codec != "" {
			known = append(known, show.Line(t.Codec))
		}
		if t.Default {
			known = append(known, "default")
		}
		if i == read {
			known = append(known, "transcribed")
		}
		s.row("audio track", "%s", strings.Join(known, ", "))
	}
	_, err = io.WriteString(w, s.String())
	return err
}
