package decoder_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"verity/audio"
	"verity/decoder"
	"verity/encoder"
	"verity/internal/kernel"
	"verity/internal/testing/testmodel"
	"verity/model"
	"verity/model/digits"
	"verity/parallel"
	"verity/precision"
	"verity/tokenizer"
)

// demoHashes are SHA-256 over the bits of all logits of the demo model on its recording,
// little-endian, in the order of positions: one for each format of weights. Every
// instruction set, number of threads and number of rows must give them; make bits and
// make purego check the others. They change only with the model or with the order of
// arithmetic (docs/dev/ARCHITECTURE.md).
var demoHashes = map[precision.Format]string{
	precision.F16:  "79c6bc1fb21471f831253ff9b02852d8b012c5525e58f0e56ce9e389bdd4ae52",
	precision.Int8: "74cee501e9b7d121c076065e06310156b6a7f72d0b5c6fd1532c7e9741dae12b",

	precision.MXFP6: "4910bd64e58a9d7ac3f07112d2e419b339357e831bf16c273fe584418d2867c6",
	precision.Int4:  "37547c47d402c7ed2f263d68781c3ae3ff90dd1b10bf49b78d4fecccf9668d75",
	precision.Int4Z: "c7464c56e7aaece42f9df3e61bf1f5f8e9c9a02b7825e615a4cfeebb1a8325f5",
}

const (
	demoPositions = 40  // tokens that are decoded
	demoFrom      = 100 // frame at which the window begins: it lies within the recording
)

// TestDemoHash runs real speech with every number of threads and rows, and expects the
// same hash each time.
func TestDemoHash(t *testing.T) {
	testmodel.Serial(t)
	ref := kernel.Implementations()[0] == "ref"
	t.Logf("instruction set %s", kernel.Implementations()[0])
	for store, want := range demoHashes {
		t.Run(store.String(), func(t *testing.T) {
			mel := demoMel(t)
			var text []tokenizer.Token
			for _, threads := range []int{1, 2} {
				if ref && threads == 1 {
					continue // plain Go is slow, and is what the others are held against
				}
				h := encodeAndDecode(t, mel, store, threads)
				if text == nil {
					text = h.write(t)
				}
				for rows := 1; rows <= 16; rows++ {
					if ref && rows != 6 && (rows != 1 || store.Grouped()) {
						continue
					}
					if got := h.hash(t, text, rows, nil); got != want {
						t.Fatalf("%d threads, passes of %d rows, on %s: hash %s, want %s", threads, rows, kernel.Implementations()[0], got, want)
					}
				}
			}
		})
	}
}

// TestDemoHashFails makes the smallest faults that the hash must detect: in the logits of
// one position, in the features, in the text.
func TestDemoHashFails(t *testing.T) {
	if testing.Short() {
		t.Skip("needs make test-all: faults are seen on one instruction set as on the others")
	}
	flip := func(x *float32, bit int) { *x = math.Float32frombits(math.Float32bits(*x) ^ 1<<bit) }
	for store, want := range demoHashes {
		h := encodeAndDecode(t, demoMel(t), store, 1)
		text := h.write(t)
		for name, fault := range map[string]func(position int, logits []float32){
			"lowest bit of the first logit": func(p int, x []float32) {
				if p == 0 {
					flip(&x[0], 0)
				}
			},
			"lowest bit of the last logit": func(p int, x []float32) {
				if p == demoPositions-1 {
					flip(&x[len(x)-1], 0)
				}
			},
			"order of two logits": func(p int, x []float32) {
				if p == 7 {
					x[3], x[4] = x[4], x[3]
				}
			},
			"sign of a logit": func(p int, x []float32) {
				if p == 21 {
					flip(&x[9], 31)
				}
			},
			"not a number": func(p int, x []float32) {
				if p == 5 {
					x[100] = float32(math.NaN())
				}
			},
		} {
			if got := h.hash(t, text, 6, fault); got == want {
				t.Errorf("%v: a fault in the %s passes", store, name)
			}
		}
		text[demoPositions-1]++ // changes only the last logits
		if got := h.hash(t, text, 6, nil); got == want {
			t.Errorf("%v: another token passes", store)
		}
		text[demoPositions-1]--
		if got := h.hash(t, text, 6, nil); got != want {
			t.Errorf("%v: without a fault the hash is %s, want %s", store, got, want)
		}
		flip(&h.features.Data[1000], 22) // one feature of one position, by a half of it
		if got := h.again(t).hash(t, text, 6, nil); got == want {
			t.Errorf("%v: another feature passes", store)
		}
	}
}

