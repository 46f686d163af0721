package text

import (
	"context"
	"fmt"
	"io"
	"slices"

	"verity/audio"
	"verity/internal/show"
	"verity/transcribe"
	"verity/transcript"
)

// silent is the largest amplitude of a channel without a speaker, about -80 dB.
const silent = 1e-4

// eachChannel transcribes the channels of a file one after the other, each as one speaker. It
// returns and prints the text when all are done.
func (t *fileRun) eachChannel(
	ctx context.Context, j *job, within func(done, total float64),
) (*transcript.Transcript, error) {
	var names []string
	var parts []*transcript.Transcript
	for channel, all := 1, 1; channel <= all; channel++ {
		sound := t.Sound
		sound.Channel = channel
		clip, err := sound.Clip(ctx, t.Env, j.name)
		if err != nil {
			return nil, err
		}
		if all = clip.Channels(); channel == 1 {
			reportTrack(clip)
		}
		if all == 1 {
			clip.Close()
			return nil, fmt.Errorf("%s: has one channel, want one for each speaker; --speakers voice tells voices apart",
				show.Name(j.name))
		}
		part, err := t.channel(ctx, j.name, clip, within)
		clip.Close()
		if err != nil {
			return nil, err
		}
		names, parts = append(names, fmt.Sprintf("Speaker %d", channel)), append(parts, part)
	}
	tr := transcript.MergeSpeakers(names, parts)
	tr.MadeBy = t.madeBy
	t.printWhole(j, tr)
	return tr, nil
}

// channel transcribes one channel; a silent one has no text.
func (t *fileRun) channel(
	ctx context.Context, name string, clip *audio.Clip, within func(done, total float64),
) (*transcript.Transcript, error) {
	samples, quiet, err := isQuiet(clip)
	if err != nil {
		return nil, t.inFile(name, err)
	}
	if quiet && len(clip.Warnings()) == 0 { // a transcription reports damage
		return &transcript.Transcript{Name: name, Duration: float64(samples) / audio.SampleRate}, nil
	}
	if err := clip.Rewind(); err != nil {
		return nil, t.inFile(name, err)
	}
	return t.transcribeClip(ctx, name, clip, transcribe.Callbacks{Estimate: within})
}

// isQuiet reads a clip until it is loud enough for a speaker. Of a quiet clip it also returns
// the number of samples.
func isQuiet(clip *audio.Clip) (samples int, quiet bool, err error) {
	for b := make([]float32, audio.SampleRate); err == nil; {
		var n int
		n, err = clip.Read(b)
		samples += n
		if slices.ContainsFunc(b[:n], func(v float32) bool { return max(v, -v) > silent }) {
			return 0, false, nil
		}
	}
	if err == io.EOF {
		err = nil
	}
	return samples, true, err
}
