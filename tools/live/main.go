// Live measures live text: recordings arrive at the pace they were spoken, by a clock that
// is simulated, so that nobody waits; passes take the time they take.
//
//	go run ./tools/live models/whisper/librispeech/manifest.jsonl
//	go run ./tools/live -model ~/whisper-base -slower 2 recordings.jsonl
//
// It prints the error rate of the confirmed text beside that of the file as a whole, and
// how long after its end a word was confirmed. With -drafts it prints instead how long the
// decoding of a pass takes that drafts from the pass before, and of one that does not, in
// turn, with a pass for each second.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"verity"
	"verity/audio"
	"verity/datasets"
	"verity/live"
	"verity/models/whisper"
	"verity/precision"
	"verity/transcribe"
	"verity/transcript"
	"verity/wer"
	"verity/wer/normalize"
)

var (
	dir    = flag.String("model", "", "`directory` of a checkpoint, which is held in int8; the model inside without")
	slower = flag.Float64("slower", 1, "count the time of passes so many times")
	show   = flag.Bool("v", false, "show the texts")
	pause  = flag.Int("silence", 500, "how long a silence ends an utterance, in `ms`")
	drafts = flag.Bool("drafts", false, "compare passes with drafts and without")
	fixed  = flag.Float64("pass", 0, "count every pass as so many `seconds`, which makes runs equal")
)

