// Drafter prepares the training of a drafting head (train.py).
//
//	go run ./tools/drafter -model base -out DIR -language en FILE…
//
// It writes, for the first window of each file, NAME.f16 (the encoder's output as binary16) and NAME.txt (what the
// model itself writes); and encoder_norm, the gain of the encoder's last norm in float32, by which a model is recognized.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"os"
	"path/filepath"
	"strings"

	"github.com/x448/float16"

	"verity/audio"
	"verity/model"
	"verity/precision"
	"verity/tokenizer"
	"verity/tools/must"
	"verity/transcribe"
)

func main() {
	name := flag.String("model", "", "directory or file of the model")
	out := flag.String("out", "", "directory to write to")
	language := flag.String("language", "en", "language of the files")
	flag.Parse()
	ctx := context.Background()
	c := must.Get(model.Open(ctx, *name))
	must.Do(c.Reading(func() error {
		norm := must.Get(c.Weight("encoder.layer_norm.weight"))
		b := must.Get(binary.Append(nil, binary.LittleEndian, norm.Tensor().Float32()))
		return os.WriteFile(filepath.Join(*out, "encoder_norm"), b, 0o644)
	}))
	o := transcribe.LoadOptions{Precision: precision.Of(precision.Int8), Assistant: transcribe.AssistantOptions{Method: transcribe.None}}
	m := must.Get(transcribe.Load(ctx, c, o))
	t := must.Get(transcribe.New(m, transcribe.Options{Language: *language, SkipSpeechCheck: true}))
	for _, path := range flag.Args() {
		base := filepath.Join(*out, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
		if _, err := os.Stat(base + ".txt"); err == nil {
			continue
		}
		writeFeatures(ctx, m, t, path, base)
	}
}

// writeFeatures writes those of the first window of a file.
func writeFeatures(ctx context.Context, m *transcribe.Model, t *transcribe.Transcriber, path, base string) {
	clip := must.Get(audio.Open(ctx, path))
	defer clip.Close()
	text := must.Get(t.Transcribe(ctx, clip, transcribe.Callbacks{}))
	var tokens []tokenizer.Token
	for _, s := range text.Segments {
		if s.Seek == 0 {
			tokens = append(tokens, s.Tokens...)
		}
	}
	must.Do(clip.Rewind())
	spectrogram := must.Get(audio.NewSpectrogram(ctx, clip, audio.Options{Bins: m.Dims.MelBins, Window: 2 * m.Dims.AudioPositions}))
	encoded := must.Get(m.Encoder.Encode(ctx, must.Get(spectrogram.Window(ctx, 0)), nil))
	var b bytes.Buffer
	for _, v := range encoded.Data {
		b.Write(binary.LittleEndian.AppendUint16(nil, float16.Fromfloat32(v).Bits()))
	}
	must.Do(os.WriteFile(base+".f16", b.Bytes(), 0o644))
	must.Do(os.WriteFile(base+".txt", []byte(m.Tokenizer.Decode(tokens)), 0o644))
}
