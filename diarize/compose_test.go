package diarize

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"verity/audio"
	"verity/parallel"
)

// shared is where real recordings lie beside the repository.
const shared = "../../shared/data"

// utterances returns the files of four speakers of LibriSpeech.
func utterances(t *testing.T) map[int][]string {
	t.Helper()
	files := map[int][]string{}
	for i, pattern := range []string{
		"speakers/librispeech/4088-*.opus", "speakers/librispeech/4406-*.opus", "speakers/librispeech/5652-*.opus",
		"librispeech/LibriSpeech/mini/8226/*/*.flac",
	} {
		files[i+1], _ = filepath.Glob(filepath.Join(shared, pattern))
		if len(files[i+1]) < 20 {
			t.Skip("needs recordings of speakers beside the repository: " + filepath.Join(shared, pattern))
		}
	}
	return files
}

func samplesOf(t *testing.T, name string) (x []float32) {
	t.Helper()
	c, err := audio.Open(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := make([]float32, audio.SampleRate)
	for {
		n, err := c.Read(b)
		x = append(x, b[:n]...)
		if err == io.EOF {
			return x
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// trim cuts what is 35 dB below the loudest 20 ms from both ends.
func trim(x []float32) []float32 {
	s := spoken(x)
	if len(s) == 0 {
		return nil
	}
	return x[s[0][0]:s[len(s)-1][1]]
}

// spoken returns the parts of x between pauses of 0.4 s and more: samples from and to.
func spoken(x []float32) (parts [][2]int) {
	const step, pause = 320, 20
	var power []float64
	for at := 0; at+step <= len(x); at += step {
		var sum float64
		for _, v := range x[at:][:step] {
			sum += float64(v) * float64(v)
		}
		power = append(power, sum)
	}
	loud := 0.0
	for _, p := range power {
		loud = max(loud, p)
	}
	last := -pause - 1
	for i, p := range power {
		switch {
		case p < loud*3e-4:
			continue
		case i-last > pause:
			parts = append(parts, [2]int{i * step, 0})
		}
		parts[len(parts)-1][1] = (i + 1) * step
		last = i
	}
	return parts
}

// A conversation is made of utterances: turns of 1 to 8 s with pauses of 0.05 to 0.8 s.
type conversation struct {
	pcm   []float32
	turns []Turn
}

// compose composes a conversation of the first speakers of an order that the seed decides.
func compose(t *testing.T, files map[int][]string, seed uint64, speakers int, length float64, kind string) (c conversation) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, uint64(speakers)))
	cast := r.Perm(4)[:speakers]
	c.pcm = make([]float32, int(0.3*audio.SampleRate))
	for turn, last := 0, -1; float64(len(c.pcm)) < length*audio.SampleRate; turn++ {
		who := turn % speakers // everybody speaks, then in any order
		if turn >= speakers && speakers > 1 {
			for who = r.IntN(speakers); who == last; who = r.IntN(speakers) {
			}
		}
		last = who
		all := files[cast[who]+1]
		x := trim(samplesOf(t, all[r.IntN(len(all))]))
		if n := int((1 + 7*r.Float64()) * audio.SampleRate); n < len(x) {
			from := r.IntN(len(x) - n)
			x = trim(x[from : from+n])
		}
		start := len(c.pcm) + int((0.05+0.75*r.Float64())*audio.SampleRate)
		if kind == "overlap" && turn > 0 && r.IntN(3) == 0 {
			start = len(c.pcm) - int(min(1.5, 0.3*float64(len(x))/audio.SampleRate)*audio.SampleRate)
		}
		if grow := start + len(x) - len(c.pcm); grow > 0 {
			c.pcm = append(c.pcm, make([]float32, grow)...)
		}
		for i, v := range x {
			c.pcm[start+i] += v
		}
		for _, s := range spoken(x) {
			c.turns = append(c.turns, Turn{
				float64(start+s[0]) / audio.SampleRate, float64(start+s[1]) / audio.SampleRate, cast[who] + 1,
			})
		}
	}
	if kind == "noise" { // at 15 dB
		var power float64
		for _, v := range c.pcm {
			power += float64(v) * float64(v)
		}
		level := math.Sqrt(power / float64(len(c.pcm)) / 31.6)
		for i := range c.pcm {
			c.pcm[i] += float32(level * r.NormFloat64())
		}
	}
	if kind == "telephone" {
		telephone(c.pcm)
	}
	return c
}

// telephone lets 300 to 3400 Hz pass: two filters of second order each.
func telephone(x []float32) {
	for range 2 {
		for _, f := range []struct {
			hz   float64
			high bool
		}{{300, true}, {3400, false}} {
			w := 2 * math.Pi * f.hz / audio.SampleRate
			alpha, cos := math.Sin(w)/math.Sqrt2, math.Cos(w)
			b := (1 - cos) / 2
			b1 := 2 * b
			if f.high {
				b = (1 + cos) / 2
				b1 = -2 * b
			}
			a0, a1, a2 := 1+alpha, -2*cos, 1-alpha
			var x1, x2, y1, y2 float64
			for i, v := range x {
				y := (b*float64(v) + b1*x1 + b*x2 - a1*y1 - a2*y2) / a0
				x1, x2, y1, y2 = float64(v), x1, y, y1
				x[i] = float32(y)
			}
		}
	}
}

// TestQuality measures the error rates of docs/SPEAKERS.md. VERITY_SPEAKERS lists the sets: composed, overlap,
// noise, telephone, ami. It prints with -v, and takes seconds for each minute of sound.
func TestQuality(t *testing.T) {
	sets := strings.Fields(os.Getenv("VERITY_SPEAKERS"))
	if len(sets) == 0 {
		t.Skip("set VERITY_SPEAKERS, as in \"composed ami\"")
	}
	p := parallel.New(0)
	defer p.Close()
	for _, set := range sets {
		var sum, collared, skipped, known Errors
		right, n, seconds, began := 0, 0, 0.0, time.Duration(0)
		each := func(name string, pcm []float32, ref []Turn, speakers int) {
			start := time.Now()
			d, err := Analyze(context.Background(), audio.FromSamples(name, pcm), Options{Pool: p})
			if err != nil {
				t.Fatal(err)
			}
			began += time.Since(start)
			e, c, s := Scoring{}.Score(ref, d.Turns), Scoring{Collar: 0.25}.Score(ref, d.Turns),
				Scoring{Collar: 0.25, SkipOverlap: true}.Score(ref, d.Turns)
			sum.Add(e)
			collared.Add(c)
			skipped.Add(s)
			turns, err := Clip(context.Background(), audio.FromSamples(name, pcm), Options{Pool: p, Speakers: speakers})
			if err != nil {
				t.Fatal(err)
			}
			known.Add(Scoring{Collar: 0.25}.Score(ref, turns))
			if len(d.Voices) == speakers {
				right++
			}
			n++
			seconds += float64(len(pcm)) / audio.SampleRate
			t.Logf("%-10s %-12s %4.1f s: speakers %d of %d; DER %5.1f, collar %5.1f, no overlap %5.1f", set, name,
				float64(len(pcm))/audio.SampleRate, len(d.Voices), speakers, 100*e.Rate(), 100*c.Rate(), 100*s.Rate())
		}
		if set == "ami" {
			names, _ := filepath.Glob(filepath.Join(shared, "speakers/ami/*.rttm"))
			for _, name := range names {
				f, err := os.Open(name)
				if err != nil {
					t.Fatal(err)
				}
				turns, _, err := ReadRTTM(f)
				f.Close()
				if err != nil {
					t.Fatal(err)
				}
				for file, ref := range turns {
					who := map[int]bool{}
					for _, x := range ref {
						who[x.Speaker] = true
					}
					each(file, samplesOf(t, strings.TrimSuffix(name, "rttm")+"flac"), ref, len(who))
				}
			}
		} else {
			files := utterances(t)
			for i := range 5 {
				speakers, seed := []int{2, 4, 1, 3, 4}[i], uint64(301+i) // constants were chosen on other seeds
				c := compose(t, files, seed, speakers, 60, set)
				each(fmt.Sprint("seed ", seed), c.pcm, c.turns, speakers)
			}
		}
		r := func(e Errors) string {
			return fmt.Sprintf("%.1f (missed %.1f, false %.1f, confused %.1f)", 100*e.Rate(), 100*e.Missed/e.Total,
				100*e.FalseAlarm/e.Total, 100*e.Confusion/e.Total)
		}
		t.Logf("%s: count right in %d of %d; DER %s; collar %s; without overlap %s; known count %s; %.2f s a minute", set,
			right, n, r(sum), r(collared), r(skipped), r(known), began.Seconds()/seconds*60)
	}
}
