package report

import (
	"context"
	"fmt"
	"strings"

	"verity/diarize"
	"verity/internal/show"
	"verity/transcript"
	"verity/wer"
)

// A SpeakerScore is how well speakers were identified. The rate of who speaks when is diarize.Errors.Rate, that
// of pyannote.metrics.
type SpeakerScore struct {
	Clips      int `json:"clips"`       // of which the dataset has who speaks when
	CountRight int `json:"count_right"` // clips with the right number of speakers

	All SpeakerErrors `json:"all"` // errors of who speaks when, in seconds

	Texts int `json:"texts"` // clips of which the dataset has who says what

	// The share of words, recognised or substituted, that have the wrong speaker. Source: El Shafey et al. 2019,
	// "Joint speech recognition and speaker diarization via sequence transduction", section 3.3.
	WDER         float64 `json:"wder"`
	Words        int     `json:"words"`         // recognised or substituted
	WrongSpeaker int     `json:"wrong_speaker"` // of these, with the wrong speaker
}

// SpeakerErrors are the errors of who speaks when, with their rate.
type SpeakerErrors struct {
	DER float64 `json:"der"` // diarization error rate: missed, false and confused seconds over all of the reference
	diarize.Errors
}

// add adds the score of a clip.
func (s *SpeakerScore) add(o *SpeakerScore) {
	s.Clips += o.Clips
	s.CountRight += o.CountRight
	if s.All.Errors.Add(o.All.Errors); s.All.Total > 0 { // without speech there is no rate
		s.All.DER = s.All.Rate()
	}
	s.Texts += o.Texts
	s.Words += o.Words
	s.WrongSpeaker += o.WrongSpeaker
	s.WDER = transcript.Ratio(float64(s.WrongSpeaker), float64(s.Words))
}

// speakersOf scores the speakers of a record; nil if the dataset has none. The error is ctx's cause.
func speakersOf(ctx context.Context, w *wer.Scorer, r *Record, normal func(string) string) (*SpeakerScore, error) {
	s := &SpeakerScore{}
	if r.ReferenceTurns != nil {
		reference, known := numberedTurns(r.ReferenceTurns)
		found, heard := numberedTurns(r.Turns)
		s.Clips = 1
		if known == heard {
			s.CountRight = 1
		}
		s.All.Errors = diarize.Scoring{}.Score(reference, found)
	}
	if len(r.Speech) > 0 {
		s.Texts = 1
		var found []Speech
		for _, g := range r.Segments {
			found = append(found, Speech{g.Speaker, g.Text})
		}
		if err := s.scoreWords(ctx, w, r.Speech, found, normal); err != nil {
			return nil, err
		}
	}
	if s.Clips+s.Texts == 0 {
		return nil, nil
	}
	return s, nil
}

// numberedTurns returns turns with numbers for names, and how many names there are.
func numberedTurns(turns []transcript.Turn) (numbered []diarize.Turn, speakers int) {
	number := map[string]int{}
	for _, t := range turns {
		if number[t.Speaker] == 0 {
			number[t.Speaker] = len(number) + 1
		}
		numbered = append(numbered, diarize.Turn{Start: t.Start, End: t.End, Speaker: number[t.Speaker]})
	}
	return numbered, len(number)
}

// speakerWords returns the words of some speech in order, and the speaker of each as a number from 0. The words of each
// stretch of one speaker are normalised together.
func speakerWords(speech []Speech, normal func(string) string) (text string, speakers []int, most int) {
	number := map[string]int{}
	var words []string
	for i := 0; i < len(speech); {
		var stretch strings.Builder
		who := speech[i].Speaker
		for ; i < len(speech) && speech[i].Speaker == who; i++ {
			stretch.WriteString(" " + speech[i].Text)
		}
		if _, ok := number[who]; !ok {
			number[who] = len(number)
		}
		words = append(words, strings.Fields(normal(stretch.String()))...)
		for len(speakers) < len(words) {
			speakers = append(speakers, number[who])
		}
	}
	return strings.Join(words, " "), speakers, len(number)
}

// scoreWords counts words with the wrong speaker, under the pairing of speakers with the fewest.
func (s *SpeakerScore) scoreWords(
	ctx context.Context, w *wer.Scorer, reference, found []Speech, normal func(string) string,
) error {
	text, refSpeakers, known := speakerWords(reference, normal)
	other, hypSpeakers, heard := speakerWords(found, normal)
	together := make([][]float64, known)
	for i := range together {
		together[i] = make([]float64, heard)
	}
	at, by := 0, 0
	err := w.Words(ctx, text, other, func(op wer.Op, _, _ string) {
		if op == wer.Hit || op == wer.Sub {
			together[refSpeakers[at]][hypSpeakers[by]]++
			s.Words++
		}
		if op != wer.Ins {
			at++
		}
		if op != wer.Del {
			by++
		}
	})
	s.WrongSpeaker = s.Words
	for i, partner := range diarize.Assign(together) {
		if partner >= 0 {
			s.WrongSpeaker -= int(together[i][partner])
		}
	}
	return err
}

// lines returns the lines of a score, as labels and cells.
func (s *SpeakerScore) lines(add func(label string, some bool, cell string)) {
	if s == nil {
		s = &SpeakerScore{}
	}
	turns := s.Clips > 0
	part := func(x float64) string { return show.Percent(transcript.Ratio(x, s.All.Total)) }
	add("diarization error rate (DER)", turns, fmt.Sprintf("%s (missed %s, false alarm %s, confusion %s)", show.Percent(s.All.DER),
		part(s.All.Missed), part(s.All.FalseAlarm), part(s.All.Confusion)))
	add("number of speakers right", turns, fmt.Sprintf("%s of %s", show.Count(s.CountRight), show.Count(s.Clips)))
	add("words of the wrong speaker (WDER)", s.Texts > 0, show.Percent(s.WDER))
}
