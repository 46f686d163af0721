package transcript

import (
	"cmp"
	"encoding/json"
)

// Stats counts the work of a transcription. The same type counts a round of
// decoding, a window, a file, and the sum of many files.
type Stats struct {
	Work
	Drafts  Drafts  `json:"drafts"`
	Seconds Seconds `json:"seconds"`

	// Broken says why the assistant failed to draft; empty if it did not fail. The
	// text is the same in either case.
	Broken string `json:"assistant_broken,omitempty"`

	Passes      Traffic `json:"passes"`       // of the model
	DraftPasses Traffic `json:"draft_passes"` // of the assistant's decoder, if it has one

	// Bandwidth is the measured memory bandwidth of this machine in bytes per second;
	// 0 if it was not measured.
	Bandwidth float64 `json:"bandwidth,omitempty"`
}

// Work counts windows and tokens.
type Work struct {
	Windows  int `json:"windows"`  // decoded
	Silent   int `json:"silent"`   // of these, skipped as silence
	Stuck    int `json:"stuck"`    // of these, kept as one segment because timestamps did not advance
	Attempts int `json:"attempts"` // decodings; more than Windows where the fallback was used
	Tokens   int `json:"tokens"`   // chosen in all attempts, end-of-text included
}

// Add adds the counts of o.
func (w *Work) Add(o Work) { addFields(w, o) }

// Traffic is the memory that passes read: weights, keys and values. A pass that
// several streams share is divided among them.
type Traffic struct {
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// Add adds the traffic of o.
func (t *Traffic) Add(o Traffic) { addFields(t, o) }

// Rate returns bytes per second; 0 if nothing was read.
func (t Traffic) Rate() float64 { return Ratio(float64(t.Bytes), t.Seconds) }

// Ratio returns a/b, or 0 if b is 0: a rate of which nothing was measured.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Add adds the counts and times of o.
func (s *Stats) Add(o Stats) {
	s.Work.Add(o.Work)
	s.Drafts.Add(o.Drafts)
	s.Seconds.Add(o.Seconds)
	s.Passes.Add(o.Passes)
	s.DraftPasses.Add(o.DraftPasses)
	s.Bandwidth = cmp.Or(o.Bandwidth, s.Bandwidth)
	s.Broken = cmp.Or(s.Broken, o.Broken)
}

// TokensPerRound returns the tokens that a pass of the model yields; 0 without any
// pass.
func (s Stats) TokensPerRound() float64 { return Ratio(float64(s.Tokens), float64(s.Drafts.Rounds)) }

// TokensPerSecond returns the tokens per second of decoding, drafting and rules
// included.
func (s Stats) TokensPerSecond() float64 { return Ratio(float64(s.Tokens), s.Seconds.Decode) }

// MBU returns the memory bandwidth utilisation of the model's passes: the rate at
// which they read over the measured bandwidth. It is 0 if that was not measured, and
// more than 1 where weights stay in a cache.
func (s Stats) MBU() float64 { return Ratio(s.Passes.Rate(), s.Bandwidth) }

// MarshalJSON adds the rates that follow from the counts; null where nothing was
// measured.
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

// Drafts counts rounds and drafts. Plain decoding has rounds too: each yields one
// token.
type Drafts struct {
	Rounds    int   `json:"rounds"`    // passes of the model over a draft, or over no draft
	Drafted   int   `json:"drafted"`   // tokens the assistant proposed
	Accepted  int   `json:"accepted"`  // of these, tokens that the model chose too
	Refused   int   `json:"refused"`   // rounds with a refused token; Accepted + Refused tokens were judged
	Kept      int   `json:"kept"`      // tokens that rounds yielded, end-of-text included
	Histogram []int `json:"histogram"` // rounds by number of accepted tokens

	// Empty counts the rounds without a draft. They are also in Histogram[0]. Records
	// from before it was counted have 0.
	Empty int `json:"empty,omitempty"`

	// Overlap is the sum of Σ min(p, q) over so many Weighed places, p and q being
	// the probabilities of model and assistant. It is 0 unless asked for.
	Weighed int     `json:"weighed"`
	Overlap float64 `json:"overlap"`
}

// Count adds a round.
func (d *Drafts) Count(drafted, accepted, kept int) {
	d.Rounds++
	d.Drafted += drafted
	d.Accepted += accepted
	d.Kept += kept
	if drafted == 0 {
		d.Empty++
	}
	// After a draft that is accepted as a whole comes one more token, but nothing
	// comes after an end-of-text, whatever was drafted there.
	if accepted < drafted && kept > accepted {
		d.Refused++
	}
	for len(d.Histogram) <= accepted {
		d.Histogram = append(d.Histogram, 0)
	}
	d.Histogram[accepted]++
}

// Add adds the counts of o.
func (d *Drafts) Add(o Drafts) { addFields(d, o) }

// Rate returns the share of drafted tokens that were accepted; 0 without any.
func (d Drafts) Rate() float64 { return Ratio(float64(d.Accepted), float64(d.Drafted)) }

// Agreement returns the share of judged tokens that were accepted: those up to and
// including the first refused one. It is the α of a chain of independent drafts; 0
// without any. Rate is lower: it also counts tokens drafted after the first refused
// one, which nobody judged.
func (d Drafts) Agreement() float64 {
	return Ratio(float64(d.Accepted), float64(d.Accepted+d.Refused))
}

// MeanOverlap returns the mean of Σ min(p, q); 0 if that was not measured.
func (d Drafts) MeanOverlap() float64 { return Ratio(d.Overlap, float64(d.Weighed)) }

// MeanKept returns the tokens a round yields; 0 without any round.
func (d Drafts) MeanKept() float64 { return Ratio(float64(d.Kept), float64(d.Rounds)) }

// Seconds is wall time by stage. It is the one part of a transcript that differs
// between runs.
type Seconds struct {
	Mel     float64 `json:"mel"`
	Encode  float64 `json:"encode"`
	CrossKV float64 `json:"cross_kv"`
	Decode  float64 `json:"decode"`          // all of decoding, drafts and rules included
	Draft   float64 `json:"draft"`           // of Decode, drafting
	Verify  float64 `json:"verify"`          // of Decode, passes of the model, rules and choices
	Rules   float64 `json:"rules"`           // of Verify, rules and choices
	Words   float64 `json:"words,omitempty"` // finding the times of words
	Total   float64 `json:"total"`
}

// ShareDecode scales the times of decoding and of finding words down to what is left of
// wall. Windows that do so at the same time each count the whole of it, waiting included.
func (s *Seconds) ShareDecode(wall float64) {
	left, all := max(0, wall-s.Mel-s.Encode-s.CrossKV), s.Decode+s.Words
	if all > left {
		share := left / all
		for _, t := range []*float64{&s.Decode, &s.Draft, &s.Verify, &s.Rules, &s.Words} {
			*t *= share
		}
	}
}

// Add adds the times of o.
func (s *Seconds) Add(o Seconds) { addFields(s, o) }
