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
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/x448/float16"

	"verity/audio"
	"verity/model"
	"verity/precision"
	"verity/tokenizer"
	"verity/transcribe"
)

func main() {
	log.SetFlags(0)
	name := flag.String("model", "", "directory or file of the model")
	out := flag.String("out", "", "directory to write to")
	language := flag.String("language", "en", "language of the files")
	flag.Parse()
	if err := run(context.Background(), *name, *out, *language, flag.Args()); err != nil {
		log.Fatal("drafter: ", err)
	}
}

// run writes the encoder's output and the model's text of each file.
func run(ctx context.Context, name, out, language string, files []string) error {
	c, err := model.Open(ctx, name)
	if err != nil {
		return err
	}
	defer c.Close()
	err = c.Reading(func() error {
		norm, err := c.Weight("encoder.layer_norm.weight")
		if err != nil {
			return err
		}
		b, _ := binary.Append(nil, binary.LittleEndian, norm.Tensor().Float32())
		return os.WriteFile(filepath.Join(out, "encoder_norm"), b, 0o644)
	})
	if err != nil {
		return err
	}
	o := transcribe.LoadOptions{Precision: precision.Of(precision.Int8), Assistant: transcribe.AssistantOptions{Method: transcribe.None}}
	m, err := transcribe.Load(ctx, c, o)
	if err != nil {
		return err
	}
	defer m.Close()
	t, err := transcribe.New(m, transcribe.Options{Language: language, SkipSpeechCheck: true})
	if err != nil {
		return err
	}
	for _, path := range files {
		base := filepath.Join(out, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
		if _, err := os.Stat(base + ".txt"); err == nil {
			continue
		}
		if err := writeFeatures(ctx, m, t, path, base); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// writeFeatures writes those of the first window of a file.
func writeFeatures(ctx context.Context, m *transcribe.Model, t *transcribe.Transcriber, path, base string) error {
	clip, err := audio.Open(ctx, path)
	if err != nil {
		return err
	}
	defer clip.Close()
	text, err := t.Transcribe(ctx, clip, transcribe.Callbacks{})
	if err != nil {
		return err
	}
	var tokens []tokenizer.Token
	for _, s := range text.Segments {
		if s.Seek == 0 {
			tokens = append(tokens, s.Tokens...)
		}
	}
	if err := clip.Rewind(); err != nil {
		return err
	}
	spectrogram, err := audio.NewSpectrogram(ctx, clip, audio.Options{Bins: m.Dims.MelBins, Window: 2 * m.Dims.AudioPositions})
	if err != nil {
		return err
	}
	mel, err := spectrogram.Window(ctx, 0)
	if err != nil {
		return err
	}
	encoded, err := m.Encoder.Encode(ctx, mel)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, v := range encoded.Data {
		b.Write(binary.LittleEndian.AppendUint16(nil, float16.Fromfloat32(v).Bits()))
	}
	if err := os.WriteFile(base+".f16", b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(base+".txt", []byte(m.Tokenizer.Decode(tokens)), 0o644)
}
