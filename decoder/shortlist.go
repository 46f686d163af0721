package decoder

import (
	"fmt"

	"verity/internal/kernel"
	"verity/tokenizer"
)

// runsOf returns the stretches {from, to} of neighbouring ids in list.
func runsOf(list []tokenizer.Token, vocab int) ([][2]int, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("decoder: the shortlist is empty")
	}
	var runs [][2]int
	end := 0 // of the last run
	for i, t := range list {
		switch id := int(t); {
		case id < end, id >= vocab:
			return nil, fmt.Errorf("decoder: token %d of the shortlist: want ascending ids from 0 to %d", id, vocab-1)
		case i > 0 && id == end:
			runs[len(runs)-1][1]++
			end++
		default:
			runs = append(runs, [2]int{id, id + 1})
			end = id + 1
		}
	}
	return runs, nil
}

// project writes the logits [loud][Vocab] of normalised rows, in w.y.
func (d *Decoder) project(w *work, logits []float32, loud int) {
	width, vocab := d.dims.TextWidth, d.dims.Vocab
	d.watch.Input(w.y, loud, width)
	if d.shortlist == nil {
		kernel.MatMul(d.pool, logits, w.y, loud, width, d.head, nil, kernel.Store)
		return
	}
	n := len(d.shortlist)
	if cap(w.short) < loud*n {
		w.short = make([]float32, loud*n)
	}
	short := w.short[:loud*n]
	kernel.MatMul(d.pool, short, w.y, loud, width, d.head, nil, kernel.Store)
	fill(logits[:loud*vocab])
	for r := range loud {
		for i, t := range d.shortlist {
			logits[r*vocab+int(t)] = short[r*n+i]
		}
	}
}
