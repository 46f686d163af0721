package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"verity/audio"
	"verity/audio/vad"
	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcribe/live"
	"verity/transcript"
	"verity/wer"
)

// A formField is a part of a form that is not the file.
type formField struct {
	name  string // as the client wrote it
	value string
}

// bad returns the problem with the value of f.
func (f formField) bad(want string) error {
	return badRequest(f.name, "%s: got %.80q, want %s", f.name, f.value, want)
}

// list returns the elements of a list, which clients send as a field for each, as a JSON array, or with commas.
func (f formField) list() (list []string) {
	if strings.HasPrefix(f.value, "[") && json.Unmarshal([]byte(f.value), &list) == nil {
		return list
	}
	for one := range strings.SplitSeq(f.value, ",") {
		list = append(list, strings.TrimSpace(one))
	}
	return list
}

// A fieldSetter sets what a field asks for.
type fieldSetter func(q *request, f formField) error

// formFields are the fields of OpenAI's forms, and further ones that are not in [Options.Fields].
var formFields = map[string]fieldSetter{
	"model": func(q *request, f formField) error { q.modelName = f.value; return nil },
	"language": func(q *request, f formField) error {
		q.language = languageOf(f.value)
		q.decoding.Language = q.language
		return nil
	},
	"prompt": func(q *request, f formField) error {
		q.decoding.InitialPrompt = f.value
		return nil
	},
	"track": func(q *request, f formField) (err error) {
		if q.track, err = strconv.Atoi(cmp.Or(f.value, "0")); err != nil || q.track < 0 || q.track > audio.MaxTracks {
			return f.bad(fmt.Sprintf("the number of an audio track, from 1 to %d", audio.MaxTracks))
		}
		return nil
	},
	"draft": func(q *request, f formField) (err error) { // text or subtitles
		if q.draft, err = transcript.Read("draft", []byte(f.value)); err != nil {
			return badRequest(f.name, "%v", err)
		}
		return nil
	},
	"align": func(q *request, f formField) (err error) { // text or subtitles
		if q.text, err = transcript.ReadLines("align", []byte(f.value)); err != nil {
			return badRequest(f.name, "%v", err)
		}
		return nil
	},
	"response_format": func(q *request, f formField) error {
		if q.format = f.value; !slices.Contains(q.api.formats, f.value) {
			return f.bad("one of " + strings.Join(q.api.formats, ", "))
		}
		return nil
	},
	"temperature": setTemperature(func(q *request, t float64) { q.temperature = t }),
	"stream":      setSwitch(func(q *request, on bool) { q.stream = on }),
	"vad_filter":  setSwitch((*request).setVAD), // of speaches and faster-whisper
	"speakers":    setSpeakers,
}

// listFields are the fields that a form may hold more than once: name, name[] or name[0].
var listFields = map[string]fieldSetter{
	"include": func(q *request, f formField) error {
		for _, value := range f.list() {
			switch value {
			case withProgress:
				q.progress = true
			case withEarly:
				q.early = true
			case withLogProbs:
				q.logProbs = true
			default:
				q.ignored.add(f.name + "=" + value)
			}
		}
		return nil
	},
	"timestamp_granularities": func(q *request, f formField) error {
		for _, value := range f.list() {
			if value != "word" && value != "segment" {
				return f.bad("word or segment")
			}
			q.words = q.words || value == "word"
			q.granularities = append(q.granularities, value)
		}
		return nil
	},
	"keywords": func(q *request, f formField) error {
		var err error
		if q.terms, err = addKeywords(q.terms, f.list()); err != nil {
			return badRequest(f.name, "%s: %v", f.name, err)
		}
		return nil
	},
	"known_speaker_names": addKnownName, // their sound: saveReference
	"languages": func(q *request, f formField) error {
		for _, one := range f.list() {
			if one = languageOf(one); one != "" && !tokenizer.IsKnownLanguage(one) {
				return f.bad("codes of languages, such as en")
			}
			q.languages = append(q.languages, one)
		}
		return nil
	},
}

