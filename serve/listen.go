package serve

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"

	"verity/audio"
	"verity/tokenizer"
	"verity/transcribe/live"
	"verity/transcript"
)

// A message is an event from the client.
type message struct {
	Type    string          `json:"type"`
	ID      string          `json:"event_id"`
	Audio   string          `json:"audio"`
	Session json.RawMessage `json:"session"`
}

// handle executes an event.
func (x *session) handle(ctx context.Context, m *message) *problem {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return deaf()
	}
	switch m.Type {
	case "session.update", "transcription_session.update":
		c, p := x.change(ctx, m)
		switch {
		case p != nil:
			return p
		case x.closed: // meanwhile
			return deaf()
		}
		x.update(c)
	case "input_audio_buffer.append":
		return x.append(m)
	case "input_audio_buffer.commit":
		x.commit()
		committed := x.fresh // now, or by voice activity a moment ago
		if x.fresh = false; !committed {
			return wrong(http.StatusBadRequest, "", "input_audio_buffer_commit_empty", "There is nothing to commit: no sound, or no speech in it.")
		}
	case "input_audio_buffer.clear":
		x.clear()
	default:
		return wrong(http.StatusBadRequest, "type", "unknown_event", "type: got %.80q, want session.update, or input_audio_buffer.append, .commit or .clear", m.Type)
	}
	return nil
}

// deaf is the problem with an event that comes after the session's end.
func deaf() *problem {
	return failed(http.StatusServiceUnavailable, "The session has ended: nothing more is heard.")
}

// change returns the configuration that an event asks for. It unlocks x meanwhile: loading a
// model takes seconds, in which text goes on and the session may end.
func (x *session) change(ctx context.Context, m *message) (sessionConfig, *problem) {
	c := x.config
	x.mu.Unlock()
	defer x.mu.Lock()
	return x.s.change(ctx, c, m.Session, x.hold)
}

// update sets the configuration. It ends an open utterance.
func (x *session) update(c sessionConfig) {
	x.commit()
	x.config = c
	x.prepare()
	x.sound.Use(c.by, c.detector())
	answer := object{"session": c.object(x.beta)}
	if len(c.ignored) > 0 {
		answer["ignored"], x.ignored = c.ignored, c.ignored
	}
	x.say(x.name("session.updated"), answer)
}

// append decodes sound and adds it to the session. Messages may end amid a sample.
func (x *session) append(m *message) *problem {
	raw, err := base64.StdEncoding.DecodeString(m.Audio)
	if err != nil {
		var at base64.CorruptInputError
		errors.As(err, &at)
		return wrong(http.StatusBadRequest, "audio", "invalid_audio", "audio: want base64, got something else at byte %d", int64(at))
	}
	if most := 2 * mostSound * x.config.rate; len(raw) > most {
		return wrong(http.StatusBadRequest, "audio", "", "audio: got %d bytes, want at most %d in a message, %d s", len(raw), most, mostSound)
	}
	raw = append(x.half, raw...)
	pcm := make([]float32, len(raw)/2)
	for i := range pcm {
		pcm[i] = float32(int16(binary.LittleEndian.Uint16(raw[2*i:]))) / 32768
	}
	x.half = slices.Clone(raw[2*len(pcm):])
	x.hear(x.feed.Add(pcm))
	return nil
}

// hear takes samples at 16 kHz.
func (x *session) hear(pcm []float32) {
	if len(pcm) > 0 {
		x.sound.Hear(pcm)
		x.clock.tick(x.sound.Len())
	}
}

// item is the id of an utterance.
func (x *session) item(u *live.Utterance) string {
	return fmt.Sprintf("item_%s_%d", x.id[len("sess_"):], u.Number)
}

func ms(sample int64) int64 { return sample * 1000 / audio.SampleRate }

// begun is called when an utterance begins.
func (x *session) begun(u *live.Utterance) {
	x.now = u
	if !x.config.manual {
		x.say("input_audio_buffer.speech_started", object{"item_id": x.item(u), "audio_start_ms": ms(u.Start)})
	}
}

// ended is called when an utterance ends, and sends the client its item.
func (x *session) ended(u *live.Utterance) {
	x.now, x.fresh = nil, true
	id := x.item(u)
	if !x.config.manual {
		x.say("input_audio_buffer.speech_stopped", object{"item_id": id, "audio_end_ms": ms(u.Start + u.Len())})
	}
	previous := given(x.previous)
	x.previous = id
	x.say("input_audio_buffer.committed", object{"item_id": id, "previous_item_id": previous})
	whole := object{
		"id": id, "object": "realtime.item", "type": "message", "role": "user", "status": "completed",
		"content": []object{{"type": "input_audio", "transcript": nil}},
	}
	names := []string{"conversation.item.added", "conversation.item.done"}
	if x.beta {
		names = []string{"conversation.item.created"}
	}
	for _, name := range names {
		x.say(name, object{"item": whole, "previous_item_id": previous})
	}
}

