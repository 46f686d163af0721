// Live measures live text. Recordings arrive at the pace they were spoken, on a simulated clock,
// so that nobody waits; passes take the time they really take.
//
//	go run ./tools/live model/base/librispeech/manifest.jsonl
//	go run ./tools/live -model ~/whisper-base recordings.jsonl
//
// It prints the error rates of the confirmed text and of the whole file, and how long after its
// end a word was confirmed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"slices"
	"time"

	"verity"
	"verity/audio"
	"verity/datasets"
	"verity/model/base"
	"verity/precision"
	"verity/tools/must"
	"verity/transcribe"
	"verity/transcribe/live"
	"verity/transcript"
	"verity/wer"
	"verity/wer/normalize"
)

var dir = flag.String("model", "", "`directory` of a checkpoint, loaded as int8; default: the model inside")

func main() {
	flag.Parse()
	log.SetOutput(io.Discard) // the reader of FLAC writes a line for each odd frame
	ctx, opt := context.Background(), transcribe.Options{Language: "en"}
	recordings := must.Get(datasets.Open(ctx, flag.Arg(0), datasets.Options{}))
	m := must.Get(open(ctx, verity.Options{Decoding: opt}))
	by := must.Get(live.New(m.Model, opt))
	var sum tally
	for r, err := range recordings.All(ctx) {
		must.Do(err)
		clip := must.Get(audio.Open(ctx, r.Audio.Path))
		pcm := must.Get(clip.Samples(math.MaxInt))
		must.Do(clip.Close())
		whole := must.Get(m.TranscribeSamples(ctx, pcm))
		sum.file.Add(score(ctx, r.Text, whole.Text))
		sum.live.Add(score(ctx, r.Text, sum.stream(ctx, by, pcm)))
	}
	sum.print()
}

// open opens the named model, or the one inside.
func open(ctx context.Context, o verity.Options) (*verity.Model, error) {
	if *dir == "" {
		return verity.OpenFS(ctx, base.Base(), "model", o)
	}
	o.Precision.Weights = precision.Int8
	return verity.Open(ctx, *dir, o)
}

// A tally sums the measurements of all recordings.
type tally struct {
	file, live wer.Corpus
	delays     []float64 // s
	listening  float64   // s, of all words
	passes     []float64 // s
	audio      float64
	work       float64
}

// stream feeds pcm at the pace of speech and runs passes, as a session of the server does.
func (s *tally) stream(ctx context.Context, by *live.Transcriber, pcm []float32) (text string) {
	o := live.DefaultTurns()
	s.audio += seconds(int64(len(pcm)))
	p := &playback{sum: s, rest: append(pcm, make([]float32, 2*audio.SampleRate)...), sound: live.NewStream(by, &o), due: int64(live.DefaultStep * audio.SampleRate)}
	p.sound.OnBegin = func(u *live.Utterance) { p.queue = append(p.queue, &utterance{Utterance: u}) }
	p.sound.OnEnd = func(*live.Utterance) { p.queue[len(p.queue)-1].ended = true }
	for len(p.rest) > 0 || len(p.queue) > 0 {
		p.feed()
		if len(p.queue) == 0 || !p.queue[0].ended && p.queue[0].Len()-p.queue[0].seen < p.due {
			p.now += 0.1
			continue
		}
		p.pass(ctx)
	}
	return p.text
}

// A playback is a recording that is being played.
type playback struct {
	sum   *tally
	sound *live.Stream
	rest  []float32 // not played yet
	heard int       // samples played
	now   float64   // s
	queue []*utterance
	due   int64 // samples that an utterance must have had since its last pass
	text  string
}

// An utterance is one that has not had its last pass.
type utterance struct {
	*live.Utterance
	seen  int64 // samples that its last pass saw
	ended bool
}

// feed feeds what has been spoken by now, in pieces of a tenth of a second.
func (p *playback) feed() {
	const tenth = audio.SampleRate / 10
	for len(p.rest) >= tenth && seconds(int64(p.heard+tenth)) <= p.now {
		p.sound.Add(p.rest[:tenth])
		p.rest, p.heard = p.rest[tenth:], p.heard+tenth
	}
	if len(p.rest) < tenth {
		p.sound.Add(p.rest)
		p.sound.Commit()
		p.rest = nil
	}
}

// pass transcribes the first utterance of the queue once more.
func (p *playback) pass(ctx context.Context) {
	g := p.queue[0]
	g.seen = g.Len()
	began := time.Now()
	r := must.Get(g.Pass(ctx, g.ended))
	took := time.Since(began).Seconds()
	p.due = g.SamplesBeforeNextPass(time.Duration(took * float64(time.Second)))
	heard := p.now
	p.now += took
	p.sum.passes = append(p.sum.passes, took)
	p.sum.work += took
	for _, w := range r.Confirmed {
		end := min(r.Start+w.End, heard)
		p.sum.delays = append(p.sum.delays, p.now-end)
		p.sum.listening += heard - end
	}
	p.text += transcript.JoinWords(r.Confirmed)
	if r.Last {
		p.queue = p.queue[1:]
	}
}

func seconds(samples int64) float64 { return float64(samples) / audio.SampleRate }

func score(ctx context.Context, ref, hyp string) wer.Score {
	return must.Get(new(wer.Scorer).Score(ctx, normalize.English(ref), normalize.English(hyp)))
}

func (s *tally) print() {
	fmt.Printf("%d recordings, %.0f s, %d words: word error rate of the file %.2f %%, of the confirmed text %.2f %%\n",
		s.file.Len(), s.audio, len(s.delays), 100*s.file.Words.Rate(), 100*s.live.Words.Rate())
	if len(s.delays) == 0 {
		return
	}
	slices.Sort(s.delays)
	slices.Sort(s.passes)
	at := func(list []float64, q float64) float64 { return list[int(q*float64(len(list)-1))] }
	total := 0.0
	for _, d := range s.delays {
		total += d
	}
	fmt.Printf("delay of a word: median %.2f s, 95 %% within %.2f s, at most %.2f s; %.0f %% of it is listening, %.0f %% transcribing\n"+
		"%d passes of %.2f s in the median, %.2f s at most; they take %.2f of the time\n",
		at(s.delays, 0.5), at(s.delays, 0.95), at(s.delays, 1), 100*s.listening/total, 100-100*s.listening/total,
		len(s.passes), at(s.passes, 0.5), at(s.passes, 1), s.work/s.audio)
}
