package transcript

import "verity/tokenizer"

// A Piece is a part of a segment's text that is either all drafted or not at all.
type Piece struct {
	Text     string `json:"text"`
	Accepted bool   `json:"accepted"` // proposed by the assistant and accepted by the model
}

// Pieces splits the text of s by Accepted. A character belongs to the token that
// completes it.
func (s Segment) Pieces(tok *tokenizer.Tokenizer) (list []Piece) {
	put := func(text string, accepted bool) {
		switch n := len(list); {
		case text == "":
		case n > 0 && list[n-1].Accepted == accepted:
			list[n-1].Text += text
		default:
			list = append(list, Piece{text, accepted})
		}
	}
	stream := tok.Stream()
	for i, t := range s.Tokens {
		put(stream.Push(t), i < len(s.Accepted) && s.Accepted[i])
	}
	put(stream.Flush(), false)
	return list
}
