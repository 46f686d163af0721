package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"verity/internal/show"
)

// Write writes the result as a table for people. A full bar is the ceiling.
func (r *Result) Write(w io.Writer) error {
	p := &printer{}
	p.line("%s in %s on %s, %s kernels, %s", r.title(), r.Precision, show.Some(r.Threads, "thread"), r.Kernels, r.CPU)
	p.line("")
	r.summary(p)
	p.line("%-22s %12s", "this machine can do", "median")
	p.line("%-22s %12s", "float32 arithmetic", si(r.Ceiling.GFLOPS, "GFLOP/s"))
	p.line("%-22s %12s", "int8 arithmetic", si(r.Ceiling.GOPSInt8, "GOP/s"))
	p.line("%-22s %12s", "other vector arithmetic", si(r.Ceiling.GOPSVector, "GOP/s"))
	p.line("%-22s %12s", "reading memory", si(r.Ceiling.GBPS, "GB/s"))
	p.line("")
	p.line("%-22s %12s   %s", "a window of "+show.Seconds(r.WindowSeconds), "time", "share of what the machine can do")
	p.line("%-22s %12s", "log-mel", show.Seconds(r.Mel.Seconds))
	p.share("encoder", r.Encode.Seconds, r.Encode.Utilization, fmt.Sprintf("of arithmetic, %s", ops(r.Encode.FLOPs)))
	p.parts(r.Encode)
	p.share("cross keys and values", r.CrossKV.Seconds, r.CrossKV.Utilization,
		fmt.Sprintf("of arithmetic, %s", ops(r.CrossKV.FLOPs)))
	p.parts(r.CrossKV)
	p.share("decode step", r.Step.Seconds, r.Step.MBU,
		fmt.Sprintf("of bandwidth, %s MB", show.Digits(float64(r.Step.Bytes)/1e6)))
	p.line("")
	p.line("%-22s %12s %8s %10s   %s", "tokens in a pass", "time", "to one", "a token", "share of what the machine can do")
	for _, v := range r.Verify {
		p.line("%4d %-17s %12s %7.2f× %10s   %s %s",
			v.Rows, "", show.Seconds(v.Seconds), v.Ratio, show.Seconds(v.Seconds/float64(v.Rows)),
			bar(v.Share), percent(v.Share))
	}
	p.line("")
	p.line("Medians of %d encoder passes and %d of each other; measured in %s.",
		r.Encode.Runs, r.Step.Runs, show.Seconds(r.Seconds))
	if r.cached() {
		p.line("Over 100 %%: weights come from the caches of the processor, which are faster than memory.")
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// summary writes how fast speech is transcribed, and whether the machine was too busy to measure.
func (r *Result) summary(p *printer) {
	const tokens = 100 // of a typical window
	window := r.Mel.Seconds + r.Encode.Seconds + r.CrossKV.Seconds + tokens*r.Step.Seconds
	p.line("%.3g times as fast as speech: %s with %d tokens take %s, decoded plainly.",
		r.WindowSeconds/window, show.Seconds(r.WindowSeconds), tokens, show.Seconds(window))
	if busy := show.Busy(r.Ceiling.Spread); busy != "" {
		p.line("%s", busy)
	}
	p.line("")
}

// clearly is a share above the accuracy of measurement.
const clearly = 1.05

// cached reports whether some pass was faster than memory can be read.
func (r *Result) cached() bool {
	return r.Step.MBU > clearly || slices.ContainsFunc(r.Verify, func(v Pass) bool { return v.Share > clearly })
}

func (r *Result) title() string {
	switch {
	case r.Random:
		return r.Model + " (random weights)"
	case r.Planted:
		return r.Model + " (planted text)"
	}
	return r.Model
}

// A printer collects lines.
type printer struct{ strings.Builder }

func (p *printer) line(format string, args ...any) {
	fmt.Fprintln(p, show.Line(strings.TrimRight(fmt.Sprintf(format, args...), " ")))
}

func (p *printer) share(name string, seconds, share float64, of string) {
	p.line("%-22s %12s   %s %s %s", name, show.Seconds(seconds), bar(share), percent(share), of)
}

// percent formats a share. By how much it is over the whole says nothing of memory.
func percent(share float64) string {
	if share > clearly {
		return "over 100 %"
	}
	return fmt.Sprintf("%3.0f %%", 100*min(share, 1))
}

// parts writes the share of each kind of operation in a passage's ideal time.
func (p *printer) parts(of Passage) {
	p.line("%-22s %12s   of it %.0f %% products, %.0f %% attention, %.0f %% vectors", "", "",
		100*of.Products/of.Utilization, 100*of.Attention/of.Utilization, 100*of.Vectors/of.Utilization)
}

// bar draws a share as a bar of twenty cells.
func bar(share float64) string {
	const cells = 20
	eighths := int(math.Round(cells * 8 * max(0, min(1, share))))
	full, part := eighths/8, eighths%8
	s := strings.Repeat("█", full)
	if part > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[part-1])
		full++
	}
	return s + strings.Repeat("·", cells-full)
}

func si(x float64, unit string) string { return show.Digits(x) + " " + unit }

// ops formats a number of operations.
func ops(n float64) string {
	if n >= 1e12 {
		return show.Digits(n/1e12) + " TFLOP"
	}
	return show.Digits(n/1e9) + " GFLOP"
}
