package selftest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math"
	"testing"

	"verity/audio"
	"verity/decoder"
	"verity/encoder"
	"verity/internal/kernel"
	"verity/model"
	"verity/models/digits"
	"verity/parallel"
	"verity/precision"
	"verity/tokenizer"
)

// demoHashes are SHA-256 over the bits of all logits of the demo model on its
// recording, little-endian, in the order of positions: one for each type
// that weights are stored in. Every instruction set, number of threads and
// number of rows must come to them; make bits and make purego ask the others. They
// change only with the model or with the order of arithmetic (docs/dev/ARCHITECTURE.md).
var demoHashes = map[precision.Format]string{
	precision.F16:  "f6b0ae7a65b91874c2df0c41e1d15885e9929904c7ca6259a33578f458e1685c",
	precision.Int8: "a5602bc06bc2f0f94cc95af3ae30b2e3041324a6a6c65ffc428baa06dd80d9b8",

	precision.Int8G32: "abbce93172a73defe0abed6a5d583b784a54baa2f5b9c921398a5e8a8c3b5673",
	precision.MXFP6:   "f8c7169200e4ea416374245a41d21548ae8c9900e091daf2fc987358c41092b7",
	precision.Int4:    "2216648445db80581b5135796bfc930535dbea7dd5b8f1e64accf270b7cc4fb7",
	precision.Int4Z:   "9f9ac0581f39131cead70c08fe79f5ec6753aea6de533461534280e80cc745cf",
	precision.MXFP4:   "cb46d8429ab7a0bf530bff4b2cc1d17100fa1f4809740b9221c2a27acd4c3b0c",
}

const (
	demoPositions = 40  // tokens that are written
	demoFrom      = 100 // frame at which the window begins: it lies within the recording
)

// TestDemoHash hears real speech with every number of threads and rows, and comes
// to the same hash each time.
func TestDemoHash(t *testing.T) {
	ref := kernel.Implementations()[0] == "ref"
	t.Logf("instruction set %s", kernel.Implementations()[0])
	for store, want := range demoHashes {
		t.Run(store.String(), func(t *testing.T) {
			mel := demoMel(t)
			var text []tokenizer.Token
			for _, threads := range []int{1, 2} {
				h := hear(t, mel, store, threads)
				if text == nil {
					text = h.write(t)
				}
				for rows := 1; rows <= 16; rows++ {
					if ref && store.Grouped() && (rows != 6 || threads == 1) {
						continue // slower still: make bits has all with instructions
					}
					if ref && rows%2 == threads%2 && rows > 1 {
						continue // plain Go is slow: the other half on the other number of threads
					}
					if got := h.hash(t, text, rows, nil); got != want {
						t.Fatalf("%d threads, passes of %d rows, on %s: hash %s, want %s", threads, rows, kernel.Implementations()[0], got, want)
					}
				}
			}
		})
	}
}

// TestDemoHashFails puts the smallest faults where the hash must see them: in the
// logits of one place, in what was heard, in the text.
func TestDemoHashFails(t *testing.T) {
	if testing.Short() {
		t.Skip("faults are seen on one instruction set as on the others")
	}
	flip := func(x *float32, bit int) { *x = math.Float32frombits(math.Float32bits(*x) ^ 1<<bit) }
	for store, want := range demoHashes {
		h := hear(t, demoMel(t), store, 1)
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
		text[demoPositions-1]++ // speaks to the last logits alone
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

// A hearing is the demo model with what it heard.
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
	clip, err := audio.OpenReader("digits.wav", bytes.NewReader(digits.Sample()))
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	var pcm []float32
	for buf := make([]float32, 1<<16); err == nil; {
		var n int
		n, err = clip.Read(buf)
		pcm = append(pcm, buf[:n]...)
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	mel, err := audio.LogMel(pcm, 80)
	if err != nil {
		t.Fatal(err)
	}
	return mel
}

// hear encodes a window.
func hear(t *testing.T, mel *audio.Mel, store precision.Format, threads int) hearing {
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
	h.prompt = (&bench{Subject: Subject{Tokenizer: h.tok, Generation: c.Generation}}).prompt()
	w := &audio.Mel{Bins: mel.Bins, Frames: c.Dims.WindowFrames()}
	for b := range mel.Bins {
		w.Data = append(w.Data, mel.Data[b*mel.Frames+demoFrom:][:w.Frames]...)
	}
	if h.features, err = e.Encode(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return h.again(t)
}

// again listens to the features.
func (h hearing) again(t *testing.T) hearing {
	t.Helper()
	var err error
	if h.cross, err = h.d.Cross(t.Context(), h.features); err != nil {
		t.Fatal(err)
	}
	return h
}

// write returns what the model writes, one row at a time, the best text each time
// however long it goes on.
func (h hearing) write(t *testing.T) []tokenizer.Token {
	t.Helper()
	s := h.d.NewStream(h.cross)
	defer s.Close()
	logits := make([]float32, h.d.Dims().Vocab)
	text := append([]tokenizer.Token{}, h.prompt...)
	for p := 0; len(text) < demoPositions; p++ {
		if err := h.d.Step(t.Context(), []decoder.Row{{Stream: s, Position: p, Token: text[p]}}, logits); err != nil {
			t.Fatal(err)
		}
		if p == len(text)-1 {
			text = append(text, next(logits, h.tok.EOT))
		}
	}
	return text
}

// hash runs the text in passes of so many rows. A fault may change the logits of a
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
			pass[i] = decoder.Row{Stream: s, Position: p + i, Token: text[p+i]}
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
