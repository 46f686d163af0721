package diarize

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxRTTM is the longest RTTM file that is read, in bytes: years of speech.
const maxRTTM = 64 << 20

// ReadRTTM reads turns in the format of NIST's Rich Transcription evaluations: lines of
//
//	SPEAKER <file> <channel> <start> <duration> <NA> <NA> <name> <NA> <NA>
//
// Other types of lines and comments, which begin with ;;, are skipped. It returns the turns of each file in order
// of their starts; their speakers are indexes into names, plus 1. A line that cannot be read is an error.
func ReadRTTM(r io.Reader) (turns map[string][]Turn, names []string, err error) {
	turns = map[string][]Turn{}
	number := map[string]int{}
	lines := bufio.NewScanner(io.LimitReader(r, maxRTTM+1))
	size := 0
	for n := 1; lines.Scan(); n++ {
		if size += len(lines.Bytes()) + 1; size > maxRTTM {
			return nil, nil, fmt.Errorf("RTTM: more than %d MB", maxRTTM>>20)
		}
		f := strings.Fields(lines.Text())
		if len(f) == 0 || f[0] != "SPEAKER" {
			continue
		}
		if len(f) < 8 {
			return nil, nil, fmt.Errorf("RTTM: line %d: got %d fields, want 10", n, len(f))
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
	if err := lines.Err(); err != nil {
		return nil, nil, fmt.Errorf("RTTM: %w", err)
	}
	for _, t := range turns {
		sortTurns(t)
	}
	return turns, names, nil
}
