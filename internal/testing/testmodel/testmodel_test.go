package testmodel

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"slices"
	"testing"

	"verity/internal/testing/golden"
	"verity/model"
)

// TestRule compares the bits of all weights and inputs with Python's.
func TestRule(t *testing.T) {
	for _, s := range Specs() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			want := golden.LoadModel(t, s.Name).Digests
			if got := digest(s.Mel()); got != want.Mel {
				t.Errorf("Mel has the hash %s, Python's %s", got, want.Mel)
			}
			if got := digest(s.Waveform()); got != want.Waveform {
				t.Errorf("Waveform has the hash %s, Python's %s", got, want.Waveform)
			}
			c, err := model.OpenFS(FS(s), s.Name)
			if err != nil {
				t.Fatal(err)
			}
			names := c.Names()
			slices.Sort(names)
			h := sha256.New()
			for _, name := range names {
				w, err := c.Weight(name)
				if err != nil {
					t.Fatal(err)
				}
				write(h, w.Tensor().Float32())
			}
			if got := hex.EncodeToString(h.Sum(nil)); got != want.Weights {
				t.Errorf("weights have the hash %s, Python's %s", got, want.Weights)
			}
		})
	}
}

// TestLists: the suppressed tokens that specs.json states are openai's own, so
// that a checkpoint with lists and one without decode by the same rules.
func TestLists(t *testing.T) {
	for _, s := range Specs() {
		want := golden.LoadModel(t, s.Name).Special
		g := Open(t, s.Name).Generation
		if g.SuppressTokens != nil && !slices.Equal(g.SuppressTokens, want.Suppress) {
			t.Errorf("%s: suppress_tokens = %v, want %v", s.Name, g.SuppressTokens, want.Suppress)
		}
		if g.BeginSuppressTokens != nil && !slices.Equal(g.BeginSuppressTokens, want.BeginSuppress) {
			t.Errorf("%s: begin_suppress_tokens = %v, want %v", s.Name, g.BeginSuppressTokens, want.BeginSuppress)
		}
		if g.EOSToken != want.EOT || g.DecoderStartToken != want.SOT || s.FirstTimestamp != int(want.TimestampBegin) {
			t.Errorf("%s: special tokens %+v, want %+v", s.Name, g, want)
		}
	}
}

func digest(x []float32) string {
	h := sha256.New()
	write(h, x)
	return hex.EncodeToString(h.Sum(nil))
}

func write(h hash.Hash, x []float32) {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	h.Write(b)
}
