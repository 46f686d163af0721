package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"verity/internal/options"
	"verity/live"
	"verity/transcribe"
)

// withTentative is a value of include that OpenAI does not have: it asks for events
// with text that may still change.
const withTentative = "item.input_audio_transcription.tentative"

// withWords is another: deltas have the times of their words.
const withWords = "item.input_audio_transcription.words"

// rates are the sample rates of PCM that sessions accept. OpenAI has 24000 only.
var rates = []int{8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 96000}

// A sessionConfig is what a session.update sets.
type sessionConfig struct {
	id       string // of the session
	ends     time.Time
	name     string // of the model, as the client called it
	model    *held
	on       *transcribe.Model // it
	language string
	prompt   string
	rate     int
	manual   bool // no voice activity: the client commits
	ear      live.EarOptions
	by       *live.Transcriber
	include  []string
	noise    json.RawMessage // noise reduction: accepted and ignored
	ignored  []string        // of the last update
}

// A detection is OpenAI's turn_detection.
type detection struct {
	Type      string   `json:"type"`
	Threshold *float64 `json:"threshold,omitempty"`
	Padding   *int     `json:"prefix_padding_ms,omitempty"`
	Silence   *int     `json:"silence_duration_ms,omitempty"`
}

// A wanted is the transcription part of a session.
type wanted struct {
	Model    *string `json:"model"`
	Language *string `json:"language"`
	Prompt   *string `json:"prompt"`
}

// An update is the session object of a session.update. Fields that are left out keep
// their values. The beta interface has the fields at the top level, today's inside
// audio.input.
type update struct {
	Type  string `json:"type"`
	Audio struct {
		Input struct {
			Format *struct {
				Type string `json:"type"`
				Rate *int   `json:"rate"`
			} `json:"format"`
			Transcription *wanted         `json:"transcription"`
			TurnDetection json.RawMessage `json:"turn_detection"` // null has a meaning
			Noise         json.RawMessage `json:"noise_reduction"`
		} `json:"input"`
	} `json:"audio"`
	Include []string `json:"include"`

	Format        *string         `json:"input_audio_format"`
	Transcription *wanted         `json:"input_audio_transcription"`
	TurnDetection json.RawMessage `json:"turn_detection"`
}

// A hold keeps models loaded, each once.
type hold map[*held]func()

func (k hold) take(ctx context.Context, h *held) (*transcribe.Model, error) {
	model, release, err := h.models.take(ctx, h)
	if err == nil && k[h] != nil {
		release()
	} else if err == nil {
		k[h] = release
	}
	return model, err
}

func (k hold) release() {
	for _, release := range k {
		release()
	}
}

// newConfig returns the configuration of a session before its first update.
func (s *Server) newConfig(ctx context.Context, id string, h *held, k hold) (sessionConfig, error) {
	c := sessionConfig{
		id: id, ends: time.Now().Add(s.opt.MaxAudio), ear: live.DefaultEar(), name: h.Name, model: h, rate: 24000,
		language: s.opt.Decoding.Language, prompt: s.opt.Decoding.InitialPrompt,
	}
	return c, c.load(ctx, s, k)
}

// load makes what transcribes by c.
func (c *sessionConfig) load(ctx context.Context, s *Server, k hold) (err error) {
	if c.on, err = k.take(ctx, c.model); err == nil {
		c.by, err = live.New(c.on, c.decoding(s))
	}
	return err
}

// known are the members of an update that do something here, of today and of the beta.
var known = strings.Fields(`
	session.type session.include
	session.audio.input.format.type session.audio.input.format.rate session.input_audio_format
	session.audio.input.transcription.model session.input_audio_transcription.model
	session.audio.input.transcription.language session.input_audio_transcription.language
	session.audio.input.transcription.prompt session.input_audio_transcription.prompt
	session.audio.input.turn_detection.type session.turn_detection.type
	session.audio.input.turn_detection.threshold session.turn_detection.threshold
	session.audio.input.turn_detection.prefix_padding_ms session.turn_detection.prefix_padding_ms
	session.audio.input.turn_detection.silence_duration_ms session.turn_detection.silence_duration_ms`)

// ignored returns the paths of the members of data that nothing here knows.
func ignored(at string, data json.RawMessage) (list []string) {
	var members map[string]json.RawMessage
	json.Unmarshal(data, &members) // of what is no object, none
	for _, name := range slices.Sorted(maps.Keys(members)) {
		path, value := at+"."+name, members[name]
		switch {
		case slices.Contains(known, path), string(value) == "null":
		case slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, path+".") }):
			list = append(list, ignored(path, value)...)
		default:
			list = append(list, path)
		}
	}
	return list
}

