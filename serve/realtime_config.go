package serve

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"verity/audio"
	"verity/diarize"
	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcribe/live"
)

// Values of include that OpenAI does not have.
const (
	withTentative = "item.input_audio_transcription.tentative" // events with text that may still change
	withWords     = "item.input_audio_transcription.words"     // the times of words in deltas
)

// Sample rates of PCM that sessions accept. OpenAI has only 24000.
const minSampleRate, maxSampleRate = 8000, 96000

// Encodings of sound that sessions accept.
const (
	pcm16  = "audio/pcm"
	muLaw8 = "audio/pcmu" // G.711
	aLaw8  = "audio/pcma"
)

// defaultRate returns the sample rate of an encoding unless the client names another.
func defaultRate(encoding string) int {
	if encoding == pcm16 {
		return 24000
	}
	return 8000
}

// delays are OpenAI's values of delay, with the seconds of new sound that each pass waits for.
var delays = map[string]float64{"minimal": 0.4, "low": live.DefaultStep, "medium": 1.2, "high": 2, "xhigh": 3}

// Types of sessions. One of type realtime makes no responses here, only the transcription of its input.
const transcriptionSession, realtimeSession = "transcription", "realtime"

// A sessionConfig is what a session.update sets.
type sessionConfig struct {
	id          string // of the session
	kind        string // transcriptionSession or realtimeSession
	expires     time.Time
	name        string // of the model, as the client called it
	language    string
	languages   []string // that the sound may have, if language is empty
	keywords    []string
	terms       []transcribe.Term // of keywords
	prompt      string
	delay       string // a key of delays, or empty
	encoding    string
	rate        int
	manual      bool // no voice activity detection: the client commits
	turns       live.TurnOptions
	transcriber *live.Transcriber
	countTokens func(text string) int
	include     []string
	ignored     ignoredNames // of the last update
}

// newConfig returns the configuration of a session before its first update.
func (s *Server) newConfig(id string) (sessionConfig, error) {
	c := sessionConfig{
		id: id, kind: transcriptionSession, expires: time.Now().Add(s.opt.MaxAudio), turns: live.DefaultTurns(),
		name: s.opt.Name, encoding: pcm16, rate: defaultRate(pcm16),
		language: s.opt.Decoding.Language, prompt: s.opt.Decoding.InitialPrompt,
	}
	return c, c.setTranscriber(s)
}

// setTranscriber makes the transcriber of c.
func (c *sessionConfig) setTranscriber(s *Server) error {
	t, err := live.New(s.model, c.decoding(s))
	if err != nil {
		return err
	}
	c.countTokens = func(text string) int { return len(s.model.Tokenizer.Encode(text)) }
	c.transcriber = t.WithStep(cmp.Or(delays[c.delay], live.DefaultStep))
	return nil
}

// A memberSetter sets the value of a member of an update, or returns why it cannot.
type memberSetter func(c *sessionConfig, value json.RawMessage) error

// decodeInto returns the setter of a member whose JSON is read into a T.
func decodeInto[T any](set func(c *sessionConfig, v T) error) memberSetter {
	return func(c *sessionConfig, value json.RawMessage) error {
		var v T
		if err := json.Unmarshal(value, &v); err != nil {
			return err
		}
		return set(c, v)
	}
}

// assign returns the setter of a member that may have any value of its type.
func assign[T any](field func(c *sessionConfig) *T) memberSetter {
	return decodeInto(func(c *sessionConfig, v T) error { *field(c) = v; return nil })
}

// oneOf returns the setter of a member that has one of some values.
func oneOf(field func(c *sessionConfig) *string, values ...string) memberSetter {
	return decodeInto(func(c *sessionConfig, v string) error {
		if *field(c) = v; !slices.Contains(values, v) {
			return fmt.Errorf("got %.80q, want %s", v, show.JoinOr(values))
		}
		return nil
	})
}

// Prefixes of member paths.
const (
	inTranscription = "session.audio.input.transcription."
	inDetection     = "session.audio.input.turn_detection."
	inFormat        = "session.audio.input.format."
)

