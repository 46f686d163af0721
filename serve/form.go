package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"verity/internal/options"
	"verity/transcribe"
	"verity/transcript"
	"verity/vad"
)

const (
	mostParts = 64
	mostField = 64 << 10 // bytes
	mostDraft = 1 << 20  // bytes of a text to draft from: ten hours of speech
	mostMS    = 60_000   // of a silence, and of what is added to speech

	ignoredHeader = "X-Verity-Ignored"
)

// A request is a parsed form.
type request struct {
	name     string // of the file according to the client, for messages only
	file     *os.File
	size     int64
	model    *held
	format   string
	stream   bool
	words    bool
	progress bool     // send progress events
	logProbs bool     // of each token
	asked    []string // timestamp granularities
	ignored  []string // what nothing here knows: fields, members of them, parameters of the URL
	decoding transcribe.Options
	draft    []transcript.Line // what the sound may say
	done     func()            // ends the spooled file
}

// Values of include[]: OpenAI's, and two that it does not have.
const (
	withLogProbs = "logprobs"
	withProgress = "verity.progress" // events with the seconds that are done
	withAccepted = "verity.accepted" // which parts of a segment's text the assistant drafted
)

// formats are those of response_format.
var formats = []string{"json", "text", "srt", "verbose_json", "vtt"}

// read reads the form of r, which ends at a time, in any order of its parts. The caller
// calls done of the request.
func (s *Server) read(w http.ResponseWriter, r *http.Request, task transcribe.Task, end time.Time) (*request, error) {
	q := &request{format: "json", model: s.models.list[0], decoding: s.opt.Decoding, done: func() {}}
	q.decoding.Task = task
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, wrong(http.StatusBadRequest, "", "", "Could not parse multipart form: %v. Send multipart/form-data with a part named file.", err)
	}
	body := &upload{control: http.NewResponseController(w), began: time.Now(), end: end, stall: s.stall}
	if p := s.intake.enter(body); p != nil {
		return nil, p
	}
	body.control.SetWriteDeadline(end.Add(10 * s.stall))
	defer s.intake.leave(body)
	body.mu.Lock()
	body.due = body.began.Add(s.stall)
	body.timer = time.AfterFunc(s.stall, s.safely(w.Header().Get(idHeader), func(error) {}, body.expire))
	body.mu.Unlock()
	err = s.readParts(parts, q, body)
	body.read()
	if err != nil {
		q.done()
		if tooSlow(err) {
			err = body.late()
		}
		return nil, err
	}
	body.control.SetReadDeadline(time.Time{}) // the body has been read
	if q.file == nil {
		return nil, wrong(http.StatusBadRequest, "file", "", "The part named file is missing: it holds the sound.")
	}
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) { // the form has it all
		q.ignored = append(q.ignored, "?"+name)
	}
	q.decoding = fit(q.decoding, q.words)
	return q, nil
}

func (s *Server) readParts(parts *multipart.Reader, q *request, body *upload) error {
	for n := 0; ; n++ {
		body.wait()
		part, err := parts.NextRawPart()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return broken(err)
		case n == mostParts:
			return wrong(http.StatusBadRequest, "", "", "The form has more than %d parts.", mostParts)
		case part.FormName() == "file":
			err = s.keep(q, part, body)
		default:
			err = s.field(q, part, body)
		}
		if err != nil {
			return err
		}
	}
}

// broken returns the problem with a form that ended too soon or is none.
func broken(err error) error {
	if tooSlow(err) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return wrong(http.StatusBadRequest, "", "", "The form is cut off, or its boundary is not the one of the header Content-Type.")
	}
	return wrong(http.StatusBadRequest, "", "", "Could not parse multipart form: %v", err)
}

