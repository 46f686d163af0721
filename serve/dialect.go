package serve

import (
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"verity/audio"
	"verity/diarize"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// A dialect is the API of a program for whose clients the server answers, too.
type dialect struct {
	file    string                 // the name of the part with the sound
	format  string                 // of the answer, unless the request names one
	formats []string               // that a request may name
	fields  map[string]fieldSetter // besides those of OpenAI's forms
	others  map[string]string      // names of fields that have another name here
	query   bool                   // parameters of the URL are fields, too

	// write writes a transcript in a format that OpenAI does not have. It reports whether it has done so.
	write func(a *answer, tr *transcript.Transcript) (bool, error)
}

// openAI is the API of /v1.
var openAI = &dialect{file: "file", format: "json", formats: []string{
	"json", "text", "srt", "verbose_json", "vtt", diarizedJSON,
}, fields: map[string]fieldSetter{"task": checkTask}, others: map[string]string{"num_speakers": "speakers"}}

// checkTask refuses a task that is not that of the path.
func checkTask(q *request, f formField) error {
	if path := taskPaths[f.value]; path == "" {
		return f.bad("transcribe or translate")
	} else if transcribe.Task(f.value) != q.decoding.Task {
		return badRequest(f.name, "task: got %s: send the form to %s", f.value, path)
	}
	return nil
}

var taskPaths = map[string]string{
	string(transcribe.Transcribe): "/v1/audio/transcriptions", string(transcribe.Translate): "/v1/audio/translations",
}

// whisperASR is the API of whisper-asr-webservice, which Bazarr and others use for subtitles.
//
// Source: github.com/ahmetoner/whisper-asr-webservice, app/webservice.py and app/asr_models.
var whisperASR = &dialect{
	file: "audio_file", format: "txt", formats: []string{"txt", "vtt", "srt", "tsv", "json"}, query: true,
	others: map[string]string{"output": "response_format", "initial_prompt": "prompt"},
	fields: map[string]fieldSetter{
		"task": func(q *request, f formField) error {
			if q.decoding.Task = transcribe.Task(f.value); f.value != "transcribe" && f.value != "translate" {
				return f.bad("transcribe or translate")
			}
			return nil
		},
		"encode": setSwitch(func(q *request, on bool) { // false: samples without a header
			if q.rawRate = 0; !on {
				q.rawRate = audio.SampleRate
			}
		}),
		"word_timestamps": setSwitch(func(q *request, on bool) { q.words = on }),
		"diarize":         setVoices,
	},
	write: func(a *answer, tr *transcript.Transcript) (bool, error) {
		if a.q.format != "json" { // OpenAI's text is one line, here it is one for each segment
			return true, a.write(transcript.Format(a.q.format), transcript.Options{Lines: true}, tr)
		}
		list := []transcript.Segment{}
		for _, s := range tr.Segments {
			list = append(list, s.Rounded())
		}
		writeJSON(a.w, struct {
			Text     string               `json:"text"`
			Segments []transcript.Segment `json:"segments"`
			Language string               `json:"language"`
		}{tr.Text, list, tr.Language})
		return true, nil
	},
}

// whisperCPP is the API of whisper.cpp's server. Its form has OpenAI's fields and formats, under some other names.
//
// Source: github.com/ggml-org/whisper.cpp, examples/server/server.cpp.
var whisperCPP = &dialect{
	file: "file", format: "json", formats: []string{"json", "text", "srt", "verbose_json", "vtt"},
	others: map[string]string{
		"logprob_thold": "logprob_threshold", "no_speech_thold": "no_speech_threshold", "vad": "vad_filter",
	},
	fields: map[string]fieldSetter{
		"translate": setSwitch(func(q *request, on bool) {
			if q.decoding.Task = transcribe.Transcribe; on {
				q.decoding.Task = transcribe.Translate
			}
		}),
		"temperature_inc": setTemperature(func(q *request, step float64) { q.increment = &step }),
		"offset_t": setNumber("milliseconds", func(q *request, n int) {
			s, start := q.span(), float64(n)/1000
			s.Start, s.End = start, s.End-s.Start+start
		}),
		"duration": setNumber("milliseconds", func(q *request, n int) {
			s := q.span()
			s.End = s.Start + float64(n)/1000
		}),
		"max_len": setNumber("characters of a subtitle", func(q *request, n int) {
			q.subtitles, q.words = transcript.Subtitles{MaxLineWidth: n, MaxLineCount: 1}, true
		}),
		"max_context": func(q *request, f formField) error {
			if q.decoding.ForgetPrevious = q.decoding.ForgetPrevious || f.value == "0"; f.value != "0" && f.value != "-1" {
				return f.bad("0 or -1: context is not limited")
			}
			return nil
		},
		"diarize": setVoices, "tinydiarize": setVoices,
	},
	write: func(a *answer, tr *transcript.Transcript) (bool, error) {
		text := "" // one line for each segment
		for _, s := range tr.Segments {
			if s.Speaker != "" {
				text += s.Speaker + ":"
			}
			text += s.Text + "\n"
		}
		switch a.q.format {
		case "json":
			writeJSON(a.w, object{"text": text})
		case "text":
			writeText(a.w, text)
		default: // in verbose_json, whisper.cpp has the times of words unasked, but few clients read them
			return false, nil
		}
		return true, nil
	},
}

// setVoices tells speakers apart.
var setVoices = setSwitch(func(q *request, on bool) {
	if q.speakers = nil; on {
		q.speakers = new(diarize.Options)
	}
})

// span returns the part of the sound that is transcribed.
func (q *request) span() *transcribe.Span {
	if q.decoding.Spans == nil {
		q.decoding.Spans = []transcribe.Span{{Start: 0, End: math.Inf(1)}}
	}
	return &q.decoding.Spans[0]
}

// parseQuery reads parameters of the URL as fields of the form.
func (s *Server) parseQuery(q *request, r *http.Request) error {
	values := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, value := range values[name] {
			if value == "" {
				continue
			}
			if err := s.setField(q, name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// handleDetection answers which language the first speech of a sound has.
func (s *Server) handleDetection(w http.ResponseWriter, r *http.Request) {
	s.handleSound(w, r, whisperASR, transcribe.Transcribe, func(ctx context.Context, q *request, clip *audio.Clip) error {
		q.decoding.Language = ""
		t, err := transcribe.New(s.model, q.decoding)
		if err != nil {
			return err
		}
		var l tokenizer.Language
		var probability float64
		if err := s.inTurn(ctx, func() (err error) {
			l, probability, err = t.DetectLanguage(ctx, clip)
			return err
		}); err != nil {
			return err
		}
		if probability == 0 { // the model knows one language
			probability = 1
		}
		writeJSON(w, struct {
			Language   string  `json:"detected_language"`
			Code       string  `json:"language_code"`
			Confidence float64 `json:"confidence"`
		}{strings.ToLower(l.Name), l.Code, probability})
		return nil
	})
}

// inTurn waits for a turn, and calls do, which takes about as long as a window.
func (s *Server) inTurn(ctx context.Context, do func() error) error {
	ticket, err := s.queue.join(windowSeconds)
	if err != nil {
		return err
	}
	defer s.queue.leave(ticket)
	s.queue.requestTurn(&s.queue.files, ticket)
	if err := s.queue.wait(ctx, ticket); err != nil {
		return err
	}
	return do()
}
