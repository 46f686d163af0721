// Package encoder turns a window of log-mel into the audio features that the
// decoder attends to.
//
//	audio.Mel → [Encoder.Encode] → [Features] → package decoder
//
// # Conventions
//
// A window has 2·AudioPositions frames of mel and gives AudioPositions feature
// positions: the second convolution halves the rate, so a position is 20 ms.
// Features are row-major [position][width]. Weights are immutable and an
// Encoder is safe for concurrent use; each call borrows its own buffers.
//
// # Upstream
//
// The network is AudioEncoder of openai/whisper at c0d2f62, whisper/model.py,
// under the tensor names of transformers' WhisperEncoder.
package encoder
