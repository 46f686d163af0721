package assistant

import (
	"time"

	"verity/decoder"
)

// Stats counts what drafting did. It is data: nothing that is written as text
// depends on it.
type Stats struct {
	Rounds    int   `json:"rounds"`
	Drafted   int   `json:"drafted"`   // tokens proposed
	Accepted  int   `json:"accepted"`  // of those, kept
	Refused   int   `json:"refused"`   // rounds in which a token was: so many were judged beside the accepted
	Kept      int   `json:"kept"`      // tokens that entered the text, end-of-text included
	Histogram []int `json:"histogram"` // rounds by number of accepted tokens

	Draft  time.Duration `json:"draft_ns"`  // spent proposing
	Verify time.Duration `json:"verify_ns"` // between a draft and its commit: the pass, the rules, the choice
	Rules  time.Duration `json:"rules_ns"`  // of that, in rules and choices

	Overlap Overlap `json:"overlap"` // of the odds of both sides, where they were weighed

	Passes      decoder.Traffic `json:"-"` // of the target
	DraftPasses decoder.Traffic `json:"-"` // of the assistant's decoder, if it has one
}

// A Round is what one round did.
type Round struct {
	First                   bool // of its window: the pass runs the prompt too
	Drafted, Accepted, Kept int
	Draft, Verify           time.Duration
}

// Count adds a round.
func (s *Stats) Count(r Round) {
	s.Rounds++
	s.Drafted += r.Drafted
	s.Accepted += r.Accepted
	// Behind a draft that is accepted as a whole comes another token, but nothing
	// behind an end-of-text, whatever was drafted there.
	if r.Accepted < r.Drafted && r.Kept > r.Accepted {
		s.Refused++
	}
	s.Kept += r.Kept
	s.Draft += r.Draft
	s.Verify += r.Verify
	for len(s.Histogram) <= r.Accepted {
		s.Histogram = append(s.Histogram, 0)
	}
	s.Histogram[r.Accepted]++
}

// Add adds the counts of o.
func (s *Stats) Add(o Stats) {
	s.Rounds += o.Rounds
	s.Drafted += o.Drafted
	s.Accepted += o.Accepted
	s.Refused += o.Refused
	s.Kept += o.Kept
	s.Draft += o.Draft
	s.Verify += o.Verify
	s.Rules += o.Rules
	s.Overlap.join(o.Overlap)
	s.Passes.Add(o.Passes)
	s.DraftPasses.Add(o.DraftPasses)
	for len(s.Histogram) < len(o.Histogram) {
		s.Histogram = append(s.Histogram, 0)
	}
	for i, n := range o.Histogram {
		s.Histogram[i] += n
	}
}

// Rate returns the share of drafted tokens that were accepted; 0 without any.
func (s Stats) Rate() float64 {
	if s.Drafted == 0 {
		return 0
	}
	return float64(s.Accepted) / float64(s.Drafted)
}

// Agreement returns the share of the judged tokens that were accepted, the α of a
// chain of independent drafts; 0 without any. Rate is lower: it also counts what
// was drafted behind the first refused token, and lost with it.
func (s Stats) Agreement() float64 {
	if s.Accepted+s.Refused == 0 {
		return 0
	}
	return float64(s.Accepted) / float64(s.Accepted+s.Refused)
}

// MeanKept returns the tokens a round yields; 0 without any round.
func (s Stats) MeanKept() float64 {
	if s.Rounds == 0 {
		return 0
	}
	return float64(s.Kept) / float64(s.Rounds)
}
