// Package verity transcribes speech with Whisper models, on CPUs, in pure Go.
//
//	m, err := verity.Open(ctx, "small", verity.Options{})
//	…
//	defer m.Close()
//	t, err := m.Transcribe(ctx, "talk.wav")
//	…
//	fmt.Println(t.Text)
//
// A [Model] is safe for concurrent use: files that are transcribed at the same time
// share every pass over the weights. With an assistant (speculative decoding) a cheap
// model drafts tokens and the model verifies them; the text is that of plain decoding,
// bit for bit.
//
// This package puts the others together and hides none of them. Package transcribe has
// the model with every option, package audio reads sound, package transcript writes
// what came out, and package precision names number formats.
package verity
