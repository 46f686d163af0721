package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"slices"
	"strconv"
	"strings"
	"time"

	"verity/audio"
	"verity/diarize"
	"verity/tokenizer"
	"verity/transcript"
)

// diarizedJSON is OpenAI's format with the speaker of each segment.
const diarizedJSON = "diarized_json"

// setSpeakers sets speakers: voice, one, or how many there are.
func setSpeakers(q *request, f formField) error {
	if q.speakers = nil; f.value == "one" {
		return nil
	}
	o, err := diarize.Parse(f.value)
	if err != nil {
		return f.bad(strings.TrimPrefix(err.Error(), "want ") + ", or one (no labels)")
	}
	q.speakers = &o
	return nil
}

// settleSpeakers sets what the fields about speakers decide together.
func (q *request) settleSpeakers() error {
	if q.speakers == nil && q.format == diarizedJSON {
		q.speakers = new(diarize.Options)
	}
	q.decoding.Speakers = q.speakers
	return q.checkKnown()
}

// A diarizedSegment is OpenAI's TranscriptionDiarizedSegment.
type diarizedSegment struct {
	Type    string  `json:"type"` // transcript.text.segment
	ID      string  `json:"id"`
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Text    string  `json:"text"`
	Speaker string  `json:"speaker"` // empty if nobody's voice was found
}

// A diarizedTranscript is OpenAI's TranscriptionDiarized.
type diarizedTranscript struct {
	Task     string            `json:"task"`
	Duration float64           `json:"duration"`
	Text     string            `json:"text"`
	Segments []diarizedSegment `json:"segments"`
	Usage    any               `json:"usage"`
	soundLoss
}

// diarized returns tr in OpenAI's form.
func (a *answer) diarized(tr *transcript.Transcript, text string) diarizedTranscript {
	d := diarizedTranscript{
		Task: "transcribe", Duration: tr.Duration, Text: text, Segments: []diarizedSegment{},
		Usage: a.usage(tr), soundLoss: lossOf(tr),
	}
	for _, s := range tr.Segments {
		d.Segments = append(d.Segments, diarizedSegment{
			"transcript.text.segment", segmentID(s), transcript.RoundTime(s.Start), transcript.RoundTime(s.End),
			tokenizer.Strip(s.Text), label(s.Speaker, a.q.knownNames, &a.speakers),
		})
	}
	return d
}

// segmentID returns the id of a segment in events and in diarized_json.
func segmentID(s transcript.Segment) string { return "seg_" + strconv.Itoa(s.ID) }

// label returns OpenAI's label of a speaker: the name, if it is known; else A for the first who speaks, B for the next.
// others are the speakers without a name so far.
func label(speaker string, known []string, others *[]string) string {
	if speaker == "" || slices.Contains(known, speaker) {
		return speaker
	}
	n := slices.Index(*others, speaker)
	if n < 0 {
		n = len(*others)
		*others = append(*others, speaker)
	}
	for i := 0; ; i++ {
		one := letters(i)
		if slices.Contains(known, one) {
			continue
		}
		if n == 0 {
			return one
		}
		n--
	}
}

// letters returns A for 0, Z for 25, AA for 26.
func letters(n int) string {
	one := string(rune('A' + n%26))
	if n < 26 {
		return one
	}
	return letters(n/26-1) + one
}

const (
	maxKnown         = 16               // speakers whose voices a request has
	maxReference     = 16 << 20         // bytes of the sound of one
	maxReferenceTime = 60 * time.Second // its length
	referenceField   = "known_speaker_references"
)

// addKnownName adds a name, or a JSON array of them. Names may have commas.
func addKnownName(q *request, f formField) error {
	names := []string{f.value}
	if strings.HasPrefix(f.value, "[") {
		names = f.list()
	}
	q.knownNames = append(q.knownNames, names...)
	if len(q.knownNames) > maxKnown {
		return badRequest(f.name, "%s: got more than %d names", f.name, maxKnown)
	}
	return nil
}

