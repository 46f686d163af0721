package scribe

import (
	"context"
	"fmt"
	"io"

	"verity/audio"
	"verity/internal/command"
	"verity/transcribe"
	"verity/transcript"
)

// silent is the amplitude up to which a channel has nobody on it: some -80 dB.
const silent = 1e-4

// channels transcribes the channels of a file one after the other, as one speaker each. The
// text comes when all are done.
func (t *transcribeCommand) channels(ctx context.Context, name string, out sink, bar *command.Progress) error {
	defer bar.Clear()
	var names []string
	var parts []*transcript.Transcript
	for channel, all := 1, 1; channel <= all; channel++ {
		sound := t.sound
		sound.Channel = channel
		clip, err := sound.Clip(ctx, t.Env, name)
		if err != nil {
			return err
		}
		all = clip.Channels()
		part, err := t.channel(ctx, name, clip, bar)
		clip.Close()
		if err != nil {
			return err
		}
		names, parts = append(names, fmt.Sprintf("Speaker %d", channel)), append(parts, part)
	}
	bar.Clear()
	tr := transcript.Speakers(names, parts)
	tr.By = t.by
	for _, s := range tr.Named().Segments {
		if err := out.segment(bar, s); err != nil {
			return err
		}
	}
	return out.finish(ctx, name, tr)
}

// channel transcribes what is said on one channel; nothing if it is silent.
func (t *transcribeCommand) channel(ctx context.Context, name string, clip *audio.Clip, bar *command.Progress) (*transcript.Transcript, error) {
	samples, heard, err := loudness(clip)
	if err != nil {
		return nil, inFile(name, err)
	}
	if heard <= silent {
		return &transcript.Transcript{Name: name, Duration: float64(samples) / audio.SampleRate, Truncated: clip.Truncated()}, nil
	}
	if err := clip.Rewind(); err != nil {
		return nil, inFile(name, err)
	}
	return t.hear(ctx, name, clip, transcribe.Watch{Within: bar.Seconds})
}

// loudness returns the number of samples and the greatest amplitude.
func loudness(clip *audio.Clip) (samples int, most float32, err error) {
	for b := make([]float32, audio.SampleRate); err == nil; {
		var n int
		n, err = clip.Read(b)
		samples += n
		for _, v := range b[:n] {
			most = max(most, v, -v)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return samples, most, err
}
