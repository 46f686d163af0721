// Package serve answers OpenAI's audio API over HTTP: files to text by a loaded model.
//
//	POST /v1/audio/transcriptions, /v1/audio/translations   multipart form → text
//	GET  /v1/realtime                                         WebSocket: sound → text while somebody speaks
//	GET  /v1/models, /v1/models/{id}                          what is loaded
//	GET  /healthz, /readyz, /metrics                          for those who watch it
//	GET  /, /openapi.json                                     a page, and this API described
//
// A request goes form → [request] → a turn in the [line] → transcribe.Transcriber →
// answer. Requests that have a turn at the same time share every pass over the weights;
// each text is bit-identical to that of the request alone. Between two windows a
// request yields to those that wait for a turn, so an hour-long file delays a short one
// by a window, not by an hour.
//
// # Bounds
//
// All input is bounded: bytes and parts of a form, seconds of sound, waiting requests,
// time. A refused request gets an error in OpenAI's JSON, with a status and a remedy.
// No field of a request names a file or a host.
//
// # Upstream
//
// Fields, formats, events and errors follow OpenAI's reference of the audio API
// (platform.openai.com/docs/api-reference/audio), as its clients of 2026 send and read
// them. What a request sends and this package does not know is named in the answer.
package serve