// A hearing is the demo model with the features of a window.
type hearing struct {
	d        *decoder.Decoder
	tok      *tokenizer.Tokenizer
	prompt   []tokenizer.Token
	features *encoder.Features
	cross    *decoder.Cross
}

// demoMel returns the log-mel of the recording.
func demoMel(t *testing.T) *audio.Mel {
	t.Helper()
	clip, err := audio.Input{}.OpenReader(t.Context(), "digits.wav", bytes.NewReader(digits.Sample()))
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	s, err := audio.NewSpectrogram(t.Context(), clip, audio.Options{Pad: audio.PadMel})
	if err != nil {
		t.Fatal(err)
	}
	mel, err := s.Window(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return mel
}

// hear encodes a window.
func encodeAndDecode(t *testing.T, mel *audio.Mel, store precision.Format, threads int) hearing {
	t.Helper()
	c, err := model.OpenFS(digits.Target(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	pool := parallel.New(threads)
	t.Cleanup(pool.Close)
	e, err := encoder.New(c, encoder.Options{Pool: pool, Precision: precision.Of(store)})
	if err != nil {
		t.Fatal(err)
	}
	h := hearing{}
	if h.d, err = decoder.New(c, decoder.Options{Pool: pool, Precision: precision.Of(store)}); err != nil {
		t.Fatal(err)
	}
	if h.tok, err = tokenizer.Load(c.FS(), "demo", c.Dims.Vocab); err != nil {
		t.Fatal(err)
	}
	h.prompt = []tokenizer.Token{h.tok.SOT}
	if langs := h.tok.Languages(); c.Generation.Multilingual && len(langs) > 0 {
		h.prompt = append(h.prompt, langs[0].Token, h.tok.Transcribe)
	}
	w := &audio.Mel{Bins: mel.Bins, Frames: c.Dims.WindowFrames()}
	for b := range mel.Bins {
		w.Data = append(w.Data, mel.Data[b*mel.Frames+demoFrom:][:w.Frames]...)
	}
	if h.features, err = e.Encode(t.Context(), w, nil); err != nil {
		t.Fatal(err)
	}
	return h.again(t)
}

// again returns h with new cross-attention keys and values of its features.
func (h hearing) again(t *testing.T) hearing {
	t.Helper()
	var err error
	if h.cross, err = h.d.Cross(t.Context(), h.features, nil); err != nil {
		t.Fatal(err)
	}
	return h
}

// write returns the greedy text tokens of the model, one row at a time, past any end.
func (h hearing) write(t *testing.T) []tokenizer.Token {
	t.Helper()
	s := h.d.NewStream(h.cross)
	defer s.Close()
	logits := make([]float32, h.d.Dims().Vocab)
	text := append([]tokenizer.Token{}, h.prompt...)
	for p := 0; len(text) < demoPositions; p++ {
		if err := h.d.Step(t.Context(), []decoder.Row{{Stream: s, Position: p, Token: text[p], WantLogits: true}}, logits); err != nil {
			t.Fatal(err)
		}
		if p == len(text)-1 {
			text = append(text, likeliest(logits[:h.tok.EOT]))
		}
	}
	return text
}

// likeliest returns the token of the largest logit.
func likeliest(logits []float32) tokenizer.Token {
	best := 0
	for i, l := range logits {
		if l > logits[best] {
			best = i
		}
	}
	return tokenizer.Token(best)
}

// hash runs the text in passes of that many rows. A fault may change the logits of a
// position before they are hashed.
func (h hearing) hash(t *testing.T, text []tokenizer.Token, rows int, fault func(position int, logits []float32)) string {
	t.Helper()
	sum, vocab := sha256.New(), h.d.Dims().Vocab
	logits, buf := make([]float32, rows*vocab), make([]byte, 0, 4*vocab)
	s := h.d.NewStream(h.cross)
	defer s.Close()
	for p := 0; p < len(text); p += rows {
		pass := make([]decoder.Row, min(rows, len(text)-p))
		for i := range pass {
			pass[i] = decoder.Row{Stream: s, Position: p + i, Token: text[p+i], WantLogits: true}
		}
		if err := h.d.Step(t.Context(), pass, logits[:len(pass)*vocab]); err != nil {
			t.Fatal(err)
		}
		for i := range pass {
			x := logits[i*vocab:][:vocab]
			if fault != nil {
				fault(p+i, x)
			}
			buf = buf[:0]
			for _, v := range x {
				buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
			}
			sum.Write(buf)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
