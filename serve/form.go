package serve

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"verity/transcribe"
)

const (
	mostParts = 64
	mostField = 64 << 10 // bytes
)

// A request is a parsed form.
type request struct {
	name     string // of the file according to the client, for messages only
	file     *os.File
	size     int64
	format   string
	stream   bool
	words    bool
	progress bool     // send progress events
	asked    []string // timestamp granularities
	ignored  []string // fields that nothing here knows
	decoding transcribe.Options
	done     func() // ends the spooled file
}

// Values of include[] that OpenAI does not have.
const (
	withProgress = "verity.progress" // events with the seconds that are done
	withAccepted = "verity.accepted" // which parts of a segment's text the assistant drafted
)

// formats are those of response_format.
var formats = []string{"json", "text", "srt", "verbose_json", "vtt"}

// read reads the form of r, which ends at a time, in any order of its parts. The caller
// calls done of the request.
func (s *Server) read(w http.ResponseWriter, r *http.Request, task transcribe.Task, end time.Time) (*request, error) {
	q := &request{format: "json", decoding: s.opt.Decoding, done: func() {}}
	q.decoding.Task = task
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, wrong(http.StatusBadRequest, "", "", "Could not parse multipart form: %v. Send multipart/form-data with a part named file.", err)
	}
	body := &upload{control: http.NewResponseController(w), began: time.Now(), end: end, stall: s.stall}
	if p := s.intake.enter(body); p != nil {
		return nil, p
	}
	defer s.intake.leave(body)
	if err := s.readParts(parts, q, body); err != nil {
		q.done()
		if tooSlow(err) {
			err = body.late()
		}
		return nil, err
	}
	body.forever()
	if q.file == nil {
		return nil, wrong(http.StatusBadRequest, "file", "", "The part named file is missing: it holds the sound.")
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

// field sets the option that a part names. One that is empty is left out, since a form of
// a browser sends fields that nobody filled in. Unknown fields are not refused, since
// clients keep adding some, but the answer names them.
func (s *Server) field(q *request, part *multipart.Part, body *upload) error {
	data, err := io.ReadAll(io.LimitReader(part, mostField+1))
	if err != nil {
		return broken(err)
	}
	body.add(len(data))
	name, value := part.FormName(), string(data)
	if len(data) > mostField {
		return wrong(http.StatusBadRequest, name, "", "%s: more than %d bytes", name, mostField)
	}
	if value == "" {
		return nil
	}
	bad := func(want string) error {
		return wrong(http.StatusBadRequest, name, "", "%s: got %q, want %s", name, value, want)
	}
	switch name {
	case "model":
		if !s.knows(value) {
			return unknownModel(value, s.opt.Name)
		}
	case "language":
		q.decoding.Language = spokenIn(value)
	case "prompt":
		q.decoding.InitialPrompt = value
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
	case "include[]", "include": // of OpenAI's values there is none
		q.progress = q.progress || value == withProgress
		q.decoding.MarkAccepted = q.decoding.MarkAccepted || value == withAccepted
	case "timestamp_granularities[]", "timestamp_granularities":
		return q.granularity(value, bad)
	}
	return nil
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
