// OpenAI's Go client with verity serve.
//
//	go run . talk.wav                       a file, with the times of its words
//	arecord -q -f S16_LE -r 16000 -t raw | go run . -     live: PCM of 16 bits, 16 kHz
package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/realtime"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run . talk.wav, or - for live sound on standard input")
	}
	client := openai.NewClient(
		option.WithBaseURL(cmp.Or(os.Getenv("VERITY_URL"), "http://127.0.0.1:8000")+"/v1"),
		option.WithAPIKey(cmp.Or(os.Getenv("VERITY_KEY"), "none")),
	)
	var err error
	if os.Args[1] == "-" {
		err = listen(context.Background(), client, os.Stdin)
	} else {
		err = transcribe(context.Background(), client, os.Args[1])
	}
	if err != nil {
		log.Fatal(err)
	}
}

func transcribe(ctx context.Context, client openai.Client, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	r, err := client.Audio.Transcriptions.New(ctx, openai.AudioTranscriptionNewParams{
		File: file, Model: openai.AudioModelWhisper1,
		ResponseFormat: openai.AudioResponseFormatVerboseJSON, TimestampGranularities: []string{"word"},
	})
	if err != nil {
		return err
	}
	for _, w := range r.AsTranscriptionVerbose().Words {
		fmt.Printf("%7.2f %7.2f  %s\n", w.Start, w.End, w.Word)
	}
	return nil
}

// listen sends sound as it arrives and prints the confirmed text.
func listen(ctx context.Context, client openai.Client, sound io.Reader) error {
	c, err := client.Realtime.Connect(ctx, realtime.RealtimeConnectionOptions{},
		option.WithQuery("intent", "transcription"))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SendRaw(ctx, []byte(`{"type":"session.update","session":{"type":"transcription",
		"audio":{"input":{"format":{"type":"audio/pcm","rate":16000},"turn_detection":null}}}}`)); err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() { sent <- send(ctx, c, sound) }()
	for {
		event, err := c.Recv(ctx)
		if err != nil {
			return err
		}
		switch e := event.AsAny().(type) {
		case realtime.ConversationItemInputAudioTranscriptionDeltaEvent:
			fmt.Print(e.Delta)
		case realtime.ConversationItemInputAudioTranscriptionCompletedEvent:
			fmt.Println()
			return <-sent
		case realtime.RealtimeErrorEvent:
			return errors.New(e.Error.Message)
		}
	}
}

func send(ctx context.Context, c *realtime.RealtimeConnection, sound io.Reader) error {
	piece := make([]byte, 3200) // 0.1 s
	for {
		n, err := io.ReadFull(sound, piece)
		if n &^= 1; n > 0 {
			text := base64.StdEncoding.EncodeToString(piece[:n])
			if err := c.Send(ctx, realtime.RealtimeClientEventParamOfInputAudioBufferAppend(text)); err != nil {
				return err
			}
		}
		if err != nil { // end of the sound
			return c.SendRaw(ctx, []byte(`{"type":"input_audio_buffer.commit"}`))
		}
	}
}
