package models

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"verity/cmd/internal/cli"
	"verity/internal/show"
	"verity/model/hub"
	"verity/precision"
	"verity/transcribe"
)

// A textTable is text in two columns, labels and their values, folded to the width of help.
type textTable struct{ strings.Builder }

const labelWidth = 17

func (s *textTable) row(label, format string, args ...any) {
	for _, line := range show.Fold(fmt.Sprintf(format, args...), cli.HelpWidth-labelWidth) {
		fmt.Fprintf(s, "%-*s%s\n", labelWidth, label, line)
		label = ""
	}
}

func (i *Properties) print(w io.Writer) error {
	var s textTable
	where := show.Name(i.Model)
	if cli.Embedded(i.Model) {
		where = i.Model + ", inside this program; --model openai/whisper-" + i.Model +
			" takes the published weights, in float16"
	}
	s.row("model", "%s", where)
	i.printUse(&s)
	s.WriteByte('\n')
	i.printAuto(&s)
	s.WriteByte('\n')
	i.printNetwork(&s)
	if i.Planted != nil {
		s.row("planted", "%v: this model was never trained", i.Planted)
	}
	if len(i.names) > 1 {
		s.WriteByte('\n')
		s.row("languages", "%s", strings.Join(i.names, ", "))
	}
	s.WriteByte('\n')
	s.row("other models", "--model takes the name of a published one (small, large-v3, turbo, openai/whisper-small; "+
		"verity models --help) or the path of a checkpoint: "+
		"of Hugging Face, openai/whisper (.pt), CTranslate2 or whisper.cpp (ggml)")
	_, err := io.WriteString(w, s.String())
	return err
}

// printUse writes what the model is good for and what it takes.
func (i *Properties) printUse(s *textTable) {
	switch {
	case !i.HasEncoder:
		s.row("use", "drafts for another model; it cannot transcribe by itself")
	case len(i.Languages) == 1:
		s.row("use", "transcribes English")
	default:
		text := "transcribes %d languages, and translates them into English"
		if cli.Embedded(i.Model) {
			text += ", poorly: larger models do better"
		}
		s.row("use", text, len(i.Languages))
	}
	s.row("size", "%s weights, stored as %s in %s", show.Rounded(i.Params), i.DType, show.Bytes(i.Bytes))
	if i.HasEncoder {
		s.row("memory", "about %s to transcribe one file at a time", show.Bytes(i.Memory))
	}
}

// printAuto writes what auto chooses on this machine.
func (i *Properties) printAuto(s *textTable) {
	s.row("on this machine", "%s/%s, unless flags say otherwise:", runtime.GOOS, runtime.GOARCH)
	why := ""
	switch p := i.Auto.Precision; {
	case i.explicit:
	case i.Bytes > mostRead:
		why = " if it holds every weight exactly, else f32"
	case p == strings.ToLower(i.DType):
		why = ", as stored"
	case p == precision.F16.String() && i.DType == "f32":
		why = ", which holds every weight exactly"
	}
	s.row("--precision", "%s%s", i.Auto.Precision, why)
	cores := "one for each fast core"
	if i.Auto.Threads == 1 {
		cores = "for one core"
	}
	s.row("--threads", "%d, %s, with %s instructions",
		i.Auto.Threads, cores, strings.ReplaceAll(i.Auto.Kernels, "ref", "plain Go's"))
	s.row("--assistant", "%s", i.drafting())
	if len(i.Passes) > 0 {
		label := "drafts"
		for _, line := range i.costLines() {
			s.row(label, "%s", line)
			label = ""
		}
		if busy := show.Busy(i.Spread); busy != "" {
			s.row("", "%s", busy)
		}
	}
}

// costLines describe the cost of passes and of drafts, and the share of right tokens from which drafts of each length pay.
func (i *Properties) costLines() []string {
	var rows, steps, lengths, shares []string
	can := false
	for _, p := range i.PaysFrom {
		rows, steps = append(rows, strconv.Itoa(p.Length+1)), append(steps, fmt.Sprintf("%.2f", i.Passes[p.Length].Ratio))
		lengths, shares = append(lengths, strconv.Itoa(p.Length)), append(shares, fmt.Sprintf("%.0f", 100*p.Share))
		can = can || p.Share < 1
	}
	pay := "drafts cannot pay, even if all tokens are right"
	if can {
		pay = fmt.Sprintf("in windows of %d tokens, drafts of %s tokens pay where %s %% are right", windowTokens,
			strings.Join(lengths, ", "), strings.Join(shares, ", "))
	}
	takes := cmp.Or(i.assistant, "the time of drafting is left out (--assistant NAME)")
	return []string{fmt.Sprintf("a pass of %s rows takes %s steps of %.1f ms",
		strings.Join(rows, ", "), strings.Join(steps, ", "), 1000*i.Passes[0].Seconds), takes, pay}
}

// drafting describes the assistant that auto chooses, or one that could be downloaded.
func (i *Properties) drafting() string {
	switch i.Auto.Assistant {
	case string(transcribe.None):
	case string(transcribe.Encoder):
		return "encoder: drafts from the output of base's encoder"
	default:
		return i.Auto.Assistant
	}
	repo, known := hub.Repo(i.Model)
	if partners := hub.Partners(repo); known && len(partners) > 0 {
		return "none; verity models pull " + partners[0] + " would be one"
	}
	return "none: plain decoding"
}

func (i *Properties) printNetwork(s *textTable) {
	const shape = "%d layers, width %d, %d heads, %s positions"
	d := i.Dims
	s.row("window", "%g s: %s frames of %d mel bins", i.Window, show.Count(d.WindowFrames()), d.MelBins)
	if i.HasEncoder {
		s.row("encoder", shape, d.AudioLayers, d.AudioWidth, d.AudioHeads, show.Count(d.AudioPositions))
	} else {
		s.row("encoder", "none")
	}
	s.row("decoder", shape, d.TextLayers, d.TextWidth, d.TextHeads, show.Count(d.TextPositions))
	if i.Languages == nil {
		s.row("vocabulary", "%s tokens, with the names of the model that it drafts for", show.Count(d.Vocab))
	} else {
		s.row("vocabulary", "%s tokens, %s of them timestamps", show.Count(d.Vocab), show.Count(i.Timestamps))
	}
}