// change returns c with an update applied.
func (s *Server) change(ctx context.Context, c sessionConfig, data json.RawMessage, k hold) (sessionConfig, *problem) {
	var u update
	if data == nil {
		return c, wrong(http.StatusBadRequest, "session", "", "session: it is missing")
	}
	if err := json.Unmarshal(data, &u); err != nil {
		return c, badJSON(err, "session")
	}
	if u.Type != "" && u.Type != "transcription" {
		return c, wrong(http.StatusBadRequest, "session.type", "", "session.type: got %q, want transcription: there are no conversations here.", u.Type)
	}
	if p := c.setFormat(u); p != nil {
		return c, p
	}
	in := &u.Audio.Input
	if w := cmp.Or(in.Transcription, u.Transcription); w != nil {
		const at = "session.audio.input.transcription."
		if w.Model != nil {
			if c.model = s.models.find(*w.Model); c.model == nil {
				return c, s.models.unknown(*w.Model).of(at + "model")
			}
		}
		set(&c.name, w.Model)
		if w.Language != nil {
			c.language = spokenIn(*w.Language)
		}
		if set(&c.prompt, w.Prompt); len(c.prompt) > mostField {
			return c, wrong(http.StatusBadRequest, at+"prompt", "", "%sprompt: got %d bytes, want at most %d", at, len(c.prompt), mostField)
		}
	}
	if in.TurnDetection == nil {
		in.TurnDetection = u.TurnDetection
	}
	if p := c.setTurns(in.TurnDetection); p != nil {
		return c, p
	}
	c.ignored = ignored("session", data)
	if u.Include != nil {
		c.include = u.Include
		for _, value := range u.Include {
			if value != withTentative && value != withWords {
				c.ignored = append(c.ignored, "session.include="+value)
			}
		}
	}
	if in.Noise != nil {
		c.noise = in.Noise
	}
	err := c.load(ctx, s, k)
	if err == nil {
		return c, nil
	}
	if p := asProblem(err, "session.audio.input.transcription."); p != nil {
		return c, p
	}
	s.opt.Log.Error("a session cannot be configured", "error", err)
	return c, failed(http.StatusInternalServerError, "The server cannot do this. Its log has the reason.")
}

func set[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

func (c *sessionConfig) setFormat(u update) *problem {
	if f := u.Format; f != nil {
		if *f != "pcm16" {
			return wrong(http.StatusBadRequest, "session.input_audio_format", "", "session.input_audio_format: got %q, want pcm16", *f)
		}
		c.rate = 24000
	}
	f := u.Audio.Input.Format
	if f == nil {
		return nil
	}
	if f.Type != "audio/pcm" {
		return wrong(http.StatusBadRequest, "session.audio.input.format.type", "", "session.audio.input.format.type: got %q, want audio/pcm", f.Type)
	}
	if f.Rate != nil && !slices.Contains(rates, *f.Rate) {
		want := options.Either(strings.Fields(strings.Trim(fmt.Sprint(rates), "[]")))
		return wrong(http.StatusBadRequest, "session.audio.input.format.rate", "", "session.audio.input.format.rate: got %d, want %s", *f.Rate, want)
	}
	set(&c.rate, f.Rate)
	return nil
}

func (c *sessionConfig) setTurns(data json.RawMessage) *problem {
	const at = "session.audio.input.turn_detection"
	switch {
	case data == nil:
		return nil
	case bytes.Equal(data, []byte("null")):
		c.manual = true
		return nil
	}
	var d detection
	if err := json.Unmarshal(data, &d); err != nil {
		return badJSON(err, at)
	}
	if d.Type != "server_vad" {
		return wrong(http.StatusBadRequest, at+".type", "", "%s.type: got %q, want server_vad, or null for turn_detection", at, d.Type)
	}
	c.manual = false
	set(&c.ear.Threshold, d.Threshold)
	set(&c.ear.SilenceMS, d.Silence)
	set(&c.ear.PaddingMS, d.Padding)
	if err := c.ear.Check(); err != nil {
		return wrong(http.StatusBadRequest, at, "", "%s.%v", at, err)
	}
	return nil
}

// decoding returns the decoding options of a session.
func (c sessionConfig) decoding(s *Server) transcribe.Options {
	d := s.opt.Decoding
	d.Language, d.InitialPrompt, d.CarryInitialPrompt = c.language, c.prompt, false
	d.Log = logged(d.Log, "session", c.id)
	return d
}

// turns returns the turn_detection of c for events.
func (c sessionConfig) turns() any {
	if c.manual {
		return nil
	}
	return detection{"server_vad", &c.ear.Threshold, &c.ear.PaddingMS, &c.ear.SilenceMS}
}

// given returns text, nil if there is none.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// object returns the session object for events: OpenAI's of today, or of the beta.
func (c sessionConfig) object(beta bool) object {
	said := object{"model": c.name, "language": given(c.language), "prompt": given(c.prompt)}
	o := object{"id": c.id, "object": "realtime.transcription_session", "expires_at": c.ends.Unix(), "include": append([]string{}, c.include...)}
	if beta {
		o["modalities"], o["input_audio_format"], o["input_audio_transcription"] = []string{"audio", "text"}, "pcm16", said
		if !c.manual {
			o["turn_detection"] = c.turns()
		}
		return o
	}
	o["type"], o["audio"] = "transcription", object{"input": object{
		"format": object{"type": "audio/pcm", "rate": c.rate}, "transcription": said, "turn_detection": c.turns(), "noise_reduction": c.noise,
	}}
	return o
}
