package audio

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"verity/internal/frontend"
	"verity/internal/kernel"
)

// melTol is the largest error allowed in a cell of log-mel. Upstream computes in
// float32: its transform errs by about ε·√(log2 400)/2 ≈ 1e-7 of the frame's rms
// spectrum, at most 1/√200 of the largest cell for a tone. A cell on the clamp,
// 80 dB or 1e-4 in amplitude below the largest, is then off by up to
// 2·1e-7/(√200·1e-4) = 1.4e-4 of its power when the rest of the frame is at the
// top: 6e-5 in log10, 1.5e-5 after the division by 4. White spectra, 14 times
// worse in rms, have no cells so low. Five times that leaves room for outliers
// among many thousand cells. Ours is float32 too, and contributes about as much: see analyzer.
const melTol = 1e-4

type goldenCase struct {
	How, Signal, Why, Source            string
	Samples, Bins, Window, Start, Total int
	Frames                              []int
	Offset                              int
}

func loadGolden(t *testing.T) (cases []goldenCase, cells []float32) {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile("testdata/golden/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var index struct {
		SHA256 string
		Cases  []goldenCase
	}
	if err := json.Unmarshal(read("mel.json"), &index); err != nil {
		t.Fatal(err)
	}
	blob := read("mel.f32")
	if sum := sha256.Sum256(blob); hex.EncodeToString(sum[:]) != index.SHA256 {
		t.Fatalf("mel.f32 has not the hash that mel.json states; write both with tools/reference/audio_goldens.py")
	}
	cells = make([]float32, len(blob)/4)
	if err := binary.Read(bytes.NewReader(blob), binary.LittleEndian, cells); err != nil {
		t.Fatal(err)
	}
	return index.Cases, cells
}

// ours computes what a golden case holds.
func (g goldenCase) ours(t *testing.T) *Mel {
	t.Helper()
	pcm := testSignal(g.Signal, g.Samples)
	if g.How == "one_shot" {
		return logMel(pcm, g.Bins)
	}
	o := Options{Bins: g.Bins, Window: g.Window, Pad: PadMel}
	if g.How == "audio_padded" {
		o.Pad = PadAudio
	}
	s, err := NewSpectrogram(t.Context(), FromSamples(g.Signal, pcm), o)
	if err != nil {
		t.Fatal(err)
	}
	window := s.Window
	if g.How == "silence_padded" {
		window = s.SilentWindow
	}
	mel, err := window(t.Context(), g.Start)
	if err != nil {
		t.Fatal(err)
	}
	return mel
}

// logMel computes the log-mel spectrogram of a whole signal of more than windowSize/2 samples,
// [bins][len(pcm)/HopLength], at once: as log_mel_spectrogram of openai/whisper, it reflects the
// signal at both ends.
func logMel(pcm []float32, bins int) *Mel {
	a, top, frames := newAnalyzer(bins), float32(logFloor), len(pcm)/HopLength
	mel := &Mel{Bins: bins, Frames: frames, Data: make([]float32, bins*frames)}
	var run sampleRun
	for t := 0; t < frames; t += blockFrames {
		n := min(blockFrames, frames-t)
		logs, tops := a.block(run.of(int64(t), n, pcm, 0, int64(len(pcm))), n)
		logs.each(func(bin, frame int, logs []float32) { copy(mel.Data[bin*frames+t+frame:], logs) })
		top = max(top, slices.Max(tops))
	}
	kernel.ScaleLogMel(mel.Data, mel.Data, top-8)
	return mel
}

func TestGoldenMel(t *testing.T) {
	cases, cells := loadGolden(t)
	for _, g := range cases {
		t.Run(fmt.Sprintf("%s/%s-%d/%d", g.How, g.Signal, g.Samples, g.Bins), func(t *testing.T) {
			mel := g.ours(t)
			if mel.Bins != g.Bins || mel.Frames != g.Total {
				t.Fatalf("shape = %d × %d, want %d × %d", mel.Bins, mel.Frames, g.Bins, g.Total)
			}
			tol := melTol
			if g.Signal == "silence" {
				tol = 0 // all cells sit on the floor
			}
			worst := 0.0
			for i, frame := range g.Frames {
				for bin := range g.Bins {
					got, want := mel.Data[bin*mel.Frames+frame], cells[g.Offset+i*g.Bins+bin]
					d := math.Abs(float64(got) - float64(want))
					if !(d <= tol) {
						t.Fatalf("frame %d, bin %d: got %v, want %v ± %g (%s)\nreference: %s", frame, bin, got, want, tol, g.Why, g.Source)
					}
					worst = max(worst, d)
				}
			}
			t.Logf("worst error %.2g", worst)
		})
	}
}

// TestFilterbank compares with the weights openai ships: float32 rounding of
// librosa, whose order of operations differs by a unit or two.
func TestFilterbank(t *testing.T) {
	b, err := os.ReadFile("testdata/golden/filters.json")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	for _, bins := range []int{80, 128} {
		var want []struct {
			First   int
			Weights []float64
		}
		if err := json.Unmarshal(file[fmt.Sprint(bins)], &want); err != nil {
			t.Fatal(err)
		}
		rows := frontend.Filters(bins)
		if len(want) != bins || len(rows) != bins {
			t.Fatalf("%d rows, reference %d, want %d", len(rows), len(want), bins)
		}
		for i, row := range rows {
			got, ref := make([]float64, frontend.Spectrum), make([]float64, frontend.Spectrum)
			copy(got[row.First:], row.Weights)
			copy(ref[want[i].First:], want[i].Weights)
			for k := range got {
				if d := math.Abs(got[k] - ref[k]); !(d <= 1e-8) { // weights are below 0.06
					t.Errorf("%d bins, row %d, frequency %d: got %v, want %v", bins, i, k, got[k], ref[k])
				}
			}
		}
		if rows[0].First == 0 || rows[bins-1].First+len(rows[bins-1].Weights) == frontend.Spectrum {
			t.Errorf("%d bins: weight at 0 Hz or 8 kHz, for which the analyzer has no powers", bins)
		}
	}
}
