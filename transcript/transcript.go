package transcript

import (
	"cmp"
	"encoding/json"

	"verity/tokenizer"
)

// A Transcript is the text of one clip.
type Transcript struct {
	Name     string  // of the clip, as the caller named it
	Text     string  // of all segments
	Language string  // a code such as "en"
	Duration float64 // of the clip
	Segments []Segment
	Stats    Stats
	Proof    Proof
}

// A Proof tells two transcripts apart that differ in any choice of the decoder, in
// an attempt that was given up or a window without speech, too.
type Proof struct {
	Tokens   string `json:"tokens"`   // hash of all tokens chosen, end-of-text among them
	LogProbs string `json:"logprobs"` // of their log-probabilities, no-speech probabilities and temperatures
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

	// Broken says why the assistant could not draft everywhere; empty if it could.
	// The text is the same.
	Broken string `json:"assistant_broken,omitempty"`

	Passes      Traffic `json:"passes"`       // of the model
	DraftPasses Traffic `json:"draft_passes"` // of the assistant's decoder, if it has one

	// Bandwidth is what this machine reads from memory, in bytes a second; 0 if that
	// was not measured.
	Bandwidth float64 `json:"bandwidth,omitempty"`
}

// Traffic is what passes had to read: weights, keys and values. A pass that
// several files share is shared out among them.
type Traffic struct {
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

func (t *Traffic) add(o Traffic) {
	t.Bytes += o.Bytes
	t.Seconds += o.Seconds
}

// Rate returns the bytes read in a second; 0 if nothing was.
func (t Traffic) Rate() float64 { return ratio(float64(t.Bytes), t.Seconds) }

// ratio is a/b, 0 if nothing was measured.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
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
	s.Passes.add(o.Passes)
	s.DraftPasses.add(o.DraftPasses)
	s.Bandwidth = cmp.Or(o.Bandwidth, s.Bandwidth)
	s.Broken = cmp.Or(s.Broken, o.Broken)
}

// TokensPerRound returns how many tokens a pass of the model yields; 0 without
// any pass.
func (s Stats) TokensPerRound() float64 { return ratio(float64(s.Tokens), float64(s.Drafts.Rounds)) }

// TokensPerSecond returns how many tokens a second of decoding yields, drafting
// and rules included.
func (s Stats) TokensPerSecond() float64 { return ratio(float64(s.Tokens), s.Seconds.Decode) }

// MBU returns what the model's passes read over what they could have, by the
// bandwidth measured; 0 if it was not. Weights that stay in a cache make it more
// than 1.
func (s Stats) MBU() float64 { return ratio(s.Passes.Rate(), s.Bandwidth) }

// MarshalJSON adds what follows from the counts; null where nothing was measured.
func (s Stats) MarshalJSON() ([]byte, error) {
	type counts Stats
	known := func(v float64, n int) *float64 {
		if n == 0 {
			return nil
		}
		return &v
	}
	d := s.Drafts
	return json.Marshal(struct {
		counts
		TokensPerSecond *float64 `json:"tokens_per_second"`
		Agreement       *float64 `json:"alpha_agreement"`
		Overlap         *float64 `json:"alpha_overlap"`
		MBU             *float64 `json:"mbu"`
	}{
		counts(s), known(s.TokensPerSecond(), s.Tokens), known(d.Agreement(), d.Accepted+d.Refused),
		known(d.MeanOverlap(), d.Weighed), known(s.MBU(), int(s.Bandwidth)),
	})
}

// Drafts says what the assistant did. Without one there are rounds all the same:
// each chooses one token.
type Drafts struct {
	Rounds    int   `json:"rounds"`    // passes of the model over a draft, or over nothing
	Drafted   int   `json:"drafted"`   // tokens the assistant proposed
	Accepted  int   `json:"accepted"`  // of these, the model's own choice
	Refused   int   `json:"refused"`   // rounds in which a token was: so many were judged beside the accepted
	Histogram []int `json:"histogram"` // rounds by number of accepted tokens

	// Overlap is the sum of Σ min(p, q) over so many Weighed places, p and q being
	// the odds of model and assistant; none unless that was asked for.
	Weighed int     `json:"weighed"`
	Overlap float64 `json:"overlap"`
}

// Agreement returns the share of the judged tokens that were accepted: those up to
// the first that was refused. 0 without any.
func (d Drafts) Agreement() float64 {
	return ratio(float64(d.Accepted), float64(d.Accepted+d.Refused))
}

// MeanOverlap returns the mean of Σ min(p, q); 0 if that was not weighed.
func (d Drafts) MeanOverlap() float64 { return ratio(d.Overlap, float64(d.Weighed)) }

// Rate returns the share of drafted tokens that were accepted; 0 without any.
func (d Drafts) Rate() float64 { return ratio(float64(d.Accepted), float64(d.Drafted)) }

func (d *Drafts) add(o Drafts) {
	d.Rounds += o.Rounds
	d.Drafted += o.Drafted
	d.Accepted += o.Accepted
	d.Refused += o.Refused
	d.Weighed += o.Weighed
	d.Overlap += o.Overlap
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
	Rules   float64 `json:"rules"`  // of that, rules and choices
	Total   float64 `json:"total"`
}

func (s *Seconds) add(o Seconds) {
	s.Mel += o.Mel
	s.Encode += o.Encode
	s.CrossKV += o.CrossKV
	s.Decode += o.Decode
	s.Draft += o.Draft
	s.Verify += o.Verify
	s.Rules += o.Rules
	s.Total += o.Total
}