func main() {
	flag.Parse()
	log.SetOutput(io.Discard) // the reader of FLAC writes a line for each odd frame
	if err := measure(context.Background(), flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, manifest string) error {
	recordings, err := datasets.Open(ctx, manifest, datasets.Options{})
	if err != nil {
		return err
	}
	m, err := open(ctx, verity.Options{Decoding: transcribe.Options{Language: "en"}})
	if err != nil {
		return err
	}
	defer m.Close()
	by, err := live.New(m.Model, transcribe.Options{Language: "en"})
	if err != nil {
		return err
	}
	var sum measured
	for r, err := range recordings.All(ctx) {
		if err != nil {
			return err
		}
		clip, err := audio.Open(ctx, r.Audio.Path)
		if err != nil {
			return err
		}
		pcm := make([]float32, 600*audio.SampleRate)
		n, _ := clip.Read(pcm)
		clip.Close()
		pcm = pcm[:n]
		if *drafts {
			if err := sum.inTurn(ctx, by, pcm); err != nil {
				return err
			}
			continue
		}
		tr, err := m.TranscribeSamples(ctx, pcm)
		if err != nil {
			return err
		}
		text, err := sum.stream(ctx, by, pcm)
		if err == nil {
			err = sum.score(ctx, r.Text, tr.Text, text)
		}
		if err != nil {
			return err
		}
		if *show {
			fmt.Printf("%s\n  file: %s\n  live: %s\n", r.ID, tr.Text, text)
		}
	}
	if *drafts {
		sum.gain.print()
	} else {
		sum.print()
	}
	return nil
}

// open opens the model that is named, or the one inside.
func open(ctx context.Context, o verity.Options) (*verity.Model, error) {
	if *dir == "" {
		return verity.OpenFS(ctx, whisper.Base(), "model", o)
	}
	o.Precision.Weights = precision.Int8
	return verity.Open(ctx, *dir, o)
}

// measured is what has been found.
type measured struct {
	file, live wer.Corpus
	delays     []float64 // s
	listening  float64   // s, of all words
	passes     []float64 // s
	audio      float64
	work       float64
	gain       gain
}

// A gain is what drafts do to passes.
type gain struct {
	logs           []float64 // of the times of decoding, with drafts over without
	plain, drafted transcript.Stats
}

// inTurn makes a pass for each second of pcm without drafts, and one with them.
func (s *measured) inTurn(ctx context.Context, by *live.Transcriber, pcm []float32) error {
	a, b := by.Utterance(live.NewBacklog(), 0), by.Utterance(live.NewBacklog(), 0)
	for len(pcm) > 0 {
		n := min(len(pcm), audio.SampleRate)
		last := n == len(pcm)
		a.Add(pcm[:n])
		b.Add(pcm[:n])
		pcm = pcm[n:]
		a.Forget()
		x, err := a.Pass(ctx, last)
		if err != nil {
			return err
		}
		y, err := b.Pass(ctx, last)
		if err != nil {
			return err
		}
		if spell(x.Confirmed) != spell(y.Confirmed) || x.Tentative != y.Tentative {
			return fmt.Errorf("drafts change the text: %q %q, want %q %q", spell(y.Confirmed), y.Tentative, spell(x.Confirmed), x.Tentative)
		}
		s.gain.plain.Add(x.Stats)
		s.gain.drafted.Add(y.Stats)
		s.gain.logs = append(s.gain.logs, math.Log(y.Stats.Seconds.Decode/x.Stats.Seconds.Decode))
	}
	return nil
}

func (g *gain) print() {
	n := float64(len(g.logs))
	mean, deviation := stat.MeanStdDev(g.logs, nil)
	half := 1.96 * stat.StdErr(deviation, n)
	fmt.Printf("%.0f passes: decoding takes %.2f of before (geometric mean, 95 %% interval %.2f to %.2f), %.2f in sum; %d rounds, before %d\n",
		n, math.Exp(mean), math.Exp(mean-half), math.Exp(mean+half), g.drafted.Seconds.Decode/g.plain.Seconds.Decode,
		g.drafted.Drafts.Rounds, g.plain.Drafts.Rounds)
}

// A going is an utterance whose passes are made.
type going struct {
	*live.Utterance
	seen  int64
	ended bool
}

// stream plays pcm to an ear and makes passes, as a session of the server does.
func (s *measured) stream(ctx context.Context, by *live.Transcriber, pcm []float32) (text string, err error) {
	const tenth = audio.SampleRate / 10
	due := live.Due(0)
	o := live.DefaultEar()
	o.SilenceMS = *pause
	ear, err := live.NewEar(o)
	if err != nil {
		return "", err
	}
	s.audio += seconds(int64(len(pcm)))
	pcm = append(pcm, make([]float32, (2+*pause/1000)*audio.SampleRate)...)
	now, fed := 0.0, 0
	var queue []*going
	backlog := live.NewBacklog()
	follow := func(heard []live.Heard) {
		for _, h := range heard {
			switch h.Kind {
			case live.Started:
				queue = append(queue, &going{Utterance: by.Utterance(backlog, h.At)})
			case live.Speech:
				queue[len(queue)-1].Add(h.PCM)
			case live.Stopped:
				queue[len(queue)-1].ended = true
			}
		}
	}
	for fed < len(pcm) || len(queue) > 0 {
		for fed < len(pcm) && seconds(int64(fed+tenth)) <= now {
			end := min(fed+tenth, len(pcm))
			follow(ear.Hear(pcm[fed:end]))
			fed = end
		}
		if len(pcm)-fed < tenth { // a rest less than a piece
			follow(append(ear.Hear(pcm[fed:]), ear.End()...))
			fed = len(pcm)
		}
		if len(queue) == 0 || !queue[0].ended && queue[0].Len()-queue[0].seen < due {
			now += 0.1
			continue
		}
		g := queue[0]
		if g.seen == 0 {
			g.Follow(text)
		}
		g.seen = g.Len()
		began := time.Now()
		r, err := g.Pass(ctx, g.ended)
		if err != nil {
			return "", err
		}
		took := *slower * time.Since(began).Seconds()
		if *fixed > 0 {
			took = *fixed
		}
		due = live.Due(time.Duration(took * float64(time.Second)))
		heard := now
		now += took
		s.passes = append(s.passes, took)
		s.work += took
		for _, w := range r.Confirmed {
			end := min(r.Start+w.End, heard)
			s.delays = append(s.delays, now-end)
			s.listening += heard - end
		}
		text += spell(r.Confirmed)
		if r.Last {
			queue = queue[1:]
		}
	}
	return text, nil
}

func spell(words []transcript.Word) (text string) {
	for _, w := range words {
		text += w.Word
	}
	return text
}

func seconds(samples int64) float64 { return float64(samples) / audio.SampleRate }

func (s *measured) score(ctx context.Context, ref, file, live string) error {
	var scorer wer.Scorer
	for _, x := range []struct {
		c   *wer.Corpus
		hyp string
	}{{&s.file, file}, {&s.live, live}} {
		score, err := scorer.Score(ctx, normalize.English(ref), normalize.English(x.hyp))
		if err != nil {
			return err
		}
		x.c.Add(score)
	}
	return nil
}

func (s *measured) print() {
	slices.Sort(s.delays)
	slices.Sort(s.passes)
	at := func(list []float64, q float64) float64 { return list[int(q*float64(len(list)-1))] }
	total := 0.0
	for _, d := range s.delays {
		total += d
	}
	fmt.Printf("%d recordings, %.0f s, %d words: word error rate of the file %.2f %%, of the confirmed text %.2f %%\n"+
		"delay of a word: median %.2f s, 95 %% within %.2f s, at most %.2f s; %.0f %% of it is listening, %.0f %% transcribing\n"+
		"%d passes of %.2f s in the median, %.2f s at most; they take %.2f of the time\n",
		s.file.Len(), s.audio, len(s.delays), 100*s.file.Words.Rate(), 100*s.live.Words.Rate(),
		at(s.delays, 0.5), at(s.delays, 0.95), at(s.delays, 1), 100*s.listening/total, 100-100*s.listening/total,
		len(s.passes), at(s.passes, 0.5), at(s.passes, 1), s.work/s.audio)
}
