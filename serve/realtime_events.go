package serve

import (
	"context"
	"encoding/base64"
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
func (x *session) handle(m *message) *problem {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return serverError(http.StatusServiceUnavailable, "The session has ended: further sound is ignored.")
	}
	switch m.Type {
	case "session.update":
		return x.update(m)
	case "input_audio_buffer.append":
		return x.append(m)
	case "input_audio_buffer.commit":
		x.commit()
		committed := x.ended // now, or by voice activity a moment ago
		if x.ended = false; !committed {
			return clientError(http.StatusBadRequest, "", "input_audio_buffer_commit_empty",
				"There is nothing to commit: no sound, or no speech in it.")
		}
	case "input_audio_buffer.clear":
		x.clear()
	default:
		return clientError(http.StatusBadRequest, "type", "unknown_event",
			"type: got %.80q, want session.update, or input_audio_buffer.append, .commit or .clear: "+
				"this server transcribes, and makes no responses", m.Type)
	}
	return nil
}

// update changes the configuration, and ends an open utterance. The caller holds the lock.
func (x *session) update(m *message) *problem {
	c, p := x.s.applyUpdate(x.config, m.Session)
	if p != nil {
		return p
	}
	x.commit()
	x.config = c
	x.resetFeed()
	x.sound.Configure(c.transcriber, c.detector())
	answer := object{"session": c.object()}
	if len(c.ignored) > 0 {
		answer["ignored"], x.ignored = c.ignored, c.ignored
	}
	x.send("session.updated", answer)
	return nil
}

// append decodes sound and adds it to the session. A message may end in the middle of a sample. The caller
// holds the lock.
func (x *session) append(m *message) *problem {
	raw, err := base64.StdEncoding.DecodeString(m.Audio)
	if err != nil {
		var at base64.CorruptInputError
		errors.As(err, &at)
		return clientError(http.StatusBadRequest, "audio", "invalid_audio",
			"audio: want base64, got something else at byte %d", int64(at))
	}
	size := x.config.bytesPerSample()
	if limit := size * maxMessageSeconds * x.config.rate; len(raw) > limit {
		return badRequest("audio",
			"audio: got %d bytes, want at most %d in a message, %d s", len(raw), limit, maxMessageSeconds)
	}
	raw = append(x.oddByte, raw...)
	whole := len(raw) - len(raw)%size
	x.oddByte = slices.Clone(raw[whole:])
	x.addSamples(x.feed.Add(x.config.decode(raw[:whole])))
	return nil
}

// addSamples adds samples at 16 kHz. The caller holds the lock.
func (x *session) addSamples(pcm []float32) {
	if len(pcm) > 0 {
		x.sound.Add(pcm)
		x.arrivals.add(x.sound.Len())
	}
}

// usage returns the usage of some seconds of sound with a text of some tokens, as the model's typed clients expect it.
func (c sessionConfig) usage(seconds float64, tokens int) any {
	if usesTokens(c.name) {
		return newTokenUsage(seconds, 0, tokens)
	}
	return object{"type": "duration", "seconds": seconds}
}

// item returns the id of an utterance.
func (x *session) item(u *live.Utterance) string {
	return fmt.Sprintf("item_%s_%d", x.id[len("sess_"):], u.Number)
}

func ms(sample int64) int64 { return sample * 1000 / audio.SampleRate }

// utteranceBegan is called when an utterance begins, with the lock held.
func (x *session) utteranceBegan(u *live.Utterance) {
	x.current = u
	if !x.config.manual {
		x.send("input_audio_buffer.speech_started", object{"item_id": x.item(u), "audio_start_ms": ms(u.Start)})
	}
}

// utteranceEnded is called when an utterance ends, with the lock held, and sends the client its item.
func (x *session) utteranceEnded(u *live.Utterance) {
	x.current, x.ended = nil, true
	id := x.item(u)
	if !x.config.manual {
		x.send("input_audio_buffer.speech_stopped", object{"item_id": id, "audio_end_ms": ms(u.Start + u.Len())})
	}
	previous := nilIfEmpty(x.previous)
	x.previous = id
	x.send("input_audio_buffer.committed", object{"item_id": id, "previous_item_id": previous})
	item := object{
		"id": id, "object": "realtime.item", "type": "message", "role": "user", "status": "completed",
		"content": []object{{"type": "input_audio"}},
	}
	x.send("conversation.item.added", object{"item": item, "previous_item_id": previous})
	x.send("conversation.item.done", object{"item": item, "previous_item_id": previous})
}

// resetFeed begins a new stream of the client's samples. The caller holds the lock.
func (x *session) resetFeed() {
	var err error
	if x.feed, err = audio.NewFeed(x.config.rate); err != nil {
		panic("serve: a rate that was checked is refused")
	}
	x.oddByte = nil
}

// commit ends the open utterance, if there is one. The caller holds the lock.
func (x *session) commit() {
	x.addSamples(x.feed.End())
	x.resetFeed()
	x.sound.Commit()
}

// clear discards the open utterance. The caller holds the lock.
func (x *session) clear() {
	x.resetFeed()
	x.sound.Clear()
	x.current = nil
	x.send("input_audio_buffer.cleared", object{})
}

// transcribe makes the passes over one utterance after the other, until the session has ended.
func (x *session) transcribe(ctx context.Context) {
	for u := range x.sound.Utterances(ctx) {
		x.transcribeUtterance(ctx, u)
	}
	if ctx.Err() == nil {
		x.conn.Close(websocket.StatusGoingAway, "the session has ended")
		x.cancel(errClosed)
	}
}