// prepare begins a new stream of the client's samples.
func (x *session) prepare() {
	var err error
	if x.feed, err = audio.NewFeed(x.config.rate); err != nil {
		panic("serve: a rate that was checked is refused")
	}
	x.half = nil
}

// commit ends the open utterance, if there is one.
func (x *session) commit() {
	x.hear(x.feed.End())
	x.prepare()
	x.sound.Commit()
}

// clear discards the open utterance.
func (x *session) clear() {
	x.prepare()
	x.sound.Clear()
	x.now = nil
	x.say("input_audio_buffer.cleared", object{})
}

// work makes the passes over one utterance after the other, until the session has ended.
func (x *session) work(ctx context.Context) {
	for u := range x.sound.Utterances(ctx) {
		x.utter(ctx, u)
	}
	if ctx.Err() == nil {
		x.conn.Close(websocket.StatusGoingAway, "the session has ended")
		x.cancel(errClosed)
	}
}

// utter makes passes over an utterance until it has ended.
func (x *session) utter(ctx context.Context, u *live.Utterance) {
	var said tally
	text, language, last := "", "", false
	for r, err := range u.Passes(ctx, x.s.line.guest) {
		switch last = r.Last; {
		case ctx.Err() != nil:
			return
		case err != nil:
			x.fail(u, err)
			return
		case live.Behind(r.Turn) && !last:
			x.late()
		}
		text += x.tell(u, text, r)
		language = r.Language
		x.measure(r, &said)
		x.s.metrics.worked(r.Stats)
	}
	if !last {
		return // it was cleared
	}
	heard := float64(u.Len()) / audio.SampleRate
	x.s.metrics.audio.Add(heard)
	x.sayOf(u, "completed", object{
		"transcript": text, "usage": object{"type": "duration", "seconds": heard}, "latency": said.report(), "language": nameOf(language),
	})
}

// sayOf sends an event about the text of an utterance.
func (x *session) sayOf(u *live.Utterance, kind string, event object) {
	event["item_id"], event["content_index"] = x.item(u), 0
	x.say("conversation.item.input_audio_transcription."+kind, event)
}

// late records that a pass took longer than it should, and tells the operator once.
func (x *session) late() {
	x.s.metrics.late.Inc()
	x.lateOnce.Do(func() {
		x.s.opt.Log.Warn("live text falls behind: passes take longer than the sound between them, so fewer are made", "session", x.id)
	})
}

// fail sends the event that an utterance has no text. The session continues.
func (x *session) fail(u *live.Utterance, err error) {
	x.s.opt.Log.Error("utterance failed", "session", x.id, "item", x.item(u), "error", err)
	x.mu.Lock()
	if x.now == u { // what follows would be added to it, and heard by nobody
		x.commit()
	}
	x.mu.Unlock()
	why := &problem{
		Type: "transcription_error", Code: new("transcription_failed"),
		Message: "The server failed to transcribe the sound. Its log has the reason, with the item's id.",
	}
	x.sayOf(u, "failed", object{"error": why.event("")})
}

// tell sends the events of a pass and returns the text it has confirmed, which follows text.
func (x *session) tell(u *live.Utterance, text string, r live.Result) (delta string) {
	for _, w := range r.Confirmed {
		delta += w.Word
	}
	if text == "" {
		delta = tokenizer.Strip(delta)
	}
	x.mu.Lock()
	include := x.config.include
	x.mu.Unlock()
	if delta != "" {
		e := object{"delta": delta}
		if slices.Contains(include, withWords) {
			e["words"] = sessionWords(r)
		}
		x.sayOf(u, "delta", e)
	}
	if slices.Contains(include, withTentative) {
		x.sayOf(u, "tentative", object{"text": r.Tentative})
	}
	return delta
}

// sessionWords returns confirmed words with their times in the session.
func sessionWords(r live.Result) []word {
	list := wordsOf(transcript.Segment{Words: r.Confirmed})
	for i := range list {
		list[i].Start, list[i].End = transcript.RoundTime(list[i].Start+r.Start), transcript.RoundTime(list[i].End+r.Start)
	}
	return list
}

// measure records the delays of the words that a pass has confirmed.
func (x *session) measure(r live.Result, said *tally) {
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range r.Confirmed {
		d := now.Sub(x.clock.when(int64((r.Start + w.End) * audio.SampleRate)))
		said.add(d)
		x.said.add(d)
		x.s.metrics.delay.Observe(d.Seconds())
	}
}