// setSwitch returns the setter of a field that is true or false.
func setSwitch(set func(q *request, on bool)) fieldSetter {
	return func(q *request, f formField) error {
		on, err := strconv.ParseBool(f.value)
		if err != nil {
			return f.bad("true or false")
		}
		set(q, on)
		return nil
	}
}

// setNumber returns the setter of a whole number; 0 sets nothing.
func setNumber(what string, set func(q *request, n int)) fieldSetter {
	return func(q *request, f formField) error {
		n, err := strconv.Atoi(f.value)
		if err != nil || n < 0 || n > 1e9 {
			return f.bad("a whole number of " + what)
		}
		if n > 0 {
			set(q, n)
		}
		return nil
	}
}

// setTemperature returns the setter of a temperature, or of a step between two.
func setTemperature(set func(q *request, t float64)) fieldSetter {
	return func(q *request, f formField) error {
		t, err := strconv.ParseFloat(f.value, 64)
		if err != nil || !(t >= 0 && t <= 1) {
			return f.bad("a number from 0 to 1")
		}
		set(q, t)
		return nil
	}
}

// setField sets what a field asks for.
func (s *Server) setField(q *request, name, value string) error {
	set, f := s.setterOf(q, name), formField{name, value}
	base, _, _ := strings.Cut(name, "[")
	if key := strings.ReplaceAll(cmp.Or(q.api.others[name], name), "-", "_"); set != nil && listFields[base] == nil {
		if before, again := q.given[key]; again && before != value {
			return f.bad(fmt.Sprintf("one value: the form also has %.80q", before))
		}
		if q.given == nil {
			q.given = map[string]string{}
		}
		q.given[key] = value
	}
	if set != nil {
		return set(q, f)
	}
	if len(q.ignored) < 10 { // a strange form may have thousands
		if near := s.fieldsLike(q, base); len(near) > 0 && !slices.Contains(near, base) {
			return badRequest(name, "There is no field %s; did you mean %s?", name, show.JoinOr(near))
		}
	}
	q.ignored.add(name) // not refused, since clients keep adding fields, but the answer and the log name them
	return nil
}

