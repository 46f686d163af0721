package audio

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/language"

	"verity/internal/show"
)

// A Track is one of the audio tracks of a file, such as one language of a film.
type Track struct {
	Number   int    `json:"number"`             // from 1, among the audio tracks of the file
	Codec    string `json:"codec,omitempty"`    // as the file or ffmpeg names it, such as A_OPUS or aac
	Language string `json:"language,omitempty"` // as in the file, such as eng or pt-BR; empty if unknown
	Title    string `json:"title,omitempty"`    // as in the file
	Default  bool   `json:"default,omitempty"`  // the file marks it as the one to play
}

// maxTracks bounds the list of tracks.
const maxTracks = 100

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

// trackText returns text of a file as one short line without control characters.
func trackText(b []byte) string {
	text, _, _ := strings.Cut(string(b), "\x00")
	return show.Line(show.Short(strings.TrimSpace(text)))
}

// A TrackError reports that a file does not have the audio track that Input.Track asks for.
type TrackError struct {
	Want   string
	Tracks []Track // of the file
}

func (e *TrackError) Error() string {
	names := make([]string, len(e.Tracks))
	for i, t := range e.Tracks {
		names[i] = t.String()
	}
	return fmt.Sprintf("there is no audio track %s, want %s", show.Line(e.Want), show.JoinOr(names))
}

// languageTag matches codes of languages, also with a script or a region: deu, pt-BR.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]+)*$`)

// CheckTrack reports whether Input.Track may have this value. The error says what is wanted.
func CheckTrack(text string) error {
	if n, err := strconv.Atoi(text); text == "" || err == nil && n > 0 && n <= maxTracks || languageTag.MatchString(text) {
		return nil
	}
	return fmt.Errorf("the number of an audio track, from 1 to %d, or a language, such as en or English", maxTracks)
}

// chooseTrack returns the index of the track that is wanted: a number from 1 or a language. An empty text means
// the first track with the default flag, or else the first.
func chooseTrack(tracks []Track, want string) (int, error) {
	number, err := strconv.Atoi(want)
	for _, fits := range []func(Track) bool{
		func(t Track) bool { return want == "" && t.Default || err == nil && t.Number == number },
		func(t Track) bool { return want != "" && strings.EqualFold(t.Language, want) },
		func(t Track) bool { return baseLanguage(want) != "" && baseLanguage(t.Language) == baseLanguage(want) },
		// Nothing contradicts a language if there is no choice and the file does not name one.
		func(t Track) bool { return want == "" || err != nil && len(tracks) == 1 && t.Language == "" },
	} {
		for i, t := range tracks {
			if fits(t) {
				return i, nil
			}
		}
	}
	return 0, &TrackError{want, tracks}
}

// baseLanguage returns the code of a language without script and region, the same for deu, ger, de and de-AT. It
// returns an empty text for what is no code.
func baseLanguage(code string) string {
	tag, err := language.Parse(code)
	if err != nil || tag == language.Und {
		return ""
	}
	b, _ := tag.Base()
	return b.String()
}

// languageCode returns the language of a track, empty if that is unknown.
func languageCode(code string) string {
	if code == "und" {
		return ""
	}
	return code
}
