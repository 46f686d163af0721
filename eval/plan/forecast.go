package plan

import (
	"fmt"
	"io"
	"strings"

	"verity/assistant"
	"verity/internal/show"
)

// A Forecast is the theory's expectation for drafts of each length. Its JSON is
// verity.plan/1.
type Forecast struct {
	Schema string `json:"schema"`
	Assumptions
	Best         *Outlook  `json:"best"`          // null if plain decoding is best
	BestMeasured *Outlook  `json:"best_measured"` // with V measured
	Lengths      []Outlook `json:"lengths"`
}

// An Outlook is the theory's expectation for one draft length.
type Outlook struct {
	DraftTokens   int      `json:"draft_tokens"`
	TokensARound  float64  `json:"tokens_per_round"`
	Speedup       float64  `json:"speedup"`
	Measured      *float64 `json:"speedup_measured"` // with V measured; null without
	Operations    float64  `json:"operations_ratio"`
	Bytes         float64  `json:"bytes_ratio"`
	BytesPerToken *int64   `json:"bytes_per_token"` // null if the bytes of a step are not known
}

// New returns the forecast for drafts of 0 to most tokens.
func New(a Assumptions, most int) *Forecast {
	f := &Forecast{Schema: "verity.plan/1", Assumptions: a}
	ideal, measured := a.plan(false), a.plan(true)
	for n := 0; n <= most; n++ {
		o := Outlook{
			DraftTokens: n, TokensARound: assistant.Expected(a.Alpha, n), Speedup: ideal.Speedup(n),
			Operations: ideal.OperationsRatio(n), Bytes: ideal.BytesRatio(n),
		}
		if len(a.Verify) > 0 {
			s := measured.Speedup(n)
			o.Measured = &s
		}
		if a.StepBytes > 0 {
			b := int64(o.Bytes * float64(a.StepBytes))
			o.BytesPerToken = &b
		}
		f.Lengths = append(f.Lengths, o)
	}
	if n, _ := ideal.Best(most); n > 0 {
		f.Best = &f.Lengths[n]
	}
	if n, _ := measured.Best(most); n > 0 && len(a.Verify) > 0 {
		f.BestMeasured = &f.Lengths[n]
	}
	return f
}

// Write writes the forecast as a table.
func (f *Forecast) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "α = %.3g, c = %.3g", f.Alpha, f.Cost)
	if f.Agreement != nil {
		fmt.Fprintf(&b, "   agreement %.3f", *f.Agreement)
	}
	if f.Overlap != nil {
		fmt.Fprintf(&b, "   mean of Σ min(p, q) %.3f", *f.Overlap)
	}
	if len(f.Sources) > 0 {
		fmt.Fprintf(&b, "   (%s)", strings.Join(f.Sources, "; "))
	}
	fmt.Fprintf(&b, "\n%.3g %% of drafted tokens are what the model chooses; drafting one costs %.3g of its steps.",
		100*f.Alpha, f.Cost)
	measured := len(f.Verify) > 0
	fmt.Fprintf(&b, "\n\n   draft    tokens   speed-up%s   operations   bytes\n", pick(measured, "      with V", ""))
	fmt.Fprintf(&b, "  tokens   a round     at best%s      a token   a token\n", pick(measured, "    measured", ""))
	for _, o := range f.Lengths {
		fmt.Fprintf(&b, "%8d %9.2f %10.2f×", o.DraftTokens, o.TokensARound, o.Speedup)
		if measured {
			fmt.Fprintf(&b, " %10.2f×", *o.Measured)
		}
		fmt.Fprintf(&b, " %11.2f× %8.2f×", o.Operations, o.Bytes)
		if o.BytesPerToken != nil {
			fmt.Fprintf(&b, "  %s", show.Bytes(*o.BytesPerToken))
		}
		fmt.Fprintf(&b, "%s\n", f.mark(o.DraftTokens))
	}
	fmt.Fprintf(&b, "\n%s\n", f.advice())
	_, err := io.WriteString(w, show.Text(b.String()))
	return err
}

func pick(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// mark marks the best lengths.
func (f *Forecast) mark(n int) string {
	at := func(o *Outlook) bool { return o != nil && o.DraftTokens == n }
	switch {
	case at(f.Best) && at(f.BestMeasured):
		return "  ← best"
	case at(f.BestMeasured):
		return "  ← best as measured"
	case at(f.Best):
		return pick(len(f.Verify) > 0, "  ← best in theory", "  ← best")
	}
	return ""
}

func (f *Forecast) advice() string {
	best, with := f.Best, ""
	speedup := func(o *Outlook) float64 { return o.Speedup }
	if len(f.Verify) > 0 {
		best, with = f.BestMeasured, " on this machine"
		speedup = func(o *Outlook) float64 { return *o.Measured }
	}
	if best == nil {
		return "Plain decoding is best" + with + ": drafts cost more than they bring."
	}
	return fmt.Sprintf("Best%s: drafts of %d, %.2f times as fast, "+
		"for %.2f times the operations and %.2f times the bytes.",
		with, best.DraftTokens, speedup(best), best.Operations, best.Bytes)
}
