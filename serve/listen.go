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
	"verity/live"
	"verity/tokenizer"
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
		return failed(http.StatusServiceUnavailable, "The session has ended: nothing more is heard.")
	}
	switch m.Type {
	case "session.update", "transcription_session.update":
		return x.update(ctx, m)
	case "input_audio_buffer.append":
		return x.append(m)
	case "input_audio_buffer.commit":
		committed := x.commit() || x.fresh // by voice activity, a moment ago
		if x.fresh = false; !committed {
			return wrong(http.StatusBadRequest, "", "input_audio_buffer_commit_empty", "There is nothing to commit: no sound, or no speech in it.")
		}
	case "input_audio_buffer.clear":
		x.clear()
	default:
		return wrong(http.StatusBadRequest, "type", "unknown_event", "type: got %q, want session.update, or input_audio_buffer.append, .commit or .clear", m.Type)
	}
	return nil
}

// update changes the configuration. It ends an open utterance.
func (x *session) update(ctx context.Context, m *message) *problem {
	c, p := x.s.change(ctx, x.config, m.Session, x.hold)
	if p != nil {
		return p
	}
	x.commit()
	x.config = c
	x.prepare()
	answer := object{"session": c.object(x.beta)}
	if c.ignored = printable(c.ignored); len(c.ignored) > 0 {
		answer["ignored"], x.ignored = c.ignored, c.ignored
	}
	x.say(x.name("session.updated"), answer)
	return nil
}

// append decodes sound and adds it to the session.
func (x *session) append(m *message) *problem {
	raw, err := base64.StdEncoding.DecodeString(m.Audio)
	if err != nil {
		var at base64.CorruptInputError
		errors.As(err, &at)
		return wrong(http.StatusBadRequest, "audio", "invalid_audio", "audio: want base64, got something else at byte %d", int64(at))
	}
	if len(raw)%2 != 0 {
		return wrong(http.StatusBadRequest, "audio", "invalid_audio", "audio: got %d bytes, an odd number; want samples of 16 bits", len(raw))
	}
	if most := 2 * mostSound * x.config.rate; len(raw) > most {
		return wrong(http.StatusBadRequest, "audio", "", "audio: got %d s, want at most %d s in a message", len(raw)/2/x.config.rate, mostSound)
	}
	pcm := make([]float32, len(raw)/2)
	for i := range pcm {
		pcm[i] = float32(int16(binary.LittleEndian.Uint16(raw[2*i:]))) / 32768
	}
	x.hear(x.arriving.Add(pcm))
	return nil
}

// hear takes samples at 16 kHz.
func (x *session) hear(pcm []float32) {
	if len(pcm) == 0 {
		return
	}
	x.at += int64(len(pcm))
	x.clock.tick(x.at)
	if !x.config.manual {
		x.follow(x.ear.Hear(pcm))
		return
	}
	if x.now == nil {
		x.begin(x.at - int64(len(pcm)))
	}
	x.add(pcm)
}

// add adds sound to the open utterance, if there is one.
func (x *session) add(pcm []float32) {
	if x.now != nil {
		x.now.Add(pcm)
	}
}

// follow begins and ends utterances as voice activity detection reports them.
func (x *session) follow(heard []live.Heard) {
	for _, h := range heard {
		switch h.Kind {
		case live.Started:
			if x.begin(x.base + h.At); x.now != nil {
				x.say("input_audio_buffer.speech_started", object{"item_id": x.now.item, "audio_start_ms": ms(x.base + h.At)})
			}
		case live.Speech:
			x.add(h.PCM)
		case live.Stopped:
			if x.now != nil {
				x.say("input_audio_buffer.speech_stopped", object{"item_id": x.now.item, "audio_end_ms": ms(x.base + h.At)})
				x.stop()
			}
		}
	}
}

func ms(sample int64) int64 { return sample * 1000 / audio.SampleRate }

// begin begins an utterance at a sample.
func (x *session) begin(at int64) {
	x.items++
	p := &spoken{x.config.by.Utterance(x.backlog, at), fmt.Sprintf("item_%s_%d", x.id[len("sess_"):], x.items), x.config.on}
	select {
	case x.queue <- p:
		x.now = p
	default: // only very many very short ones come here
		x.complain(wrong(http.StatusTooManyRequests, "", "rate_limit_exceeded", "Too many utterances wait: sound was dropped."), "")
	}
}

