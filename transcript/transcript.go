package transcript

import "verity/tokenizer"

// A Transcript is the text of one clip.
type Transcript struct {
	Name     string  // of the clip, as the caller named it
	Text     string  // of all segments
	Language string  // a code such as "en"
	Duration float64 // of the clip
	Segments []Segment
	Stats    Stats
}

// A Segment is text with a start and an end. The JSON names are upstream's.
type Segment struct {
	ID     int               `json:"id"`    // 0, 1, … in the transcript
	Seek   int               `json:"seek"`  // first frame of the window it was heard in
	Start  float64           `json:"start"` // s
	End    float64           `json:"end"`   // s
	Text   string            `json:"text"`
	Tokens []tokenizer.Token `json:"tokens"` // timestamps included

	// Drafted tells of each token whether the assistant drafted it. It is empty
	// unless asked for, and not upstream's.
	Drafted []bool `json:"drafted,omitempty"`

	// What follows belongs to the whole window.

	Temperature      float64 `json:"temperature"`       // that the window was decoded at
	AvgLogProb       float64 `json:"avg_logprob"`       // natural logarithm, mean of all tokens and end-of-text
	CompressionRatio float64 `json:"compression_ratio"` // bytes of text per byte of zlib's
	NoSpeechProb     float64 `json:"no_speech_prob"`    // 0 if the vocabulary has no such token
}

// Stats says what the work was.
type Stats struct {
	Windows  int `json:"windows"`  // that were heard
	Silent   int `json:"silent"`   // of these, passed over for want of speech
	Stuck    int `json:"stuck"`    // of these, moved past because their timestamps led nowhere
	Attempts int `json:"attempts"` // decodings; more than Windows where gates failed
	Tokens   int `json:"tokens"`   // chosen in all attempts, end-of-text included

	Drafts  Drafts  `json:"drafts"`
	Seconds Seconds `json:"seconds"`
}

// Add adds the counts and times of o, for a total of several clips.
func (s *Stats) Add(o Stats) {
	s.Windows += o.Windows
	s.Silent += o.Silent
	s.Stuck += o.Stuck
	s.Attempts += o.Attempts
	s.Tokens += o.Tokens
	s.Drafts.add(o.Drafts)
	s.Seconds.add(o.Seconds)
}

// TokensPerRound returns how many tokens a pass of the model yields; 0 without
// any pass.
func (s Stats) TokensPerRound() float64 {
	if s.Drafts.Rounds == 0 {
		return 0
	}
	return float64(s.Tokens) / float64(s.Drafts.Rounds)
}

// Drafts says what the assistant did. Without one there are rounds all the same:
// each chooses one token.
type Drafts struct {
	Rounds    int   `json:"rounds"`    // passes of the model over a draft, or over nothing
	Drafted   int   `json:"drafted"`   // tokens the assistant proposed
	Accepted  int   `json:"accepted"`  // of these, the model's own choice
	Histogram []int `json:"histogram"` // rounds by number of accepted tokens
}

// Rate returns the share of drafted tokens that were accepted; 0 without any.
func (d Drafts) Rate() float64 {
	if d.Drafted == 0 {
		return 0
	}
	return float64(d.Accepted) / float64(d.Drafted)
}

func (d *Drafts) add(o Drafts) {
	d.Rounds += o.Rounds
	d.Drafted += o.Drafted
	d.Accepted += o.Accepted
	histogram := make([]int, max(len(d.Histogram), len(o.Histogram)))
	copy(histogram, d.Histogram)
	for i, n := range o.Histogram {
		histogram[i] += n
	}
	d.Histogram = histogram
}

// Seconds is wall time by stage. It is the one part of a transcript that
// differs between runs.
type Seconds struct {
	Mel     float64 `json:"mel"`
	Encode  float64 `json:"encode"`
	CrossKV float64 `json:"cross_kv"`
	Decode  float64 `json:"decode"` // all of decoding, drafts and rules included
	Draft   float64 `json:"draft"`  // of that, drafting
	Verify  float64 `json:"verify"` // of that, passes of the model, rules and choices
	Total   float64 `json:"total"`
}

func (s *Seconds) add(o Seconds) {
	s.Mel += o.Mel
	s.Encode += o.Encode
	s.CrossKV += o.CrossKV
	s.Decode += o.Decode
	s.Draft += o.Draft
	s.Verify += o.Verify
	s.Total += o.Total
}
