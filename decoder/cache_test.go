package decoder

import (
	"slices"
	"sync"
	"testing"

	"verity/tokenizer"
)

// TestCloseTwice closes everything that has a Close twice, also after its memory has a new
// user, and then decodes two windows at the same time: each must have memory of its own.
func TestCloseTwice(t *testing.T) {
	d := open(t, "odd", Options{})
	texts := [][]tokenizer.Token{{1, 2, 3, 4, 5, 6}, {9, 8, 7, 6, 5, 4}}
	decode := func(c *Cross, s *Stream, text []tokenizer.Token) (logits []float32) {
		for i, token := range text {
			row := make([]float32, d.Dims().Vocab)
			if err := d.Step(t.Context(), []Row{{Stream: s, Position: i, Token: token, WantLogits: true}}, row); err != nil {
				t.Error(err)
			}
			logits = append(logits, row...)
		}
		return logits
	}
	var want [][]float32
	for i, text := range texts {
		c := cross(t, d, uint64(i))
		s := d.NewStream(c)
		want = append(want, decode(c, s, text))
		for range 2 {
			s.Close()
			c.Close()
		}
		session := session(t, d, multilingual(t))
		for range 2 {
			session.Close()
		}
		defer func() { s.Close(); c.Close(); session.Close() }() // once more, when others have the memory
	}
	var crosses [2]*Cross
	var streams [2]*Stream
	for i := range texts {
		crosses[i] = cross(t, d, uint64(i))
		streams[i] = d.NewStream(crosses[i])
	}
	for i := range texts {
		for k := range crosses[0].layers {
			if a, b := crosses[i].layers[k], crosses[1-i].layers[k]; a == b || streams[i].layers[k] == streams[1-i].layers[k] {
				t.Fatalf("layer %d: two windows share a cache", k)
			}
		}
	}
	var both sync.WaitGroup
	for i := range texts {
		both.Go(func() {
			if got := decode(crosses[i], streams[i], texts[i]); !slices.EqualFunc(got, want[i], sameFloat) {
				t.Errorf("window %d: other logits beside another", i)
			}
		})
	}
	both.Wait()
}

func sameFloat(a, b float32) bool { return equalBits([]float32{a}, []float32{b}) }