// members are the members of an update by their paths.
var members = map[string]memberSetter{
	"session.type": oneOf(func(c *sessionConfig) *string { return &c.kind }, transcriptionSession, realtimeSession),
	"session.include": decodeInto(func(c *sessionConfig, v []string) error {
		c.include = v
		for _, value := range v {
			if value != withTentative && value != withWords {
				c.ignored.add("session.include=" + value)
			}
		}
		return nil
	}),
	inFormat + "type": oneOf(func(c *sessionConfig) *string { return &c.encoding }, pcm16, muLaw8, aLaw8),
	inFormat + "rate": decodeInto(func(c *sessionConfig, v int) error {
		if c.rate = v; v < minSampleRate || v > maxSampleRate {
			return fmt.Errorf("got %d, want %d to %d", v, minSampleRate, maxSampleRate)
		}
		return nil
	}),
	inTranscription + "model": assign(func(c *sessionConfig) *string { return &c.name }),
	inTranscription + "language": decodeInto(func(c *sessionConfig, v string) error {
		c.language, c.languages = languageOf(v), nil
		return nil
	}),
	inTranscription + "languages": decodeInto(func(c *sessionConfig, v []string) error {
		for i, one := range v {
			if v[i] = languageOf(one); v[i] != "" && !tokenizer.IsKnownLanguage(v[i]) {
				return fmt.Errorf("got %.80q, want codes of languages, such as en", one)
			}
		}
		c.language, c.languages = "", v
		return nil
	}),
	inTranscription + "keywords": decodeInto(func(c *sessionConfig, v []string) error {
		terms, err := addKeywords(nil, v)
		c.keywords, c.terms = v, terms
		return err
	}),
	inTranscription + "delay": oneOf(func(c *sessionConfig) *string { return &c.delay },
		"minimal", "low", "medium", "high", "xhigh"),
	inTranscription + "prompt": decodeInto(func(c *sessionConfig, v string) error {
		if c.prompt = v; len(v) > maxField {
			return fmt.Errorf("got %d bytes, want at most %d", len(v), maxField)
		}
		return nil
	}),
	inDetection + "type": decodeInto(func(c *sessionConfig, v string) error { // turn_detection may be null
		switch v {
		case "server_vad":
		case "semantic_vad": // the detector hears pauses, not meaning
			c.ignored.add(inDetection + "type=" + v)
		default:
			return fmt.Errorf("got %.80q, want server_vad or semantic_vad", v)
		}
		return nil
	}),
	inDetection + "threshold":           assign(func(c *sessionConfig) *float64 { return &c.turns.Threshold }),
	inDetection + "prefix_padding_ms":   assign(func(c *sessionConfig) *int { return &c.turns.PaddingMS }),
	inDetection + "silence_duration_ms": assign(func(c *sessionConfig) *int { return &c.turns.SilenceMS }),
}

// otherNames are members as OpenAI's earlier sessions and other programs name them, and what they are here. Ignored, they would
// change what is heard, or how turns end; pcm16 is the default here, too.
var otherNames = map[string]string{
	"session.input_audio_format":        strings.TrimSuffix(inFormat, "."),
	"session.audio.format":              strings.TrimSuffix(inFormat, "."),
	"session.sample_rate":               inFormat + "rate",
	"session.input_audio_transcription": strings.TrimSuffix(inTranscription, "."),
	"session.language":                  inTranscription + "language",
	inTranscription + "lang":            inTranscription + "language",
	"session.turn_detection":            strings.TrimSuffix(inDetection, "."),
	inDetection + "silence_ms":          inDetection + "silence_duration_ms",
}

// apply sets the member at a path and the members within it. Unknown members are ignored, and listed, except where they would
// change what is heard. A member that is missing or null keeps its value, except that null for turn_detection leaves it to the
// client to commit.
func (c *sessionConfig) apply(at string, value json.RawMessage) *problem {
	detects, null := at+"." == inDetection, string(value) == "null"
	if detects {
		c.manual = null
	}
	var inner map[string]json.RawMessage
	var err error
	within := func(path string) bool { return strings.HasPrefix(path, at+".") }
	switch set := members[at]; {
	case otherNames[at] != "" && string(value) != `"pcm16"`:
		return clientError(http.StatusBadRequest, at, "unknown_parameter", "%s: unknown: want %s", at, otherNames[at])
	case set == nil && strings.HasPrefix(at, inFormat):
		return clientError(http.StatusBadRequest, at, "unknown_parameter", "%s: unknown: want type or rate", at)
	case set == nil && !slices.ContainsFunc(slices.Collect(maps.Keys(members)), within):
		c.ignored.add(at)
	case null:
	case set != nil:
		err = set(c, value)
	default:
		err = json.Unmarshal(value, &inner)
	}
	if at+"." == inTranscription && isSet(inner["language"]) && inner["languages"] != nil { // as in forms
		delete(inner, "languages")
		c.ignored.add(at + ".languages")
	}
	encoding := c.encoding
	for _, name := range slices.Sorted(maps.Keys(inner)) {
		if p := c.apply(at+"."+name, inner[name]); p != nil {
			return p
		}
	}
	if c.encoding != encoding && inner["rate"] == nil && at+"." == inFormat {
		c.rate = defaultRate(c.encoding)
	}
	if bad := c.turns.Check(); err == nil && detects && bad != nil {
		return optionProblem(bad, at+".", nil)
	}
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*problem](err); ok {
		return p.withParam(at)
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return badJSON(err, at)
	}
	return badRequest(at, "%s: %v", at, err)
}

