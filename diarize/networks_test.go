package diarize

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"verity/audio"
)

// goldens are what torch computes with the original weights: model/speakers/goldens.py.
type golden struct {
	File    string      `json:"file"`
	Windows []float64   `json:"windows"` // starts of 1.5 s
	Fbank   []float64   `json:"fbank"`   // means of their log energies
	Voices  [][]float64 `json:"voices"`
	Every   int         `json:"every"`
	Frames  [][]float64 `json:"frames"` // of the first 10 s, one of Every
}

func readGoldens(t *testing.T) (all []golden) {
	t.Helper()
	b, err := os.ReadFile("testdata/networks.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 6 {
		t.Fatalf("%d recordings, want 6", len(all))
	}
	return all
}

// baseSamples returns a recording of model/base.
func baseSamples(t *testing.T, name string) []float32 {
	t.Helper()
	return samplesOf(t, filepath.Join("../model/base", name))
}

// excerpt returns at most length seconds of x from a start on.
func excerpt(x []float32, start, length float64) []float32 {
	x = x[int(start*audio.SampleRate):]
	return x[:min(len(x), int(length*audio.SampleRate))]
}

// TestNetworks compares both networks with torch's in binary32.
//
// The tolerances come from storing matrices in binary16: an element is off by up to 2⁻¹², at random, so a
// product by about 2⁻¹³ of the length of what it sums. Some fifty layers of independent errors add up to
// √50·2⁻¹³ ≈ 1e-3 of the vector: its cosine is 1 - ½·1e-6, and an element of a unit vector, of about 0.07, is off by 7e-5
// on average and by five times that at worst. Probabilities change most where two classes are equally likely, by a
// quarter of the change of logits; logits of up to 10 times 1e-3 make 2.5e-3, and recurrence carries errors along.
func TestNetworks(t *testing.T) {
	const (
		fbankTolerance   = 1e-3 // of a mean of log energies, which torch has in binary32
		cosineTolerance  = 1e-5
		elementTolerance = 2e-3
		frameTolerance   = 2e-2
	)
	if slow() && testing.Short() {
		t.Skip("needs make test-all: minutes in plain Go; TestVoiceBits has less to compute")
	}
	n := networks()
	for _, g := range readGoldens(t) {
		if slow() && g.File != "jfk.flac" {
			break
		}
		x := baseSamples(t, g.File)
		for i, start := range g.Windows {
			frames := theBank().append(nil, nil, excerpt(x, start, 1.5))
			sum := 0.0
			for _, v := range frames {
				sum += float64(v)
			}
			if d := math.Abs(sum/float64(len(frames)) - g.Fbank[i]); !(d <= fbankTolerance) {
				t.Errorf("%s, %v s: the mean of the filter bank is off by %g", g.File, start, d)
			}
			var voice [voiceSize]float32
			n.embed(voice[:], frames, 0, []window{{end: len(frames) / bands}})
			worst, cos := 0.0, 0.0
			for c, v := range voice {
				worst = max(worst, math.Abs(float64(v)-g.Voices[i][c]))
				cos += float64(v) * g.Voices[i][c]
			}
			if !(worst <= elementTolerance) || !(math.Abs(1-cos) <= cosineTolerance) {
				t.Errorf("%s, %v s: the voice is off by %g, cosine 1 - %g", g.File, start, worst, 1-cos)
			}
			t.Logf("%s, %v s: voice off by %.2g, cosine 1 - %.2g", g.File, start, worst, 1-cos)
		}
		chunk := append(x, make([]float32, chunkSize)...)[:chunkSize]
		found := make([]float32, chunkFrames*classes)
		n.segment(found, chunk, []int{0})
		worst := 0.0
		for i, row := range g.Frames {
			for c, want := range row {
				d := math.Abs(float64(found[i*g.Every*classes+c]) - want)
				if !(d <= frameTolerance) {
					t.Errorf("%s, frame %d, class %d: probability %v, want %v", g.File, i*g.Every, c, found[i*g.Every*classes+c], want)
				}
				worst = max(worst, d)
			}
		}
		t.Logf("%s: probabilities off by up to %.2g", g.File, worst)
	}
}

func BenchmarkEmbed(b *testing.B) {
	x := make([]float32, meanFrames*bands)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	var v [voiceSize]float32
	n := networks()
	for b.Loop() {
		n.embed(v[:], x, 0, []window{{end: meanFrames}})
	}
}

func BenchmarkSegment(b *testing.B) {
	x := make([]float32, chunkSize)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	dst := make([]float32, chunkFrames*classes)
	n := networks()
	for b.Loop() {
		n.segment(dst, x, []int{0})
	}
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
