package report

import (
	"context"

	"verity/wer"
)

// A Word is one position of an alignment of two texts.
type Word struct {
	Op         string `json:"op"` // hit, sub, del or ins
	Reference  string `json:"reference,omitempty"`
	Hypothesis string `json:"hypothesis,omitempty"`
}

// A differ aligns texts word by word. It reuses its memory between calls.
type differ struct {
	vocabulary wer.Vocabulary
	aligner    wer.Aligner
}

// maxWords is how many distinct words a differ keeps before it starts over.
const maxWords = 1 << 16

// words returns the alignment of two normalised texts. The error is ctx's cause.
func (d *differ) words(ctx context.Context, reference, hypothesis string) ([]Word, error) {
	if d.vocabulary.Len() > maxWords {
		d.vocabulary = wer.Vocabulary{}
	}
	ref := d.vocabulary.Words(nil, reference)
	hyp := d.vocabulary.Words(nil, hypothesis)
	pairs, err := d.aligner.Align(ctx, ref, hyp)
	if err != nil {
		return nil, err
	}
	out := make([]Word, len(pairs))
	for i, p := range pairs {
		out[i].Op = p.Op.String()
		if p.Op != wer.Ins {
			out[i].Reference = d.vocabulary.Word(ref[p.Ref])
		}
		if p.Op != wer.Del {
			out[i].Hypothesis = d.vocabulary.Word(hyp[p.Hyp])
		}
	}
	return out, nil
}
