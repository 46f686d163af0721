package diarize

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"verity/internal/input"
)

// maxRTTM is the longest RTTM file that is read, in bytes: years of speech.
const maxRTTM = 64 << 20

// ReadRTTM reads turns in the format of NIST's Rich Transcription evaluations: lines of
//
//	SPEAKER <file> <channel> <start> <duration> <NA> <NA> <name> <NA> <NA>
//
// Other types of lines and comments, which begin with ;;, are skipped; in an empty file, nobody speaks. It returns the turns
// of each file in order of their starts; their speakers are indexes into names, plus 1. A line that cannot be read is an
// error.
func ReadRTTM(r io.Reader) (turns map[string][]Turn, names []string, err error) {
	turns = map[string][]Turn{}
	number := map[string]int{}
	text, err := io.ReadAll(io.LimitReader(r, maxRTTM+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("RTTM: %w", err)
	case len(text) > maxRTTM:
		return nil, nil, fmt.Errorf("RTTM: more than %d MB", maxRTTM>>20)
	case !utf8.Valid(text):
		return nil, nil, errors.New("RTTM: it is not UTF-8")
	}
	for n, line := range input.Lines(text) {
		f := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, ";;"):
			continue
		case len(f) < 8:
			return nil, nil, fmt.Errorf("RTTM: line %d: got %d fields, want 10", n, len(f))
		case f[0] != "SPEAKER":
			continue
		}
		start, err1 := strconv.ParseFloat(f[3], 64)
		length, err2 := strconv.ParseFloat(f[4], 64)
		if err1 != nil || err2 != nil || !(start >= 0 && start < 1e9 && length >= 0 && length < 1e9) {
			return nil, nil, fmt.Errorf("RTTM: line %d: got start %.20q and duration %.20q, want seconds", n, f[3], f[4])
		}
		if number[f[7]] == 0 {
			names = append(names, f[7])
			number[f[7]] = len(names)
		}
		turns[f[1]] = append(turns[f[1]], Turn{start, start + length, number[f[7]]})
	}
	for _, t := range turns {
		sortTurns(t)
	}
	return turns, names, nil
}
