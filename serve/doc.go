// Package serve answers OpenAI's audio API over HTTP: files to text by a loaded model.
//
//	POST /v1/audio/transcriptions, /v1/audio/translations   multipart form → text
//	GET  /v1/models, /v1/models/{id}                          what is loaded
//	GET  /healthz, /readyz, /metrics                          for those who watch it
//	GET  /, /openapi.json                                     a page, and this API described
//
// A request goes form → [form] → a turn in the [line] → transcribe.Transcriber → answer.
// Requests that have a turn at the same time share every pass over the weights; each
// text is, to the bit, what the request alone would give. Between two windows a request
// lets those go first that wait for a turn, so an hour-long file delays a short one by a
// window, not by an hour.
//
// # Bounds
//
// Everything that comes in is bounded: bytes and parts of a form, seconds of sound,
// requests that wait, time. What is refused gets an error in OpenAI's JSON, with a
// status and what to do. No field of a request names a file or a host.
//
// # Upstream
//
// Fields, formats, events and errors follow OpenAI's reference of the audio API
// (platform.openai.com/docs/api-reference/audio), as its clients of 2026 send and read
// them. Left out: chunking_strategy, include[] and known speakers are accepted and
// ignored.
package serve
