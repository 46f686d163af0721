package transcript

import (
	"slices"

	"verity/tokenizer"
)

// A TextRun is a stretch of a segment's text whose tokens were all drafted and accepted, or none.
type TextRun struct {
	Text     string `json:"text"`     // the text
	Accepted bool   `json:"accepted"` // proposed by the assistant and accepted by the model

	// Only with RunsByRound:

	Round   int    `json:"round,omitempty"`   // pass of the model that chose the tokens, from 1 in the transcript
	Refused string `json:"refused,omitempty"` // drafted text before this one that the model rejected
	Resumed bool   `json:"found,omitempty"`   // drafting from a text resumes here, after the text was lost
}

// RunsByDraft splits the text of s where accepted drafts begin and end. A character belongs to
// the token that completes it.
func (s Segment) RunsByDraft(tok *tokenizer.Tokenizer) (list []TextRun) {
	add := func(text string, accepted bool) {
		switch n := len(list); {
		case text == "":
		case n > 0 && list[n-1].Accepted == accepted:
			list[n-1].Text += text
		default:
			list = append(list, TextRun{Text: text, Accepted: accepted})
		}
	}
	stream := tok.Stream()
	for i, t := range s.Tokens {
		add(stream.Push(t), i < len(s.Origins) && s.Origins[i].Accepted)
	}
	add(stream.Flush(), false)
	return editRuns(list, s.edits)
}

// RunsByRound splits the text of s where a round ends or where accepted drafts do. It returns
// nil unless some round accepted or refused something.
func (s Segment) RunsByRound(tok *tokenizer.Tokenizer) (list []TextRun) {
	drafted := func(m TokenOrigin) bool { return m.Accepted || len(m.Refused) > 0 }
	if len(s.Origins) != len(s.Tokens) || !slices.ContainsFunc(s.Origins, drafted) {
		return nil
	}
	add := func(p TextRun) {
		last := len(list) - 1
		switch {
		case last >= 0 && list[last].Round == p.Round && list[last].Accepted == p.Accepted:
			list[last].Text += p.Text
		case p.Text != "" || p.Refused != "":
			list = append(list, p)
		}
	}
	stream := tok.Stream()
	p, found := TextRun{}, false
	for i, t := range s.Tokens {
		m := s.Origins[i]
		found = found || m.Resumed
		p = TextRun{Accepted: m.Accepted, Round: m.Round + 1, Refused: tok.Decode(m.Refused), Resumed: found}
		if tok.IsText(t) {
			p.Text = stream.Push(t)
		}
		if p.Text != "" || p.Refused != "" {
			add(p)
			found = false
		}
	}
	add(TextRun{Text: stream.Flush(), Accepted: p.Accepted, Round: p.Round})
	return editRuns(list, s.edits)
}
