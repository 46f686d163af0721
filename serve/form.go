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
	"sync/atomic"
	"time"

	"verity/tokenizer"
	"verity/transcribe"
)

const (
	mostParts  = 64
	mostField  = 64 << 10 // bytes
	chunkBytes = 64 << 10
	stall      = 30 * time.Second // the most between two pieces of an upload, or of an answer
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

// A spool keeps uploads in files, up to so many bytes in all.
type spool struct {
	dir  string
	room int64
	used atomic.Int64
}

// take reserves n bytes; nil if there is room.
func (s *spool) take(n int64) *problem {
	if s.used.Add(n) > s.room {
		s.used.Add(-n)
		p := wrong(http.StatusTooManyRequests, "file", "spool_full", "The server holds too many uploads at present: try again later.")
		p.Type, p.Retry = "rate_limit_error", 10*time.Second
		return p
	}
	return nil
}

// read reads the form of r, in any order of its parts. The caller calls done of the
// request.
func (s *Server) read(w http.ResponseWriter, r *http.Request, task transcribe.Task) (*request, error) {
	q := &request{format: "json", decoding: s.opt.Decoding, done: func() {}}
	q.decoding.Task = task
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, wrong(http.StatusBadRequest, "", "", "Could not parse multipart form: %v. Send multipart/form-data with a part named file.", err)
	}
	body := &patient{http.NewResponseController(w), s.stall}
	if err := s.readParts(parts, q, body); err != nil {
		q.done()
		return nil, err
	}
	body.forever()
	if q.file == nil {
		return nil, wrong(http.StatusBadRequest, "file", "", "The part named file is missing: it holds the sound.")
	}
	return q, nil
}

func (s *Server) readParts(parts *multipart.Reader, q *request, body *patient) error {
	for n := 0; ; n++ {
		body.wait()
		part, err := parts.NextRawPart()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return s.broken(err)
		case n == mostParts:
			return wrong(http.StatusBadRequest, "", "", "The form has more than %d parts.", mostParts)
		case part.FormName() == "file":
			err = s.keep(q, part, body)
		default:
			err = s.field(q, part)
		}
		if err != nil {
			return err
		}
	}
}

// broken returns the problem with a form that ended too soon or is none.
func (s *Server) broken(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return wrong(http.StatusRequestTimeout, "", "", "No data came for %s.", span(s.stall))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return wrong(http.StatusBadRequest, "", "", "The form is cut off, or its boundary is not the one of the header Content-Type.")
	}
	return wrong(http.StatusBadRequest, "", "", "Could not parse multipart form: %v", err)
}

// field sets the option that a part names. Unknown fields are ignored, since clients
// keep adding some.
func (s *Server) field(q *request, part *multipart.Part) error {
	data, err := io.ReadAll(io.LimitReader(part, mostField+1))
	if err != nil {
		return s.broken(err)
	}
	name, value := part.FormName(), string(data)
	if len(data) > mostField {
		return wrong(http.StatusBadRequest, name, "", "%s: more than %d bytes", name, mostField)
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
		q.decoding.Language = languageOf(value)
		q.decoding.Multilingual = q.decoding.Multilingual && value == ""
	case "prompt":
		q.decoding.InitialPrompt = value
	case "response_format":
		if q.format = value; !slices.Contains(formats, value) {
			return bad("one of " + strings.Join(formats, ", "))
		}
	case "temperature":
		if value == "" { // a form of a browser sends fields that were left empty
			return nil
		}
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

// languageOf returns the language of a tag with a region, as en-US, which some clients send
// where OpenAI takes en; anything else as it is.
func languageOf(tag string) string {
	if i := strings.IndexAny(tag, "-_"); i > 0 && !tokenizer.KnownLanguage(tag) && tokenizer.KnownLanguage(tag[:i]) {
		return tag[:i]
	}
	return tag
}

// keep writes the file to the spool.
func (s *Server) keep(q *request, part *multipart.Part, body *patient) error {
	if q.file != nil {
		return wrong(http.StatusBadRequest, "file", "", "The form has two parts named file: send one request for each.")
	}
	f, err := os.CreateTemp(s.opt.Spool, "verity-upload-*")
	if err != nil {
		return failed(http.StatusInsufficientStorage, "The upload cannot be kept: %v", errors.Unwrap(err))
	}
	q.file, q.name = f, part.FileName()
	q.done = func() {
		f.Close()
		os.Remove(f.Name())
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
			if _, err := f.Write(chunk[:n]); err != nil {
				return failed(http.StatusInsufficientStorage, "The upload cannot be kept: the disk is full or broken.")
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return s.broken(err)
		}
	}
}

// A patient reads a request with a deadline for each piece: a client that sends a byte
// a minute would hold a place for days.
type patient struct {
	control *http.ResponseController
	stall   time.Duration
}

func (p *patient) wait() { p.control.SetReadDeadline(time.Now().Add(p.stall)) }

func (p *patient) forever() { p.control.SetReadDeadline(time.Time{}) }

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