// saveReference decodes the sound of a known speaker, a data URL in base64, into the store of uploads.
func (s *Server) saveReference(q *request, part *multipart.Part) error {
	name := fmt.Sprintf("%.80s", part.FormName())
	if len(q.references) == maxKnown {
		return badRequest(name, "%s: got more than %d", name, maxKnown)
	}
	r := bufio.NewReaderSize(part, 256)
	head, err := r.ReadSlice(',')
	switch {
	case errors.Is(err, io.EOF) && len(head) == 0:
		return nil
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull):
		return s.formError(err)
	case err != nil, !bytes.HasPrefix(head, []byte("data:")), !bytes.HasSuffix(head, []byte(";base64,")):
		return badRequest(name, "%s: got %.40q, want a data URL of sound: data:audio/wav;base64,…", name, head)
	}
	file, err := s.uploads.create(maxReference)
	if err != nil {
		return err
	}
	q.references = append(q.references, file)
	_, err = io.Copy(file, base64.NewDecoder(base64.StdEncoding, r))
	if p, ok := errors.AsType[*problem](err); ok {
		return p.withParam(name)
	}
	if err == nil {
		return nil
	}
	_, corrupt := errors.AsType[base64.CorruptInputError](err)
	if _, end := r.ReadByte(); corrupt || end == io.EOF { // the rest of the form has come, so the data itself is wrong
		return badRequest(name, "%s: the data URL is not base64: %v", name, err)
	}
	return s.formError(err)
}

// checkKnown reports names and references that do not belong together.
func (q *request) checkKnown() error {
	names, references := len(q.knownNames), len(q.references)
	switch {
	case names == 0 && references == 0:
		return nil
	case q.speakers == nil:
		q.ignored.add("known_speaker_names[]")
		return nil
	case names != references:
		return badRequest(referenceField+"[]", "%s[]: got %d for %d names, want one for each", referenceField, references, names)
	}
	for i, name := range q.knownNames {
		if strings.TrimSpace(name) == "" || slices.Contains(q.knownNames[:i], name) {
			return badRequest("known_speaker_names[]", "known_speaker_names[]: got %.80q, want names that are different", name)
		}
	}
	return nil
}

// findKnown sets the voices of the known speakers.
func (s *Server) findKnown(ctx context.Context, q *request) error {
	if len(q.references) == 0 || q.decoding.Speakers == nil {
		return nil
	}
	o := *q.decoding.Speakers
	q.decoding.Speakers = &o
	for i, name := range q.knownNames {
		err := s.inTurn(ctx, func() error {
			voice, err := s.voiceOf(ctx, name, q.references[i])
			o.Known = append(o.Known, voice)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// voiceOf returns the voice in a reference.
func (s *Server) voiceOf(ctx context.Context, name string, file *upload) (diarize.Voice, error) {
	fail := func(err error) (diarize.Voice, error) {
		why := err.Error()
		sample, ok := errors.AsType[*diarize.SampleError](err)
		switch {
		case ok:
			why = sample.Problem
		case errors.Is(err, audio.ErrTooLong):
			why = fmt.Sprintf("it is longer than %s; 2 to 10 s are enough", span(maxReferenceTime))
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), s.problemOf(err) == nil:
			return diarize.Voice{}, err
		}
		return diarize.Voice{}, badRequest(referenceField+"[]", "%s[]: the sound of %.80q: %s", referenceField, name, why)
	}
	sound := s.opt.Sound
	sound.MaxDuration = maxReferenceTime
	clip, err := sound.OpenFile(ctx, "the reference", file.file.File)
	if err != nil {
		return fail(err)
	}
	defer clip.Close()
	voice, err := diarize.NewVoice(ctx, name, clip, s.model.Pool)
	if err != nil {
		return fail(err)
	}
	return voice, nil
}
