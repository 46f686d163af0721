package serve

import (
	"slices"
	"strconv"

	"verity/diarize"
	"verity/tokenizer"
	"verity/transcript"
)

// diarizedJSON is OpenAI's format with the speaker of each segment.
const diarizedJSON = "diarized_json"

// setSpeakers sets speakers: voice, one, or their number.
func setSpeakers(_ *Server, q *request, f formField) error {
	switch n, err := strconv.Atoi(f.value); {
	case f.value == "voice":
		q.speakers = new(diarize.Options)
	case f.value == "one":
		q.speakers = nil
	case err == nil && n >= 1 && n <= diarize.MaxSpeakers:
		q.speakers = &diarize.Options{Speakers: n}
	default:
		return f.bad("voice, one, or how many speakers there are, from 1 to " + strconv.Itoa(diarize.MaxSpeakers))
	}
	return nil
}

// setCount returns the setter of a bound of the number of speakers.
func setCount(set func(q *request, n int)) fieldSetter {
	return func(_ *Server, q *request, f formField) error {
		n, err := strconv.Atoi(f.value)
		if err != nil || n < 0 || n > diarize.MaxSpeakers {
			return f.bad("a whole number up to " + strconv.Itoa(diarize.MaxSpeakers))
		}
		set(q, n)
		return nil
	}
}

// settleSpeakers sets what the fields about speakers decide together.
func (q *request) settleSpeakers() error {
	if q.speakers == nil && q.format == diarizedJSON {
		q.speakers = new(diarize.Options)
	}
	bounded := q.leastSpeakers > 0 || q.mostSpeakers > 0
	switch {
	case q.speakers == nil && bounded:
		q.ignored.add("min_speakers, max_speakers")
	case !bounded:
	case q.speakers.Speakers > 0:
		return badRequest("speakers", "speakers: a number excludes min_speakers and max_speakers; want voice")
	case q.mostSpeakers > 0 && q.leastSpeakers > q.mostSpeakers:
		return badRequest("min_speakers",
			"min_speakers: got %d, want at most max_speakers, %d", q.leastSpeakers, q.mostSpeakers)
	default:
		q.speakers.Min, q.speakers.Max = q.leastSpeakers, q.mostSpeakers
	}
	q.decoding.Speakers = q.speakers
	return nil
}

// A diarizedSegment is OpenAI's TranscriptionDiarizedSegment.
type diarizedSegment struct {
	Type    string  `json:"type"` // transcript.text.segment
	ID      string  `json:"id"`
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Text    string  `json:"text"`
	Speaker string  `json:"speaker"` // empty if nobody's voice was found
}

// A diarizedTranscript is OpenAI's TranscriptionDiarized.
type diarizedTranscript struct {
	Task     string            `json:"task"`
	Duration float64           `json:"duration"`
	Text     string            `json:"text"`
	Segments []diarizedSegment `json:"segments"`
	Usage    any               `json:"usage"`
	soundLoss
}

// diarized returns tr in OpenAI's form.
func (a *answer) diarized(tr *transcript.Transcript, text string) diarizedTranscript {
	d := diarizedTranscript{
		Task: "transcribe", Duration: tr.Duration, Text: text, Segments: []diarizedSegment{},
		Usage: a.usage(tr), soundLoss: soundLoss{tr.Truncated, tr.Damaged, tr.Gaps},
	}
	for _, s := range tr.Segments {
		d.Segments = append(d.Segments, a.diarizedSegment(s))
	}
	return d
}

func (a *answer) diarizedSegment(s transcript.Segment) diarizedSegment {
	return diarizedSegment{
		"transcript.text.segment", segmentID(s), transcript.RoundTime(s.Start), transcript.RoundTime(s.End),
		tokenizer.Strip(s.Text), a.letter(s.Speaker),
	}
}

// segmentID returns the id of a segment in events and in diarized_json.
func segmentID(s transcript.Segment) string { return "seg_" + strconv.Itoa(s.ID) }

// letter returns OpenAI's label of a speaker: A for the first who speaks, B for the next.
func (a *answer) letter(speaker string) string {
	if speaker == "" {
		return ""
	}
	n := slices.Index(a.speakers, speaker)
	if n < 0 {
		n = len(a.speakers)
		a.speakers = append(a.speakers, speaker)
	}
	label := string(rune('A' + n%26))
	for n /= 26; n > 0; n /= 26 { // AA follows Z
		n--
		label = string(rune('A'+n%26)) + label
	}
	return label
}
