package audio_test

import (
	"context"
	"fmt"
	"log"

	"verity/audio"
)

// Windows of a file, as package transcribe asks for them.
func ExampleOpen() {
	clip, err := audio.Open(context.Background(), "testdata/golden/stereo16.flac")
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()

	ctx := context.Background()
	s, err := audio.NewSpectrogram(ctx, clip, audio.Options{Bins: 80, Window: 3000})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f s, %d frames\n", s.Seconds(), s.Frames())
	for frame := 0; frame < s.Frames(); frame += 3000 {
		mel, err := s.Window(ctx, frame)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(mel.Bins, "bins,", mel.Frames, "frames")
	}
	// Output:
	// 0.3125 s, 31 frames
	// 80 bins, 3000 frames
}
