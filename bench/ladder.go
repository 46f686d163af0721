package bench

import (
	"io"

	"verity/internal/show"
	"verity/transcript"
)

// LadderSchema is the schema field of a ladder.
const LadderSchema = "verity.ladder/1"

// A Ladder compares precisions of one model on the same sound, in plain decoding and
// with an assistant.
type Ladder struct {
	Schema     string  `json:"schema"`
	Model      string  `json:"model"`
	Planted    bool    `json:"planted"`
	Assistant  string  `json:"assistant,omitempty"` // its name
	Dataset    string  `json:"dataset"`
	Utterances int     `json:"utterances"` // utterances run
	Audio      float64 `json:"audio_seconds"`
	Threads    int     `json:"threads"`
	CPU        string  `json:"cpu"`
	Kernels    string  `json:"kernels"` // the instruction set in use
	Rungs      []Rung  `json:"rungs"`   // in the order requested
}

// A Rung is the result of one precision.
type Rung struct {
	Precision string   `json:"precision"`
	GBPS      float64  `json:"gbps"`                       // memory bandwidth, the mean of before and after
	Plain     Speed    `json:"plain"`                      // plain decoding
	Assisted  *Speed   `json:"assisted_arm,omitempty"`     // decoding with the assistant
	Speedup   *Speedup `json:"assisted_speedup,omitempty"` // of decoding
	Verdict   string   `json:"verdict,omitempty"`          // of assisted against plain: identical, different or inconclusive
	WER       *Rate    `json:"wer,omitempty"`              // of the plain arm; left out without references
}

// A Speed is the result of one arm of a rung.
type Speed struct {
	Tokens        int     `json:"tokens"`         // decoded in all runs
	Seconds       float64 `json:"decode_seconds"` // time of decoding them
	Rate          float64 `json:"tokens_per_second"`
	BytesPerToken float64 `json:"bytes_per_token"`         // bytes read, including those of drafting
	MBU           float64 `json:"mbu"`                     // of passes; above 1 where weights stay in a cache
	Memory        int64   `json:"memory_bytes,omitempty"`  // used by loading and running; left out if not measured
	Accepted      float64 `json:"accepted_rate,omitempty"` // share of drafted tokens
	PerRound      float64 `json:"tokens_per_round"`
}

// A Speedup is the geometric mean over pairs of runs. Its interval is null for fewer
// than three pairs.
type Speedup struct {
	Mean     float64     `json:"mean"`
	Interval *[2]float64 `json:"interval"`
}

// A Rate is a word error rate with its 95 % interval.
type Rate struct {
	Value float64 `json:"value"` // errors over reference words
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// SpeedOf computes the Speed of an arm from its statistics, for a memory bandwidth in
// bytes per second.
func SpeedOf(s transcript.Stats, bandwidth float64, memory int64) Speed {
	read := s.Passes
	read.Add(s.DraftPasses)
	return Speed{
		Tokens: s.Tokens, Seconds: s.Seconds.Decode, Rate: s.TokensPerSecond(), Memory: memory,
		BytesPerToken: transcript.Ratio(float64(read.Bytes), float64(s.Tokens)),
		MBU:           transcript.Ratio(read.Rate(), bandwidth),
		Accepted:      s.Drafts.Rate(), PerRound: s.TokensPerRound(),
	}
}

// Write writes the ladder as a table for people.
func (l *Ladder) Write(w io.Writer) error {
	p := &printer{w: w}
	what := l.Model
	if l.Planted {
		what += " (planted text)"
	}
	if l.Assistant != "" {
		what += ", assistant " + l.Assistant
	}
	p.line("%s on %s, %s kernels, %s", what, show.Some(l.Threads, "thread"), l.Kernels, l.CPU)
	p.line("%s: %s, %s of audio", show.Name(l.Dataset), show.Some(l.Utterances, "utterance"), show.Seconds(l.Audio))
	p.line("")
	p.line("%-10s %-9s %9s %9s %13s %6s %10s %10s  %s", "precision", "", "tokens/s", "speed-up", "MB per token", "of RAM",
		"memory", "accepted", "WER")
	first := 0.0
	for _, r := range l.Rungs {
		if first == 0 {
			first = r.Plain.Rate
		}
		wer := ""
		if r.WER != nil {
			wer = show.Percent(r.WER.Value)
		}
		r.Plain.line(p, r.Precision, "plain", first, wer)
		if r.Assisted != nil {
			r.Assisted.line(p, "", "assisted", first, r.note())
		}
	}
	p.line("")
	p.line("speed-up: over the first row; of RAM: what passes read, as a share of the bandwidth of memory;")
	p.line("accepted: share of drafted tokens that the model would have chosen itself.")
	return p.err
}

// note says what the assistant gained, or warns that its output differs.
func (r Rung) note() string {
	if r.Verdict != "identical" {
		return r.Verdict
	}
	gain, i := show.Times(r.Speedup.Mean)+" by drafts", r.Speedup.Interval
	if i == nil {
		return gain + ", of too few pairs for an interval"
	}
	gain += " (" + show.Times(i[0]) + " to " + show.Times(i[1]) + ")"
	if i[0] <= 1 && 1 <= i[1] {
		gain += ", inconclusive: the interval contains 1"
	}
	return gain
}

func (s *Speed) line(p *printer, precision, arm string, first float64, last string) {
	memory, accepted := "", ""
	if s.Memory > 0 {
		memory = show.Bytes(s.Memory)
	}
	if s.Accepted > 0 {
		accepted = show.Digits(100*s.Accepted) + " %"
	}
	p.line("%-10s %-9s %9s %9s %13s %4.0f %% %10s %10s  %s",
		precision, arm, show.Digits(s.Rate), show.Times(transcript.Ratio(s.Rate, first)),
		show.Digits(s.BytesPerToken/1e6), 100*s.MBU, memory, accepted, last)
}
