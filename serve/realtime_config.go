package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

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

// A sessionConfig is what a session.update sets.
type sessionConfig struct {
	id          string // of the session
	expires     time.Time
	name        string // of the model, as the client called it
	model       *modelSlot
	language    string
	prompt      string
	rate        int
	manual      bool // no voice activity detection: the client commits
	turns       live.TurnOptions
	transcriber *live.Transcriber
	include     []string
	ignored     ignoredNames // of the last update
}

// leases keep models loaded, each once.
type leases map[*modelSlot]func()

func (l leases) acquire(ctx context.Context, m *modelSlot) (*transcribe.Model, error) {
	model, release, err := m.pool.acquire(ctx, m)
	if err == nil && l[m] != nil {
		release()
	} else if err == nil {
		l[m] = release
	}
	return model, err
}

func (l leases) release() {
	for _, release := range l {
		release()
	}
}

// newConfig returns the configuration of a session before its first update.
func (s *Server) newConfig(ctx context.Context, id string, m *modelSlot, held leases) (sessionConfig, error) {
	c := sessionConfig{
		id: id, expires: time.Now().Add(s.opt.MaxAudio), turns: live.DefaultTurns(), name: m.Name, model: m, rate: 24000,
		language: s.opt.Decoding.Language, prompt: s.opt.Decoding.InitialPrompt,
	}
	return c, c.load(ctx, s, held)
}

// load loads the model of c and makes its transcriber.
func (c *sessionConfig) load(ctx context.Context, s *Server, held leases) error {
	m, err := held.acquire(ctx, c.model)
	if err == nil {
		c.transcriber, err = live.New(m, c.decoding(s))
	}
	return err
}

// A memberSetter sets the value of a member of an update, or returns why it cannot.
type memberSetter func(s *Server, c *sessionConfig, value json.RawMessage) error

// decodeInto returns the setter of a member whose JSON is read into a T.
func decodeInto[T any](set func(s *Server, c *sessionConfig, v T) error) memberSetter {
	return func(s *Server, c *sessionConfig, value json.RawMessage) error {
		var v T
		if err := json.Unmarshal(value, &v); err != nil {
			return err
		}
		return set(s, c, v)
	}
}

// assign returns the setter of a member that may have any value of its type.
func assign[T any](field func(c *sessionConfig) *T) memberSetter {
	return decodeInto(func(_ *Server, c *sessionConfig, v T) error { *field(c) = v; return nil })
}

// mustBe returns the setter of a member that can have only one value.
func mustBe(want string) memberSetter {
	return decodeInto(func(_ *Server, _ *sessionConfig, v string) error {
		if v != want {
			return fmt.Errorf("got %.80q, want %s", v, want)
		}
		return nil
	})
}

// Prefixes of member paths.
const (
	inTranscription = "session.audio.input.transcription."
	inDetection     = "session.audio.input.turn_detection."
)

// members are the members of an update by their paths.
var members = map[string]memberSetter{
	"session.type": mustBe("transcription"),
	"session.include": decodeInto(func(_ *Server, c *sessionConfig, v []string) error {
		c.include = v
		for _, value := range v {
			if value != withTentative && value != withWords {
				c.ignored.add("session.include=" + value)
			}
		}
		return nil
	}),
	"session.audio.input.format.type": mustBe("audio/pcm"),
	"session.audio.input.format.rate": decodeInto(func(_ *Server, c *sessionConfig, v int) error {
		if c.rate = v; v < minSampleRate || v > maxSampleRate {
			return fmt.Errorf("got %d, want %d to %d", v, minSampleRate, maxSampleRate)
		}
		return nil
	}),
	inTranscription + "model": decodeInto(func(s *Server, c *sessionConfig, v string) error {
		if c.name, c.model = v, s.models.find(v); c.model == nil {
			return s.models.notFound(v)
		}
		return nil
	}),
	inTranscription + "language": decodeInto(func(_ *Server, c *sessionConfig, v string) error {
		c.language = languageOf(v)
		return nil
	}),
	inTranscription + "prompt": decodeInto(func(_ *Server, c *sessionConfig, v string) error {
		if c.prompt = v; len(v) > maxField {
			return fmt.Errorf("got %d bytes, want at most %d", len(v), maxField)
		}
		return nil
	}),
	inDetection + "type":                mustBe("server_vad"), // turn_detection itself may be null
	inDetection + "threshold":           assign(func(c *sessionConfig) *float64 { return &c.turns.Threshold }),
	inDetection + "prefix_padding_ms":   assign(func(c *sessionConfig) *int { return &c.turns.PaddingMS }),
	inDetection + "silence_duration_ms": assign(func(c *sessionConfig) *int { return &c.turns.SilenceMS }),
}

// apply sets the member at a path and the members within it. Unknown members are ignored, and listed. A member that is
// missing or null keeps its value, except that null for turn_detection leaves it to the client to commit.
func (c *sessionConfig) apply(s *Server, at string, value json.RawMessage) *problem {
	detects := at+"." == inDetection
	if detects {
		c.manual = string(value) == "null"
	}
	var inner map[string]json.RawMessage
	var err error
	within := func(path string) bool { return strings.HasPrefix(path, at+".") }
	switch set := members[at]; {
	case string(value) == "null":
	case set != nil:
		err = set(s, c, value)
	case !slices.ContainsFunc(slices.Collect(maps.Keys(members)), within):
		c.ignored.add(at)
	default:
		err = json.Unmarshal(value, &inner)
	}
	for _, name := range slices.Sorted(maps.Keys(inner)) {
		if p := c.apply(s, at+"."+name, inner[name]); p != nil {
			return p
		}
	}
	if bad := c.turns.Check(); err == nil && detects && bad != nil {
		return badRequest(at, "%s.%v", at, bad)
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

// applyUpdate returns c with an update applied.
func (s *Server) applyUpdate(
	ctx context.Context, c sessionConfig, data json.RawMessage, held leases,
) (sessionConfig, *problem) {
	if data == nil {
		return c, badRequest("session", "session: it is missing")
	}
	c.ignored = nil
	if p := c.apply(s, "session", data); p != nil {
		return c, p
	}
	err := c.load(ctx, s, held)
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
	d.Language, d.InitialPrompt = c.language, c.prompt
	d.Log = withField(d.Log, "session", c.id)
	return d
}

// detector returns the options of turn detection; nil if the client commits.
func (c sessionConfig) detector() *live.TurnOptions {
	if c.manual {
		return nil
	}
	return &c.turns
}

// detection returns the member turn_detection of events.
func (c sessionConfig) detection() any {
	if c.manual {
		return nil
	}
	return object{"type": "server_vad", "threshold": c.turns.Threshold,
		"prefix_padding_ms": c.turns.PaddingMS, "silence_duration_ms": c.turns.SilenceMS}
}

// object returns the session object of events.
func (c sessionConfig) object() object {
	return object{
		"id": c.id, "object": "realtime.transcription_session", "type": "transcription", "expires_at": c.expires.Unix(),
		"include": append([]string{}, c.include...),
		"audio": object{"input": object{
			"format":          object{"type": "audio/pcm", "rate": c.rate},
			"transcription":   object{"model": c.name, "language": nilIfEmpty(c.language), "prompt": nilIfEmpty(c.prompt)},
			"turn_detection":  c.detection(),
			"noise_reduction": nil,
		}},
	}
}
