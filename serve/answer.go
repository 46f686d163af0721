package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// An answer writes a transcript in the format of its request: segment by segment to a stream, or all of it at the end.
type answer struct {
	w      http.ResponseWriter
	q      *request
	model  *transcribe.Model
	stream *stream   // or nil
	begun  bool      // the stream has text
	probs  []logProb // of all text so far, if the request asks for them
}

// A logProb is OpenAI's log-probability of a token. The tokens of a list together are the text.
type logProb struct {
	Token   string  `json:"token"`
	LogProb float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // numbers, not base64
}

// logProbs returns the log-probabilities of the segment that follows those of a.probs; nil unless the request asks for
// them.
func (a *answer) logProbs(s transcript.Segment) (list []logProb) {
	if !a.q.logProbs {
		return nil
	}
	for i, t := range s.Tokens {
		if t >= a.model.Tokenizer.EOT { // a timestamp, not text
			continue
		}
		text := a.model.Tokenizer.Bytes(t)
		if len(a.probs)+len(list) == 0 {
			text = bytes.TrimLeft(text, " ")
		}
		p := logProb{Token: string(text), LogProb: s.LogProbs[i], Bytes: []int{}}
		for _, b := range text {
			p.Bytes = append(p.Bytes, int(b))
		}
		list = append(list, p)
	}
	return list
}

// close ends the stream, if there is one.
func (a *answer) close() {
	if a.stream != nil {
		a.stream.end()
	}
}

// streamSegment streams the text of a segment, and its times if the request asks for times of segments or words.
func (a *answer) streamSegment(s transcript.Segment) {
	if a.stream == nil || s.Text == "" {
		return
	}
	text := s.Text
	if !a.begun {
		text = tokenizer.Strip(text)
	}
	a.begun = a.begun || text != ""
	delta := object{"delta": text}
	if probs := a.logProbs(s); probs != nil {
		delta["logprobs"] = probs
		a.probs = append(a.probs, probs...)
	}
	a.stream.event("transcript.text.delta", delta)
	if len(a.q.granularities) == 0 && !a.q.decoding.TokenOrigins {
		return
	}
	e := object{"id": fmt.Sprintf("seg_%d", s.ID), "text": text}
	e["start"], e["end"] = transcript.RoundTime(s.Start), transcript.RoundTime(s.End)
	if a.q.words {
		e["words"] = wordsOf(s)
	}
	if a.q.decoding.TokenOrigins {
		e["pieces"] = a.pieces(s, text)
	}
	a.stream.event("transcript.text.segment", e)
}

// pieces splits text where accepted drafts begin and end. It is the text of s, with or without the surrounding space.
func (a *answer) pieces(s transcript.Segment, text string) []transcript.TextRun {
	list, skip := []transcript.TextRun{}, strings.Index(s.Text, text)
	for _, p := range s.RunsByDraft(a.model.Tokenizer) {
		n := min(skip, len(p.Text))
		skip -= n
		p.Text = p.Text[n:]
		p.Text = p.Text[:min(len(p.Text), len(text))]
		if text = text[len(p.Text):]; p.Text != "" {
			list = append(list, p)
		}
	}
	return list
}

// wordsOf returns the words of s in OpenAI's form.
func wordsOf(s transcript.Segment) []word {
	list := []word{}
	for _, x := range s.Rounded().Words {
		list = append(list, word{tokenizer.Strip(x.Word), x.Start, x.End})
	}
	return list
}

func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // only NaN and the like
		return []byte("null")
	}
	return bytes.TrimSpace(b.Bytes())
}

// finish writes the whole answer, or the end of a stream.
func (a *answer) finish(tr *transcript.Transcript) error {
	text, used := tokenizer.Strip(tr.Text), usage{"duration", int(math.Ceil(tr.Duration))} // rounded up, as OpenAI bills
	if a.stream != nil {
		all := object{"text": text, "usage": used, "language": languageName(tr.Language), "duration": tr.Duration}
		if tr.Truncated {
			all["truncated"] = true
		}
		if tr.Damaged != nil {
			all["damaged"] = tr.Damaged
		}
		if a.probs != nil {
			all["logprobs"] = a.probs
		}
		a.stream.event("transcript.text.done", all)
		a.stream.add("data: [DONE]\n\n")
		a.stream.end()
		return nil
	}
	http.NewResponseController(a.w).SetWriteDeadline(time.Now().Add(5 * time.Minute))
	switch a.q.format {
	case "text":
		writeText(a.w, text+"\n")
	case "srt", "vtt":
		var b bytes.Buffer
		if err := transcript.Write(&b, transcript.Format(a.q.format), tr); err != nil {
			return err
		}
		if a.q.format == "vtt" {
			a.w.Header().Set("Content-Type", "text/vtt; charset=utf-8")
		}
		writeText(a.w, b.String())
	case "verbose_json":
		writeJSON(a.w, a.verbose(tr, text, used))
	default:
		for _, s := range tr.Segments {
			a.probs = append(a.probs, a.logProbs(s)...)
		}
		writeJSON(a.w, struct {
			Text     string    `json:"text"`
			LogProbs []logProb `json:"logprobs,omitzero"`
			Usage    usage     `json:"usage"`
			soundLoss
		}{text, a.probs, used, soundLoss{tr.Truncated, tr.Damaged}})
	}
	return nil
}

type usage struct {
	Type    string `json:"type"`
	Seconds int    `json:"seconds"`
}

// A verboseTranscript is OpenAI's TranscriptionVerbose.
type verboseTranscript struct {
	Task     transcribe.Task      `json:"task"`
	Language string               `json:"language"` // by name, as OpenAI has it
	Duration float64              `json:"duration"`
	Text     string               `json:"text"`
	Segments []transcript.Segment `json:"segments,omitzero"`
	Words    []word               `json:"words,omitzero"`
	Usage    usage                `json:"usage"`
	soundLoss
}

// A soundLoss says which sound is missing. OpenAI has no such fields.
type soundLoss struct {
	Truncated bool             `json:"truncated,omitempty"` // it ends before its header says
	Damaged   []transcript.Gap `json:"damaged,omitempty"`   // where it is damaged or lost
}

// A word is OpenAI's TranscriptionWord.
type word struct {
	Word  string  `json:"word"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

func (a *answer) verbose(tr *transcript.Transcript, text string, u usage) verboseTranscript {
	v := verboseTranscript{Task: a.q.decoding.Task, Language: languageName(tr.Language), Duration: tr.Duration, Text: text}
	v.Usage, v.soundLoss = u, soundLoss{tr.Truncated, tr.Damaged}
	if v.Task == transcribe.Translate {
		v.Language = "english"
	}
	if len(a.q.granularities) == 0 || slices.Contains(a.q.granularities, "segment") {
		v.Segments = []transcript.Segment{}
	}
	if a.q.words {
		v.Words = []word{}
	}
	for _, s := range tr.Segments {
		if v.Segments != nil {
			one := s.Rounded()
			if one.Words = nil; a.q.decoding.TokenOrigins {
				one.Runs = a.pieces(s, s.Text)
			}
			v.Segments = append(v.Segments, one)
		}
		if a.q.words {
			v.Words = append(v.Words, wordsOf(s)...)
		}
	}
	return v
}

// languageName returns the name of a language as OpenAI writes it. A code that only the checkpoint knows stays a code.
func languageName(code string) string {
	for _, l := range tokenizer.KnownLanguages() {
		if l.Code == code {
			return strings.ToLower(l.Name)
		}
	}
	return code
}