// isSet reports whether a member of an update is a language.
func isSet(value json.RawMessage) bool {
	var language string
	return json.Unmarshal(value, &language) == nil && languageOf(language) != ""
}

// applyUpdate returns c with an update applied.
func (s *Server) applyUpdate(c sessionConfig, data json.RawMessage) (sessionConfig, *problem) {
	if data == nil {
		return c, badRequest("session", "session: it is missing")
	}
	c.ignored = nil
	if p := c.apply("session", data); p != nil {
		return c, p
	}
	err := c.setTranscriber(s)
	if err == nil {
		return c, nil
	}
	if p := s.requestProblem(err, inTranscription); p != nil {
		return c, p
	}
	s.opt.Log.Error("a session cannot be configured", "error", err)
	return c, serverError(http.StatusInternalServerError, "The server cannot do this. Its log has the reason.")
}

// decoding returns the decoding options of a session.
func (c sessionConfig) decoding(s *Server) transcribe.Options {
	d := s.opt.Decoding
	d.Language, d.InitialPrompt = cmp.Or(c.language, joinLanguages(c.languages)), c.prompt
	d.Terms = slices.Concat(d.Terms, c.terms)
	if d.Log = withField(d.Log, "session", c.id); c.diarizes() {
		d.Speakers = new(diarize.Options)
	}
	return d
}

// diarizes reports whether the session identifies speakers.
func (c sessionConfig) diarizes() bool { return strings.HasPrefix(c.name, diarizingModel) }

// detector returns the options of turn detection; nil if the client commits.
func (c sessionConfig) detector() *live.TurnOptions {
	if c.manual {
		return nil
	}
	return &c.turns
}

// object returns the session object of events. What is not set is missing, not null: OpenAI's description
// allows null only for turn_detection.
func (c sessionConfig) object() object {
	transcription := object{"model": c.name}
	for name, value := range map[string]string{"language": c.language, "prompt": c.prompt, "delay": c.delay} {
		if value != "" {
			transcription[name] = value
		}
	}
	if c.languages != nil {
		transcription["languages"] = c.languages
	}
	if c.keywords != nil {
		transcription["keywords"] = c.keywords
	}
	var detection any
	if !c.manual {
		detection = object{"type": "server_vad", "threshold": c.turns.Threshold,
			"prefix_padding_ms": c.turns.PaddingMS, "silence_duration_ms": c.turns.SilenceMS}
	}
	session := object{
		"id": c.id, "object": "realtime.transcription_session", "type": c.kind, "expires_at": c.expires.Unix(),
		"include": append([]string{}, c.include...),
		"audio": object{"input": object{
			"format":         object{"type": c.encoding, "rate": c.rate},
			"transcription":  transcription,
			"turn_detection": detection,
		}},
	}
	if c.kind == realtimeSession {
		session["object"], session["output_modalities"] = "realtime.session", []string{"text"}
	}
	return session
}

// bytesPerSample returns the size of a sample of the client's sound.
func (c sessionConfig) bytesPerSample() int {
	if c.encoding == pcm16 {
		return 2
	}
	return 1
}

// decode returns the samples of the client's sound, whose length is a multiple of a sample's.
func (c sessionConfig) decode(raw []byte) []float32 {
	pcm := make([]float32, len(raw)/c.bytesPerSample())
	for i := range pcm {
		switch c.encoding {
		case muLaw8:
			pcm[i] = audio.MuLaw(raw[i])
		case aLaw8:
			pcm[i] = audio.ALaw(raw[i])
		default:
			pcm[i] = float32(int16(binary.LittleEndian.Uint16(raw[2*i:]))) / 32768
		}
	}
	return pcm
}