// fieldsLike returns the names of fields that are most like a word, if any are.
func (s *Server) fieldsLike(q *request, word string) []string {
	names := slices.Concat(slices.Collect(maps.Keys(formFields)), slices.Collect(maps.Keys(listFields)),
		slices.Collect(maps.Keys(q.api.fields)), slices.Collect(maps.Keys(q.api.others)))
	for _, o := range s.opt.Fields {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return wer.Nearest(word, slices.Compact(names))
}

// setterOf returns what sets a field; nil for one that a form does not have.
func (s *Server) setterOf(q *request, name string) fieldSetter {
	name = cmp.Or(q.api.others[name], name)
	base, index, _ := strings.Cut(name, "[")
	plain := strings.ReplaceAll(name, "-", "_")
	extra := slices.IndexFunc(s.opt.Fields, func(o Field) bool { return o.Name == plain })
	switch {
	case q.api.fields[name] != nil:
		return q.api.fields[name]
	case formFields[name] != nil:
		return formFields[name]
	case strings.Trim(index, "0123456789]") == "" && listFields[base] != nil:
		return listFields[base]
	case strings.HasPrefix(name, "chunking_strategy"):
		return setChunking
	case extra >= 0: // such as beam_size
		return func(q *request, f formField) error {
			if err := s.opt.Fields[extra].Set(&q.decoding, f.value); err != nil {
				return f.bad(err.Error())
			}
			return nil
		}
	}
	return nil
}

// settle sets what several fields decide together.
func (q *request) settle() {
	switch {
	case q.languages != nil && q.language != "":
		q.ignored.add("languages")
	case q.languages != nil:
		q.decoding.Language = joinLanguages(q.languages)
	}
	q.decoding.Terms = slices.Concat(q.decoding.Terms, q.terms)
	switch {
	case q.increment != nil: // whisper.cpp's
		q.decoding.Temperatures = transcribe.Temperatures(q.temperature, *q.increment)
	case q.temperature > 0: // 0 means the usual fallback, as OpenAI's reference says
		q.decoding.Temperatures = []float64{q.temperature}
	}
	q.decoding = withDefaults(q.decoding, q.words)
}

// maxKeywords is how many terms a request may add to the server's.
const maxKeywords = 1000

// addKeywords adds OpenAI's keywords to terms: names and terms, each in the form of a line of a file of terms.
func addKeywords(terms []transcribe.Term, keywords []string) ([]transcribe.Term, error) {
	for _, word := range keywords {
		if strings.TrimSpace(word) == "" {
			continue
		}
		term, err := transcribe.ParseTerm(word)
		if err != nil {
			return nil, err
		}
		if terms = append(terms, term); len(terms) > maxKeywords {
			return nil, fmt.Errorf("got more than %d keywords: send those that matter most", maxKeywords)
		}
	}
	return terms, nil
}

// joinLanguages returns the option for a list of languages that the sound may have. An empty element stands for all.
func joinLanguages(list []string) string {
	if slices.Contains(list, "") {
		return ""
	}
	return strings.Join(list, ",")
}

// setVAD turns voice activity detection on, with the server's options for it, or off. Off also skips the check for
// speech in windows that the model doubts.
func (q *request) setVAD(on bool) {
	q.decoding.SkipSpeechCheck = !on
	if !on {
		q.decoding.VAD = nil
	} else if q.decoding.VAD == nil {
		q.decoding.VAD = new(vad.Options)
	}
}

// setChunking sets OpenAI's chunking_strategy: auto, or server_vad with its numbers. They come as one JSON object, or
// as one field each: chunking_strategy[threshold] or chunking_strategy.threshold.
func setChunking(q *request, f formField) error {
	name, value := f.name, f.value
	member := strings.Trim(strings.TrimPrefix(name, "chunking_strategy"), "[].")
	var inner map[string]json.RawMessage
	isJSON := name == "chunking_strategy" && strings.HasPrefix(value, "{") && json.Unmarshal([]byte(value), &inner) == nil
	if isJSON && inner["type"] != nil {
		for _, m := range slices.Sorted(maps.Keys(inner)) {
			if err := setChunking(q, formField{name + "." + m, strings.Trim(string(inner[m]), `"`)}); err != nil {
				return err
			}
		}
		return nil
	}
	var v vad.Options
	if q.decoding.VAD != nil {
		v = *q.decoding.VAD
	}
	turns := live.DefaultTurns()
	var err error
	switch member {
	case "", "type":
		if value != "auto" && value != "server_vad" {
			return f.bad("auto, or server_vad with threshold, prefix_padding_ms and silence_duration_ms")
		}
	case "threshold":
		turns.Threshold, err = strconv.ParseFloat(value, 64)
		v.Threshold = turns.Threshold
	case "prefix_padding_ms":
		turns.PaddingMS, err = strconv.Atoi(value)
		v.SpeechPadMS = cmp.Or(turns.PaddingMS, -1) // 0 would mean the default
	case "silence_duration_ms":
		turns.SilenceMS, err = strconv.Atoi(value)
		v.MinSilenceDurationMS = turns.SilenceMS
	default:
		q.ignored.add(name)
		return nil
	}
	if err != nil {
		return f.bad("a number")
	}
	if err := turns.Check(); err != nil {
		return optionProblem(err, "chunking_strategy.", nil)
	}
	q.decoding.VAD = &v
	return nil
}

// withDefaults applies a request, which may want the times of words, over the server's options.
func withDefaults(o transcribe.Options, words bool) transcribe.Options {
	o.WordTimestamps = o.WordTimestamps || words
	o.Multilingual = o.Multilingual && o.Language == ""
	return o
}

// languageOf returns the language of a field; empty for the words by which clients name none.
func languageOf(tag string) string {
	tag = strings.TrimSpace(tag)
	if slices.Contains([]string{"auto", "detect", "none", "null", "undefined"}, strings.ToLower(tag)) {
		return ""
	}
	return tag
}