// transcribeUtterance makes passes over an utterance until it has ended.
func (x *session) transcribeUtterance(ctx context.Context, u *live.Utterance) {
	var delays []time.Duration     // of the words of u
	var sentence []transcript.Word // those of a sentence that has not ended
	text, language, last, segments := "", "", false, 0
	x.mu.Lock()
	model, diarizes := x.s.opt.Name, x.config.diarizes()
	x.mu.Unlock()
	for r, err := range u.Passes(ctx, x.s.queue.liveTurn) {
		switch last = r.Last; {
		case ctx.Err() != nil:
			return
		case err != nil:
			x.fail(u, err)
			return
		case u.IsLate(r.Elapsed) && !last:
			x.reportLate()
		}
		text += x.sendText(u, text, r)
		sentence = append(sentence, inSession(r.Confirmed, r.Start)...)
		if diarizes && r.Words != nil { // all, with their speakers
			sentence = inSession(r.Words, r.Start)
		}
		for r.Last || !diarizes {
			n := live.PhraseLength(sentence, r.Last)
			if n == 0 {
				break
			}
			x.sendSegment(u, segments, sentence[:n])
			sentence, segments = sentence[n:], segments+1
		}
		language = r.Language
		delays = append(delays, x.delays(r)...)
		x.s.metrics.addStats(model, r.Stats)
	}
	if !last {
		return // it was cleared
	}
	seconds := float64(u.Len()) / audio.SampleRate
	x.s.metrics.audio.WithLabelValues(model).Add(seconds)
	languages := []languageCode{}
	if text != "" && language != "" {
		languages = append(languages, languageCode{language})
	}
	x.mu.Lock()
	c := x.config
	x.mu.Unlock()
	x.sendItemEvent(u, "completed", object{
		"transcript": text, "usage": c.usage(seconds, c.countTokens(text)),
		"latency": newLatencyReport(delays), "language": languageName(language), "languages": languages,
	})
}

// sendItemEvent sends an event about the text of an utterance.
func (x *session) sendItemEvent(u *live.Utterance, kind string, event object) {
	event["item_id"], event["content_index"] = x.item(u), 0
	x.send("conversation.item.input_audio_transcription."+kind, event)
}

// sendSegment sends a segment with its times in the session. OpenAI requires a speaker, known or not.
func (x *session) sendSegment(u *live.Utterance, number int, words []transcript.Word) {
	x.sendItemEvent(u, "segment", object{
		"id": fmt.Sprintf("seg_%s_%d", x.item(u), number), "text": tokenizer.Strip(transcript.JoinWords(words)), "speaker": label(words[0].Speaker, nil, &x.speakers),
		"start": transcript.RoundTime(words[0].Start), "end": transcript.RoundTime(words[len(words)-1].End),
	})
}

// reportLate counts a pass that took longer than the sound between two passes. The log has it once per session.
func (x *session) reportLate() {
	x.s.metrics.late.Inc()
	x.warnLate.Do(func() {
		x.s.opt.Log.Warn(
			"live text falls behind: passes take longer than the sound between them, so fewer are made", "session", x.id)
	})
}

// fail reports that an utterance cannot be transcribed. The session continues.
func (x *session) fail(u *live.Utterance, err error) {
	x.s.opt.Log.Error("utterance failed", "session", x.id, "item", x.item(u), "error", err)
	x.mu.Lock()
	if x.current == u { // further sound would be added to it, and never be transcribed
		x.commit()
	}
	x.mu.Unlock()
	why := &problem{
		Type: "transcription_error", Code: new("transcription_failed"),
		Message: "The server failed to transcribe the sound. Its log has the reason, with the item's id.",
	}
	x.sendItemEvent(u, "failed", object{"error": why.event("")})
}

// sendText sends the events of a pass and returns the text that it has confirmed, which continues text.
func (x *session) sendText(u *live.Utterance, text string, r live.Result) (delta string) {
	if delta = transcript.JoinWords(r.Confirmed); text == "" {
		delta = tokenizer.Strip(delta)
	}
	x.mu.Lock()
	include := x.config.include
	x.mu.Unlock()
	if delta != "" {
		e := object{"delta": delta}
		if slices.Contains(include, withWords) {
			words := wordsOf(transcript.Segment{Words: inSession(r.Confirmed, r.Start)})
			for i, w := range r.Confirmed {
				words[i].Probability = transcript.RoundTime(w.Probability)
			}
			e["words"] = words
		}
		x.sendItemEvent(u, "delta", e)
	}
	if slices.Contains(include, withTentative) {
		x.sendItemEvent(u, "tentative", object{"text": r.Tentative})
	}
	return delta
}

// inSession returns words, whose times begin at start, with their times in the session.
func inSession(words []transcript.Word, start float64) (list []transcript.Word) {
	for _, w := range words {
		w.Start, w.End = w.Start+start, w.End+start
		list = append(list, w)
	}
	return list
}

// delays returns, for each word that a pass has confirmed, the time from the arrival of its end until now.
func (x *session) delays(r live.Result) (list []time.Duration) {
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range r.Confirmed {
		d := now.Sub(x.arrivals.when(int64((r.Start + w.End) * audio.SampleRate)))
		list = append(list, d)
		x.s.metrics.delay.Observe(d.Seconds())
	}
	return list
}
