package serve

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"verity/audio"
)

// update2026 is what a client of the API of 2026 may send: every member is understood.
const update2026 = `{"type":"session.update","session":{"type":%q,"audio":{"input":{"format":{"type":%q},
	"transcription":{"model":%q,"languages":["en"],"keywords":["seven"],"prompt":"digits",
	"delay":"minimal"},"turn_detection":null}}}}`

// TestUpdate2026: the models, members and types of sessions of 2026 are understood, and the events have what the typed
// clients expect.
func TestUpdate2026(t *testing.T) {
	h, s := newServer(t, Options{})
	for _, tt := range []struct{ query, kind, encoding, model, first string }{
		{"?intent=transcription", "transcription", "audio/pcm", "gpt-4o-transcribe-diarize", "A"},
		{"?model=gpt-realtime-whisper", "transcription", "audio/pcmu", "gpt-live-transcribe", ""},
		{"?model=gpt-realtime-2", "realtime", "audio/pcma", "gpt-live-transcribe", ""},
	} {
		c := call(t, h, tt.query, nil)
		c.send(fmt.Sprintf(update2026, tt.kind, tt.encoding, tt.model))
		e := c.until("session.updated")
		input, _ := json.Marshal(e.Session["audio"].(map[string]any)["input"])
		rate := defaultRate(tt.encoding)
		for _, want := range []string{
			fmt.Sprintf(`"model":%q`, tt.model), `"languages":["en"]`, `"keywords":["seven"]`, `"delay":"minimal"`,
			fmt.Sprintf(`"rate":%d,"type":%q`, rate, tt.encoding),
		} {
			if !strings.Contains(string(input), want) {
				t.Errorf("%s: the session is %s, want %s", tt.query, input, want)
			}
		}
		if e.Session["type"] != tt.kind || e.Ignored != nil {
			t.Errorf("%s: type %v, ignored %q", tt.query, e.Session["type"], e.Ignored)
		}
		c.send(fmt.Sprintf(`{"type":"input_audio_buffer.append","audio":%q}`, encodedDigits(t, tt.encoding)))
		c.send(`{"type":"input_audio_buffer.commit"}`)
		last := c.until(done)
		u := last.Usage
		if u.Type != "tokens" || u.Input < 450 || u.Input > 550 || u.Output == 0 || u.Total != u.Input+u.Output ||
			!slices.Equal(last.Languages, []languageCode{{"en"}}) {
			t.Errorf("%s: usage %+v, languages %v", tt.query, u, last.Languages)
		}
		text, speakers := "", []string{}
		for _, e := range c.seen {
			if e.Type == "conversation.item.input_audio_transcription.segment" {
				speakers = append(speakers, e.Speaker)
				if text += " " + e.Text; e.ItemID != last.ItemID {
					t.Errorf("a segment of item %s, want %s", e.ItemID, last.ItemID)
				}
			}
		}
		if len(speakers) == 0 || speakers[0] != tt.first || tt.first != "" && slices.Contains(speakers, "") { // the digits have several
			t.Errorf("%s: speakers %q, want %q first", tt.query, speakers, tt.first)
		}
		if strings.TrimSpace(text) != last.Transcript || len(strings.Fields(text)) < 5 {
			t.Errorf("%s: segments %q, completed %q", tt.query, text, last.Transcript)
		}
		c.conn.Close(websocket.StatusNormalClosure, "")
	}
	settle(t, s)
}

// encodedDigits returns the sound as a client sends it: at 24 kHz, or as telephone sound at 8 kHz. Upsampling repeats
// samples and downsampling drops them, which is good enough for the text of the digits.
func encodedDigits(t *testing.T, encoding string) string {
	var raw []byte
	pcm := digitsPCM(t)
	for i := 0; i+1 < len(pcm); i += 2 { // 16 kHz
		v := int16((pcm[i] + pcm[i+1]) / 2 * 32767)
		switch encoding {
		case muLaw8, aLaw8:
			raw = append(raw, nearest(encoding, float32(v)/32768))
		default: // three samples for two
			for range 3 {
				raw = append(raw, byte(v), byte(v>>8))
			}
		}
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// nearest returns the byte of G.711 whose sample is nearest to x.
func nearest(encoding string, x float32) (best byte) {
	decode := audio.MuLaw
	if encoding == aLaw8 {
		decode = audio.ALaw
	}
	for b := range 256 {
		if abs(decode(byte(b))-x) < abs(decode(best)-x) {
			best = byte(b)
		}
	}
	return best
}

func abs(x float32) float32 { return max(x, -x) }

// TestEncodingChanges: the rate that belongs to an encoding follows it, unless the client names another.
func TestEncodingChanges(t *testing.T) {
	c := sessionConfig{encoding: pcm16, rate: 24000}
	c.turns.Threshold, c.turns.SilenceMS = 0.5, 500
	for _, tt := range []struct {
		format string
		rate   int
	}{
		{`{"type":"audio/pcm","rate":16000}`, 16000}, {`{"type":"audio/pcmu"}`, 8000}, {`{"type":"audio/pcma"}`, 8000},
		{`{"type":"audio/pcm"}`, 24000}, {`{"rate":16000,"type":"audio/pcmu"}`, 16000}, {`{"rate":8000}`, 8000},
	} {
		if p := c.apply("session.audio.input.format", []byte(tt.format)); p != nil || c.rate != tt.rate {
			t.Errorf("%s: %v, %d Hz, want %d", tt.format, p, c.rate, tt.rate)
		}
	}
}

// TestOtherNames: members of OpenAI's earlier sessions and other programs that would change what is heard are errors, and name what
// replaces them.
func TestOtherNames(t *testing.T) {
	h, _ := newServer(t, Options{})
	c := call(t, h, "?intent=transcription", nil)
	for member, want := range map[string]string{
		`"input_audio_format":"g711_ulaw"`: "session.audio.input.format", `"turn_detection":null`: "session.audio.input.turn_detection",
		`"input_audio_transcription":{"language":"de"}`:      "session.audio.input.transcription",
		`"audio":{"input":{"format":{"sample_rate":16000}}}`: "type or rate",
		`"audio":{"format":"pcm"}`:                           "session.audio.input.format", `"sample_rate":16000`: "format.rate",
		`"language":"de"`: "transcription.language", `"audio":{"input":{"transcription":{"lang":"de"}}}`: "transcription.language",
		`"audio":{"input":{"turn_detection":{"silence_ms":200}}}`: "turn_detection.silence_duration_ms",
	} {
		c.send(`{"type":"session.update","session":{` + member + `}}`)
		if e := c.until("error"); e.Error.Code != "unknown_parameter" || !strings.Contains(e.Error.Message, want) {
			t.Errorf("%s: %+v, want %s", member, e.Error, want)
		}
	}
	c.send(`{"type":"session.update","session":{"input_audio_format":"pcm16","tools":null}}`)
	if e := c.until("session.updated"); !slices.Equal(e.Ignored, []string{"session.input_audio_format", "session.tools"}) {
		t.Errorf("ignored %q", e.Ignored)
	}
}