// stop ends the open utterance and sends the client its item.
func (x *session) stop() {
	p := x.now
	x.now, x.fresh = nil, true
	p.End()
	previous := given(x.previous)
	x.previous = p.item
	x.say("input_audio_buffer.committed", object{"item_id": p.item, "previous_item_id": previous})
	whole := object{
		"id": p.item, "object": "realtime.item", "type": "message", "role": "user", "status": "completed",
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

// commit ends the open utterance and reports whether there was one.
func (x *session) commit() bool {
	x.hear(x.arriving.End())
	x.prepareSound()
	before := x.items
	going := x.now != nil
	if !x.config.manual {
		x.follow(x.ear.End())
	} else if going {
		x.stop()
	}
	return going || x.items > before
}

// prepareSound begins a new stream of samples.
func (x *session) prepareSound() {
	a, err := audio.NewArriving(x.config.rate)
	if err != nil {
		panic("serve: a rate of the list is refused")
	}
	x.arriving = a
}

// clear discards the open utterance.
func (x *session) clear() {
	x.prepare()
	if p := x.now; p != nil {
		x.now = nil
		p.Drop()
	}
	x.say("input_audio_buffer.cleared", object{})
}

// work makes the passes over one utterance after the other.
func (x *session) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case p, open := <-x.queue:
			if !open {
				x.conn.Close(websocket.StatusGoingAway, "the session has ended")
				x.cancel(errClosed)
				return
			}
			x.utter(ctx, p)
		}
	}
}

// utter makes passes over an utterance until it has ended.
func (x *session) utter(ctx context.Context, p *spoken) {
	var said tally
	text, language, last := "", "", false
	p.Follow(x.story)
	for r, err := range p.Passes(ctx, x.s.line.guest) {
		switch last = r.Last; {
		case ctx.Err() != nil:
			return
		case err != nil:
			x.fail(p, err)
			return
		case live.Behind(r.Turn) && !last:
			x.late()
		}
		text += x.tell(p, text, r)
		language = r.Language
		x.measure(r, &said)
		x.s.metrics.worked(r.Stats)
		if x.story = text; r.Unsure {
			x.story = ""
		}
	}
	if !last {
		return // it was cleared
	}
	heard := float64(p.Len()) / audio.SampleRate
	x.s.metrics.audio.Add(heard)
	x.sayOf(p, "completed", object{
		"transcript": text, "usage": object{"type": "duration", "seconds": heard}, "latency": said.report(), "language": nameOf(p.on, language),
	})
}

// sayOf sends an event about the text of an utterance.
func (x *session) sayOf(p *spoken, kind string, event object) {
	event["item_id"], event["content_index"] = p.item, 0
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
func (x *session) fail(p *spoken, err error) {
	x.s.opt.Log.Error("utterance failed", "session", x.id, "item", p.item, "error", err)
	x.mu.Lock()
	if x.now == p { // what follows would be added to it, and heard by nobody
		x.stop()
	}
	x.mu.Unlock()
	why := &problem{
		Type: "transcription_error", Code: new("transcription_failed"),
		Message: "The server failed to transcribe the sound. Its log has the reason, with the item's id.",
	}
	x.sayOf(p, "failed", object{"error": why.event("")})
}

// tell sends the events of a pass and returns the text it has confirmed, which follows text.
func (x *session) tell(p *spoken, text string, r live.Result) (delta string) {
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
		x.sayOf(p, "delta", e)
	}
	if slices.Contains(include, withTentative) {
		x.sayOf(p, "tentative", object{"text": r.Tentative})
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
	m := x.s.metrics
	for _, w := range r.Confirmed {
		d := now.Sub(x.clock.when(int64((r.Start + w.End) * audio.SampleRate)))
		work := min(r.Took, d)
		queue := min(r.Turn-r.Took, d-work)
		parts := shares{d - work - queue, queue, work}
		said.add(d, parts)
		x.said.add(d, parts)
		m.delay.Observe(d.Seconds())
		for i, name := range []string{"listening", "waiting", "transcribing"} {
			m.shares.WithLabelValues(name).Add(parts[i].Seconds())
		}
	}
}
