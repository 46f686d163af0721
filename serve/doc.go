// Package serve answers OpenAI's audio API over HTTP with a loaded model: a file or live sound goes in, text
// comes out.
//
//	model, err := transcribe.Load(ctx, checkpoint, transcribe.LoadOptions{})
//	server, err := serve.New(model, serve.Options{Name: "whisper-small"})
//	err = http.ListenAndServe("127.0.0.1:8000", server)
//
// A [Server] is an http.Handler for these paths:
//
//	POST /v1/audio/transcriptions, /v1/audio/translations   multipart form → text
//	GET  /v1/realtime                                       WebSocket: live sound → text
//	GET  /v1/models, /v1/models/{id}                        the models
//	GET  /healthz, /readyz, /metrics                        for monitoring
//	GET  /, /openapi.json                                   a web page, and the description of this API
//
// [Run] serves while the model is still loading and finishes accepted requests at the end.
//
// Requests that are transcribed at the same time share every pass over the weights. The text of each is
// bit-identical to that of the request alone. A long file delays a short one by a window of 30 s, not by its
// whole length.
//
// # Limits
//
// Everything that a client sends is limited: bytes and parts of a form, seconds of sound, requests that wait,
// and time. A refused request gets an error in OpenAI's JSON, with a status and a remedy. No field of a request
// names a file or a host.
//
// # Upstream
//
// Fields, formats, events and errors follow OpenAI's reference of the audio API
// (platform.openai.com/docs/api-reference/audio), as its clients of 2026 send and read them. The answer names
// whatever the client sent that this package does not know.
package serve
