package layer

import (
	"iter"

	"verity/internal/formats/weights"
	"verity/parallel"
)

// A job processes rows lo … hi-1 of a weight, all at once or some at a time.
type job struct {
	name   string // of the weight
	from   weights.Weight
	lo, hi int
	do     func(lo, hi int) error
}

const (
	aheadPieces = 6  // fetched before they are needed: 20 ms of a fast disk
	panelRows   = 64 // whole panels are packed fastest
)

// pieceBytes is how many bytes of weights are fetched, packed and released at a time. It
// is a variable so that tests cut small models.
var pieceBytes = 4 << 20

// readInOrder does jobs one after the other, in pieces, and stops at the first error.
//
// A disk is fastest when it is read in order and without pauses, and a large model leaves
// little memory. So one thread only waits for the disk, a few pieces ahead of the threads
// that pack, and each piece of a file is released once it is packed.
func readInOrder(c Checkpoint, jobs []job) error {
	fetch := func(_ int, piece []job) []job {
		for _, j := range piece {
			j.from.Fetch(j.lo, j.hi)
		}
		return piece
	}
	for piece := range parallel.Ordered(1, aheadPieces, inTurn(c, pieces(jobs)), fetch) {
		for _, j := range piece {
			if err := c.Err(); err != nil {
				return err
			}
			if err := j.do(j.lo, j.hi); err != nil {
				return err
			}
			j.from.Drop(j.lo, j.hi)
		}
	}
	return nil
}

// inTurn yields pieces, but first waits for other loaders of the same files.
func inTurn(c Checkpoint, pieces iter.Seq[[]job]) iter.Seq[[]job] {
	return func(yield func([]job) bool) {
		defer c.LockFiles()()
		pieces(yield)
	}
}

// pieces cuts jobs into lists of about pieceBytes. Matrices are cut between panels.
func pieces(jobs []job) iter.Seq[[]job] {
	return func(yield func([]job) bool) {
		var piece []job
		left := pieceBytes
		for _, j := range jobs {
			row := j.rowBytes()
			for j.lo < j.hi {
				part := j
				part.hi = min(j.hi, j.lo+max(panelRows, left/row/panelRows*panelRows))
				piece, j.lo = append(piece, part), part.hi
				if left -= (part.hi - part.lo) * row; left > 0 {
					continue
				}
				if !yield(piece) {
					return
				}
				piece, left = nil, pieceBytes
			}
		}
		if len(piece) > 0 {
			yield(piece)
		}
	}
}

// rowBytes returns the bytes of a row: in the file, or decoded if that is more.
func (j job) rowBytes() int {
	w := j.from
	return max(1, max(w.Bytes(), w.Len()*w.DType.Size())/max(1, w.Shape[0]))
}
