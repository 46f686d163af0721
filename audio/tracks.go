package audio

import (
	"fmt"
	"strconv"
	"strings"

	"verity/internal/show"
)

// A Track is one of the audio tracks of a file, such as one language of a film.
type Track struct {
	Number   int    `json:"number"`             // from 1, among the audio tracks of the file
	Codec    string `json:"codec,omitempty"`    // as ffmpeg names it, such as aac; empty if ffmpeg does not read the file
	Language string `json:"language,omitempty"` // as in the file, such as eng or pt-BR; empty if unknown
	Title    string `json:"title,omitempty"`    // as in the file
	Default  bool   `json:"default,omitempty"`  // the file marks it as the one to play
}

// MaxTracks bounds the tracks of a file.
const MaxTracks = 100

// String returns the number of the track and what else is known: "2 (eng, Commentary)".
func (t Track) String() string {
	known := t.Language
	if t.Title != "" {
		known = strings.TrimPrefix(known+", "+t.Title, ", ")
	}
	if known == "" {
		return strconv.Itoa(t.Number)
	}
	return fmt.Sprintf("%d (%s)", t.Number, known)
}

// A TrackError reports that a file does not have the audio track that Input.Track asks for.
type TrackError struct {
	Want   int
	Tracks []Track // of the file
}

func (e *TrackError) Error() string {
	if len(e.Tracks) == 1 {
		return fmt.Sprintf("there is no audio track %d: the file has only one; do not choose a track", e.Want)
	}
	names := make([]string, len(e.Tracks))
	for i, t := range e.Tracks {
		names[i] = t.String()
	}
	return fmt.Sprintf("there is no audio track %d, want %s", e.Want, show.JoinOr(names))
}

// chooseTrack returns the index of the track with a number; of 0 that of the first default track, or else the
// first.
func chooseTrack(tracks []Track, want int) (int, error) {
	for i, t := range tracks {
		if t.Number == want || want == 0 && t.Default {
			return i, nil
		}
	}
	if want == 0 {
		return 0, nil
	}
	return 0, &TrackError{want, tracks}
}
