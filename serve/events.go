package serve

// A told event is one that a session sends. Names and fields are OpenAI's, but for latency,
// language, words and text of a tentative event.
type told interface{ named() *heading }

type heading struct {
	Type string `json:"type"`
	ID   string `json:"event_id"`
}

func (h *heading) named() *heading { return h }

type sessionEvent struct {
	heading
	Session sessionObject `json:"session"`
}

// A bufferEvent is about where speech is in the sound.
type bufferEvent struct {
	heading
	Item  string `json:"item_id,omitzero"`
	Start *int64 `json:"audio_start_ms,omitzero"`
	End   *int64 `json:"audio_end_ms,omitzero"`
}

// An itemEvent is about an utterance as an item of a conversation.
type itemEvent struct {
	heading
	ItemID   string  `json:"item_id,omitzero"`
	Previous *string `json:"previous_item_id"`
	Item     *item   `json:"item,omitzero"`
}

type item struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Type    string       `json:"type"`
	Role    string       `json:"role"`
	Status  string       `json:"status"`
	Content [1]inputPart `json:"content"`
}

type inputPart struct {
	Type       string  `json:"type"`
	Transcript *string `json:"transcript"`
}

// A textEvent is about the text of an utterance: a part of it, all of it, or why there is none.
type textEvent struct {
	heading
	Item       string       `json:"item_id"`
	Content    int          `json:"content_index"`
	Delta      string       `json:"delta,omitzero"`
	Words      []word       `json:"words,omitzero"`
	Text       *string      `json:"text,omitzero"`
	Transcript *string      `json:"transcript,omitzero"`
	Usage      *spokenUsage `json:"usage,omitzero"`
	Latency    *latency     `json:"latency,omitzero"`
	Language   *string      `json:"language,omitzero"`
	Error      *eventError  `json:"error,omitzero"`
}

type spokenUsage struct {
	Type    string  `json:"type"`
	Seconds float64 `json:"seconds"`
}

type errorEvent struct {
	heading
	Error eventError `json:"error"`
}

type eventError struct {
	Type    string  `json:"type"`
	Code    *string `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
	Event   *string `json:"event_id"` // that caused it
}
