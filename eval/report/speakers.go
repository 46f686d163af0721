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

// A SpeakerScore is how well speakers were identified. Rates of who speaks when are diarize.Errors.Rate, those
// of pyannote.metrics.
type SpeakerScore struct {
	Clips      int `json:"clips"`       // of which the dataset has who speaks when
	CountRight int `json:"count_right"` // clips with the right number of speakers

	All         SpeakerErrors `json:"all"`          // errors of who speaks when, in seconds
	Collar      SpeakerErrors `json:"collar"`       // without 0.25 s on either side of each boundary
	SkipOverlap SpeakerErrors `json:"skip_overlap"` // and without overlapping speech

	Texts int `json:"texts"` // clips of which the dataset has who says what

	// The concatenated minimum-permutation word error rate: all words of a speaker are one text, and each
	// speaker is compared with the one of the reference that makes the fewest errors. Source: Watanabe et al. 2020,
	// "CHiME-6 Challenge"; meeteval 0.4.3.
	CPWER            float64 `json:"cpwer"`
	CPErrors         int     `json:"cp_errors"`          // words wrong in cpwer
	CPReferenceWords int     `json:"cp_reference_words"` // of all

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

func (e *SpeakerErrors) add(o SpeakerErrors) {
	e.Errors.Add(o.Errors)
	e.DER = 0
	if e.Total > 0 { // without speech there is no rate
		e.DER = e.Rate()
	}
}

// add adds the score of a clip.
func (s *SpeakerScore) add(o *SpeakerScore) {
	s.Clips += o.Clips
	s.CountRight += o.CountRight
	s.All.add(o.All)
	s.Collar.add(o.Collar)
	s.SkipOverlap.add(o.SkipOverlap)
	s.Texts += o.Texts
	s.CPErrors += o.CPErrors
	s.CPReferenceWords += o.CPReferenceWords
	s.Words += o.Words
	s.WrongSpeaker += o.WrongSpeaker
	s.CPWER = transcript.Ratio(float64(s.CPErrors), float64(s.CPReferenceWords))
	s.WDER = transcript.Ratio(float64(s.WrongSpeaker), float64(s.Words))
}

// usualCollar is in seconds.
const usualCollar = 0.25

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
		s.Collar.Errors = diarize.Scoring{Collar: usualCollar}.Score(reference, found)
		s.SkipOverlap.Errors = diarize.Scoring{Collar: usualCollar, SkipOverlap: true}.Score(reference, found)
	}
	if len(r.Speech) > 0 {
		s.Texts = 1
		var found []Speech
		for _, g := range r.Segments {
			found = append(found, Speech{g.Speaker, g.Text})
		}
		if err := s.scoreWords(ctx, w, normalized(r.Speech, normal), normalized(found, normal)); err != nil {
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

// normalized returns the words of each stretch of one speaker, normalised together.
func normalized(speech []Speech, normal func(string) string) (words []speakerWords) {
	number := map[string]int{}
	for i := 0; i < len(speech); {
		var text strings.Builder
		who := speech[i].Speaker
		for ; i < len(speech) && speech[i].Speaker == who; i++ {
			text.WriteString(" " + speech[i].Text)
		}
		if _, ok := number[who]; !ok {
			number[who] = len(number)
		}
		words = append(words, speakerWords{number[who], strings.Fields(normal(text.String()))})
	}
	return words
}

// speakerWords are words of one speaker, by number from 0.
type speakerWords struct {
	speaker int
	words   []string
}

// bySpeaker returns the text of each speaker.
func bySpeaker(speech []speakerWords) (texts []string) {
	for _, s := range speech {
		for len(texts) <= s.speaker {
			texts = append(texts, "")
		}
		texts[s.speaker] += strings.Join(s.words, " ") + " "
	}
	return texts
}

// joined returns all words in order, and the speaker of each.
func joined(speech []speakerWords) (text string, speakers []int) {
	var words []string
	for _, s := range speech {
		words = append(words, s.words...)
		for range s.words {
			speakers = append(speakers, s.speaker)
		}
	}
	return strings.Join(words, " "), speakers
}

// scoreWords counts errors of words with speakers.
func (s *SpeakerScore) scoreWords(ctx context.Context, w *wer.Scorer, reference, found []speakerWords) error {
	refs, hyps := bySpeaker(reference), bySpeaker(found)
	// Speakers without a partner have no word right. The best pairing saves the most of those errors.
	saved := make([][]float64, len(refs))
	for i, ref := range refs {
		for _, hyp := range hyps {
			score, err := w.Score(ctx, ref, hyp)
			if err != nil {
				return err
			}
			apart := len(strings.Fields(ref)) + len(strings.Fields(hyp))
			saved[i] = append(saved[i], float64(apart-score.Words.Errors()))
		}
	}
	text, refSpeakers := joined(reference)
	other, hypSpeakers := joined(found)
	s.CPReferenceWords, s.CPErrors = len(refSpeakers), len(refSpeakers)+len(hypSpeakers)
	for i, partner := range diarize.Assign(saved) {
		if partner >= 0 {
			s.CPErrors -= int(saved[i][partner])
		}
	}
	together := make([][]float64, len(refs))
	for i := range together {
		together[i] = make([]float64, len(hyps))
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
	for _, e := range []struct {
		label string
		SpeakerErrors
	}{
		{"diarization error rate (DER)", s.All},
		{"  with a collar of 0.25 s", s.Collar},
		{"  and without overlap", s.SkipOverlap},
	} {
		part := func(x float64) string { return show.Percent(transcript.Ratio(x, e.Total)) }
		add(e.label, turns, fmt.Sprintf("%s (missed %s, false alarm %s, confusion %s)", show.Percent(e.DER),
			part(e.Missed), part(e.FalseAlarm), part(e.Confusion)))
	}
	add("number of speakers right", turns, fmt.Sprintf("%s of %s", show.Count(s.CountRight), show.Count(s.Clips)))
	add("word error rate by speaker (cpWER)", s.Texts > 0, show.Percent(s.CPWER))
	add("words of the wrong speaker (WDER)", s.Texts > 0, show.Percent(s.WDER))
}
