package live

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"verity/audio"
	"verity/model"
	"verity/models/whisper"
	"verity/precision"
	"verity/transcribe"
	"verity/wer"
	"verity/wer/normalize"
)

// TestDelay measures: recordings arrive at the pace they were spoken, by a clock that is
// simulated, so that nobody waits; passes take the time they take. It prints the error
// rate of the confirmed text beside that of the file as a whole, and how long after its
// end a word was confirmed. make live runs it. VERITY_LIVE names a manifest of recordings,
// VERITY_LIVE_MODEL a checkpoint (empty: the one inside the program), VERITY_LIVE_EVERY
// takes every so manieth recording.
func TestDelay(t *testing.T) {
	manifest := os.Getenv("VERITY_LIVE")
	if manifest == "" {
		t.Skip("VERITY_LIVE is not set: make live runs this")
	}
	every := 1
	fmt.Sscan(os.Getenv("VERITY_LIVE_EVERY"), &every)
	fsys := whisper.Base()
	var held precision.Precision // that of the file
	if dir := os.Getenv("VERITY_LIVE_MODEL"); dir != "" {
		fsys, held.Weights = os.DirFS(dir), precision.Int8
	}
	c, err := model.OpenFS(fsys, "model")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := transcribe.Load(t.Context(), c, transcribe.LoadOptions{Precision: held})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	whole, err := transcribe.New(m, transcribe.Options{Language: "en"})
	if err != nil {
		t.Fatal(err)
	}
	var sum measured
	for _, r := range spokenOf(t, manifest, every) {
		pcm := pcmOf(t, r.Path)
		tr, err := whole.Transcribe(t.Context(), audio.FromSamples(r.Path, pcm), transcribe.Watch{})
		if err != nil {
			t.Fatal(err)
		}
		text := sum.stream(t, m, pcm)
		sum.score(t, r.Text, tr.Text, text)
		t.Logf("%s\n  file: %s\n  live: %s", filepath.Base(r.Path), tr.Text, text)
	}
	sum.print()
}

type spoken struct {
	Path string `json:"audio_filepath"`
	Text string `json:"text"`
}

func spokenOf(t *testing.T, manifest string, every int) (list []spoken) {
	t.Helper()
	f, err := os.Open(manifest)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 0; lines.Scan(); n++ {
		var r spoken
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Path = filepath.Join(filepath.Dir(manifest), r.Path); n%every == 0 {
			list = append(list, r)
		}
	}
	return list
}

// measured is what a run of TestDelay has found.
type measured struct {
	file, live wer.Corpus
	delays     []float64 // s
	listening  float64   // s, of all words
	passes     []float64 // s
	audio      float64
	work       float64
}

// stream plays pcm to an ear and makes passes, as a session of the server does.
func (s *measured) stream(t *testing.T, m *transcribe.Model, pcm []float32) string {
	t.Helper()
	const step, tenth = audio.SampleRate, audio.SampleRate / 10
	ear, err := NewEar(DefaultEar())
	if err != nil {
		t.Fatal(err)
	}
	s.audio += seconds(int64(len(pcm)))
	pcm = append(pcm, make([]float32, 2*audio.SampleRate)...)
	now, fed, text := 0.0, 0, ""
	var queue []*going
	for fed < len(pcm) || len(queue) > 0 {
		for fed < len(pcm) && seconds(int64(fed+tenth)) <= now {
			end := min(fed+tenth, len(pcm))
			queue = follow(t, m, queue, ear.Hear(pcm[fed:end]))
			fed = end
		}
		if len(pcm)-fed < tenth { // a rest less than a piece
			queue = follow(t, m, queue, append(ear.Hear(pcm[fed:]), ear.End()...))
			fed = len(pcm)
		}
		if len(queue) == 0 || !queue[0].ended && queue[0].u.Len()-queue[0].seen < step {
			now += 0.1
			continue
		}
		g := queue[0]
		g.seen = g.u.Len()
		if g.passes++; g.passes == 1 {
			g.u.Follow(text)
		}
		began, last := time.Now(), g.ended
		r, err := g.u.Pass(t.Context(), last)
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(began).Seconds()
		heard := now
		now += took
		s.passes = append(s.passes, took)
		s.work += took
		for _, w := range r.Confirmed {
			end := min(seconds(g.from)+w.End, heard)
			s.delays = append(s.delays, now-end)
			s.listening += heard - end
		}
		text += spell(r.Confirmed)
		if last {
			queue = queue[1:]
		}
	}
	return text
}

// A going is an utterance in the measurement.
type going struct {
	u      *Utterance
	from   int64
	seen   int64
	passes int
	ended  bool
}

func follow(t *testing.T, m *transcribe.Model, queue []*going, heard []Heard) []*going {
	t.Helper()
	for _, h := range heard {
		switch h.Kind {
		case Started:
			u, err := utterance(m, transcribe.Options{Language: "en"})
			if err != nil {
				t.Fatal(err)
			}
			queue = append(queue, &going{u: u, from: h.At})
		case Speech:
			queue[len(queue)-1].u.Add(h.PCM)
		case Stopped:
			queue[len(queue)-1].ended = true
		}
	}
	return queue
}

func (s *measured) score(t *testing.T, ref, file, live string) {
	t.Helper()
	var scorer wer.Scorer
	for _, x := range []struct {
		c   *wer.Corpus
		hyp string
	}{{&s.file, file}, {&s.live, live}} {
		score, err := scorer.Score(t.Context(), normalize.English(ref), normalize.English(x.hyp))
		if err != nil {
			t.Fatal(err)
		}
		x.c.Add(score)
	}
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