// field reads a part that is no file. One that is empty is left out, since a form of a
// browser sends fields that nobody filled in.
func (s *Server) field(q *request, part *multipart.Part, body *upload) error {
	most := mostField
	if part.FormName() == "draft" {
		most = mostDraft
	}
	data, err := io.ReadAll(io.LimitReader(part, int64(most)+1))
	if err != nil {
		return broken(err)
	}
	body.add(len(data))
	name, value := part.FormName(), string(data)
	if len(data) > most {
		return wrong(http.StatusBadRequest, name, "", "%s: more than %d bytes", name, most)
	}
	if value == "" {
		return nil
	}
	return s.set(q, name, value)
}

// set sets what a field says.
func (s *Server) set(q *request, name, value string) (err error) {
	bad := func(want string) error {
		return wrong(http.StatusBadRequest, name, "", "%s: got %q, want %s", name, value, want)
	}
	switch name {
	case "model":
		if q.model = s.models.find(value); q.model == nil {
			return s.models.unknown(value)
		}
	case "language":
		q.decoding.Language = spokenIn(value)
	case "prompt":
		q.decoding.InitialPrompt = value
	case "draft": // of Verity: text or subtitles; it changes the time alone
		if q.draft, err = transcript.Read("draft", []byte(value)); err != nil {
			return wrong(http.StatusBadRequest, name, "", "%v", err)
		}
	case "response_format":
		if q.format = value; !slices.Contains(formats, value) {
			return bad("one of " + strings.Join(formats, ", "))
		}
	case "temperature":
		t, err := strconv.ParseFloat(value, 64)
		if err != nil || !(t >= 0 && t <= 1) {
			return bad("a number from 0 to 1")
		}
		if t > 0 { // 0 means the usual fallback, as OpenAI's reference says
			q.decoding.Temperatures = []float64{t}
		}
	case "stream":
		if q.stream, err = strconv.ParseBool(value); err != nil {
			return bad("true or false")
		}
	case "include[]", "include":
		q.progress = q.progress || value == withProgress
		q.decoding.MarkAccepted = q.decoding.MarkAccepted || value == withAccepted
		q.logProbs = q.logProbs || value == withLogProbs
		if !slices.Contains([]string{withProgress, withAccepted, withLogProbs}, value) {
			q.ignored = append(q.ignored, name+"="+value)
		}
	case "timestamp_granularities[]", "timestamp_granularities":
		if value != "word" && value != "segment" {
			return bad("word or segment")
		}
		q.words = q.words || value == "word"
		q.asked = append(q.asked, value)
	case "vad_filter": // of speaches and faster-whisper
		on, err := strconv.ParseBool(value)
		if err != nil {
			return bad("true or false")
		}
		q.skipSilence(on)
	default:
		if strategy, ok := strings.CutPrefix(name, "chunking_strategy"); ok {
			return q.strategy(strategy, value, bad)
		}
		return q.option(name, value, bad)
	}
	return nil
}

// skipSilence has speech found first, by the server's options for that if it has some, as
// --vad on; or nothing asked about speech, as --vad off.
func (q *request) skipSilence(on bool) {
	q.decoding.ConfirmSpeech = false
	if !on {
		q.decoding.VAD = nil
	} else if q.decoding.VAD == nil {
		q.decoding.VAD = new(vad.Options)
	}
}

// strategy takes OpenAI's chunking_strategy: auto, or server_vad with its numbers, as one
// JSON or as fields with the names of its members behind it, in brackets or dots.
func (q *request) strategy(member, value string, bad func(string) error) error {
	const kinds = "auto, or server_vad with threshold, prefix_padding_ms and silence_duration_ms"
	d := detection{Type: value}
	var err error
	switch strings.Trim(member, "[].") {
	case "":
		if strings.HasPrefix(value, "{") {
			err = json.Unmarshal([]byte(value), &d)
			const at = "session.turn_detection" // which has the same members
			for _, path := range ignored(at, json.RawMessage(value)) {
				q.ignored = append(q.ignored, "chunking_strategy"+strings.TrimPrefix(path, at))
			}
		}
	case "type":
	case "threshold", "prefix_padding_ms", "silence_duration_ms":
		err = json.Unmarshal(fmt.Appendf(nil, `{"type":"server_vad",%q:%s}`, strings.Trim(member, "[]."), value), &d)
	default:
		q.ignored = append(q.ignored, "chunking_strategy"+member)
		return nil
	}
	if err != nil || d.Type != "auto" && d.Type != "server_vad" {
		return bad(kinds)
	}
	q.skipSilence(true)
	v := *q.decoding.VAD
	if d.Threshold != nil {
		if !(*d.Threshold > 0 && *d.Threshold <= 1) {
			return bad("a threshold above 0, at most 1")
		}
		v.Threshold, v.NegThreshold = *d.Threshold, 0
	}
	for _, ms := range []struct{ from, to *int }{{d.Padding, &v.SpeechPadMS}, {d.Silence, &v.MinSilenceDurationMS}} {
		switch {
		case ms.from == nil:
		case *ms.from < 0 || *ms.from > mostMS:
			return bad(fmt.Sprintf("times of 0 to %d ms", mostMS))
		case *ms.from == 0:
			*ms.to = -1 // 0 would mean the default
		default:
			*ms.to = *ms.from
		}
	}
	q.decoding.VAD = &v
	return nil
}

// option takes a field that OpenAI does not have, by the table of options: hotwords,
// beam_size and others. Fields that nothing knows are not refused, since clients keep
// adding some, but the answer and the log name them.
func (q *request) option(name, value string, bad func(string) error) error {
	o := options.Find(strings.ReplaceAll(name, "_", "-"))
	if o == nil || o.Field == "" || o.Who&options.Request == 0 {
		q.ignored = append(q.ignored, name)
		return nil
	}
	d := options.Decoding{Options: q.decoding}
	if err := d.Set(o.Name, value, options.Request); err != nil {
		return bad(strings.TrimPrefix(err.Error(), "want "))
	}
	q.decoding = d.Options
	return nil
}

// warn names in the answer and the log what was sent and does nothing.
func (q *request) warn(w http.ResponseWriter, r *http.Request) {
	if len(q.ignored) == 0 {
		return
	}
	text := strings.Join(printable(q.ignored), ", ")
	w.Header().Set(ignoredHeader, text)
	note(r, "ignored", text)
}

// printable returns the first ten names of what a client sends, as ASCII.
func printable(names []string) (list []string) {
	for _, name := range names[:min(len(names), 10)] {
		list = append(list, strings.Trim(strconv.QuoteToASCII(fmt.Sprintf("%.80s", name)), `"`))
	}
	return list
}

// keep writes the file to the spool.
func (s *Server) keep(q *request, part *multipart.Part, body *upload) error {
	if q.file != nil {
		return wrong(http.StatusBadRequest, "file", "", "The form has two parts named file: send one request for each.")
	}
	f, done, err := s.spool.file()
	if err != nil {
		return failed(http.StatusInsufficientStorage, "The upload cannot be kept: %v", errors.Unwrap(err))
	}
	q.file, q.name = f, part.FileName()
	q.done = func() {
		done()
		s.spool.used.Add(-q.size)
	}
	chunk := make([]byte, chunkBytes)
	for {
		body.wait()
		n, err := part.Read(chunk)
		if n > 0 {
			if q.size+int64(n) > s.opt.MaxBytes {
				return wrong(http.StatusRequestEntityTooLarge, "file", "", "The file has more than %d bytes, which is the limit of this server.", s.opt.MaxBytes)
			}
			if p := s.spool.take(int64(n)); p != nil {
				return p
			}
			q.size += int64(n)
			body.add(n)
			if _, err := f.Write(chunk[:n]); err != nil {
				return failed(http.StatusInsufficientStorage, "The upload cannot be kept: the disk is full or broken.")
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return broken(err)
		}
	}
}

// String returns the client's name of the file for messages, short and without control
// characters.
func (q *request) String() string {
	name := []rune(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return -1
		}
		return c
	}, q.name))
	if len(name) == 0 {
		return "the upload"
	}
	return fmt.Sprintf("%.80s", string(name))
}
